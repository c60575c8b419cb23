"""The training loop: what a run leaves behind, what decides, and what happens when something goes wrong."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from orda.algorithms import ALGORITHMS, Algorithm
from orda.data import ArrayDomain
from orda.errors import Diverged, RunError, SettingError
from orda.samplers import SAMPLERS
from orda.training import Lines, RunPaths, RunResult, TrainConfig, assemble, train

Make = Callable[..., TrainConfig]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_trains_to_the_end(name: str, make_config: Make, tmp_path: Path) -> None:
    result = train(make_config({"algorithm.name": name, "steps": 5, "eval_every": 5}), tmp_path / "r")
    assert (result.status, result.steps, result.selected_step) == ("finished", 5, 5)
    assert result.run["algorithm"] == name


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_trains_to_the_end(name: str, make_config: Make, tmp_path: Path) -> None:
    result = train(make_config({"sampler.name": name, "steps": 5, "eval_every": 5, "horizon": 3}), tmp_path / "r")
    assert (result.status, result.plans["count"]) == ("finished", 2)


@pytest.mark.parametrize("overlap", [False, True])
def test_with_overlap_plans_are_of_features_one_block_old(overlap: bool, make_config: Make, tmp_path: Path) -> None:
    train(make_config({"overlap": overlap}), tmp_path / "r")
    plans = Lines(RunPaths(tmp_path / "r").plans).read()
    assert [plan["step"] for plan in plans] == [0, 4, 8, 12, 16]
    d0 = [plan["assessment"]["d0"] for plan in plans]  # of the features that the plan was made from
    assert (d0[1] == d0[0]) == overlap
    assert len(set(d0[1:])) == 4
    parts = {"stratify", "order"} & plans[0]["seconds"].keys()
    assert parts == (set() if overlap else {"stratify", "order"})
    assert all(spent > 0 for plan in plans for spent in plan["seconds"].values())


def test_overlap_makes_another_run(make_config: Make) -> None:
    plain, late = make_config(), make_config({"overlap": True})
    assert plain.digest() != late.digest()
    assert plain.differences(late) == ["overlap: False, not True"]


def test_what_a_run_leaves_behind(make_config: Make, tmp_path: Path) -> None:
    config = make_config()
    result = train(config, tmp_path / "r")
    paths = RunPaths(tmp_path / "r")
    assert RunResult.load(paths.result) == result
    assert TrainConfig.load(paths.config) == config.resolved()
    lines = Lines(paths.metrics).read()
    evaluations = [line for line in lines if line["kind"] == "eval"]
    assert [line["step"] for line in evaluations] == [6, 12, 17]
    best = max(evaluations, key=lambda line: line["source_validation"])
    assert (result.selected_step, result.source_validation) == (best["step"], best["source_validation"])
    assert result.target_accuracy == best["target_accuracy"]
    assert result.final_target_accuracy == evaluations[-1]["target_accuracy"]
    plans = Lines(paths.plans).read()
    assert [plan["step"] for plan in plans] == [0, 4, 8, 12, 16]
    assert {"d0", "bias", "variance"} <= set(plans[0]["assessment"])
    assert {"extract", "stratify", "order"} <= set(plans[0]["seconds"])
    parts = {key: value for key, value in result.seconds.items() if key != "total"}
    assert {"decode", "extract", "stratify", "order", "load", "step", "evaluate"} <= set(parts)
    assert sum(parts.values()) == pytest.approx(result.seconds["total"])
    kept = torch.load(paths.checkpoint, weights_only=True)
    assert kept["training"] is None  # what it takes to go on is dropped once there is nothing to go on with


def test_labels_of_the_target_decide_nothing(
    make_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the labels of the target shuffled, weights and selection are the same bit for bit."""
    honest = train(make_config(), tmp_path / "honest")
    opened = assemble.open_task

    def shuffled(*arguments: Any) -> Any:
        data = opened(*arguments)
        paper: ArrayDomain = data.domains["paper"]
        labels = np.random.default_rng(0).permutation(paper.labels)
        return replace(data, domains={**data.domains, "paper": replace(paper, labels=labels)})

    monkeypatch.setattr(assemble, "open_task", shuffled)
    blind = train(make_config(), tmp_path / "blind")
    assert blind.weights_sha256 == honest.weights_sha256
    assert (blind.selected_step, blind.source_validation) == (honest.selected_step, honest.source_validation)
    assert blind.target_accuracy != honest.target_accuracy


def test_a_finished_run_returns_without_work(
    make_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = train(make_config(), tmp_path / "r")
    monkeypatch.setattr(Algorithm, "update", None)
    monkeypatch.setattr(assemble, "open_task", None)
    assert train(make_config(), tmp_path / "r") == result
    assert train(make_config({"machine.feature_batch": 3}), tmp_path / "r") == result  # the machine is no part of it


def test_another_configuration_is_refused_and_nothing_lost(make_config: Make, tmp_path: Path) -> None:
    result = train(make_config(), tmp_path / "r")
    with pytest.raises(RunError, match=r"another configuration; got steps: 17, not 18\..*force=True"):
        train(make_config({"steps": 18}), tmp_path / "r")
    assert train(make_config(), tmp_path / "r") == result
    longer = train(make_config({"steps": 18}), tmp_path / "r", force=True)
    assert longer.steps == 18


def poison(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights become NaN before update number ``step``."""
    update = Algorithm.update

    def poisoned(self: Algorithm, batch: Any, number: int) -> Any:
        if number == step:
            with torch.no_grad():
                next(self.model.parameters()).fill_(torch.nan)
        return update(self, batch, number)

    monkeypatch.setattr(Algorithm, "update", poisoned)


@pytest.mark.parametrize(("step", "last_good"), [(2, None), (8, 6), (16, 12)])
def test_divergence_names_the_step_the_losses_and_the_last_good_state(
    step: int, last_good: int | None, make_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison(step, monkeypatch)
    with pytest.raises(Diverged) as caught:
        train(make_config(), tmp_path / "r")
    message = str(caught.value)
    assert f"diverged in step {step + 1}; got loss nan, task nan, discrepancy nan" in message
    assert "Lower lr (0.001), penalty (1)" in message
    paths = RunPaths(tmp_path / "r")
    if last_good is None:
        assert "there is no checkpoint" in message
    else:
        assert f"has the state after {last_good}" in message
        saved = torch.load(paths.checkpoint, weights_only=True)
        assert saved["step"] == last_good
        assert all(torch.isfinite(value).all() for value in saved["selected"]["networks"].values())
    result = RunResult.load(paths.result)
    assert (result.status, result.message) == ("diverged", message)
    assert result.selected_step == last_good
    for line in paths.metrics.read_text().splitlines() if paths.metrics.exists() else []:
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    monkeypatch.undo()
    with pytest.raises(Diverged, match="Change the settings"):  # it is not done again by itself
        train(make_config(), tmp_path / "r")
    assert train(make_config(), tmp_path / "r", force=True).status == "finished"


def test_weights_that_overflow_are_found_before_they_are_saved(
    make_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss of the last step was finite, the update after it was not."""
    update = Algorithm.update

    def overflowing(self: Algorithm, batch: Any, number: int) -> Any:
        losses = update(self, batch, number)
        if number == 16:
            with torch.no_grad():
                next(self.model.head.parameters()).fill_(torch.inf)
        return losses

    monkeypatch.setattr(Algorithm, "update", overflowing)
    with pytest.raises(Diverged, match=r"weights in .*has the state after 12"):
        train(make_config(), tmp_path / "r")
    assert torch.load(RunPaths(tmp_path / "r").checkpoint, weights_only=True)["step"] == 12


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_full_disk_is_said_and_the_run_goes_on_once_there_is_room(
    number: int, make_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ``number``-th checkpoint finds no room."""
    expected = train(make_config(), tmp_path / "undisturbed").weights_sha256
    fsync, calls = os.fsync, 0

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls == number + 1:  # the first is config.yaml's
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(Lines, "sync", lambda self: None)
        patched.setattr("os.fsync", full)
        with pytest.raises(
            RunError, match=r"cannot write .*checkpoint\.pt; got no space left on the device\. Make room"
        ):
            train(make_config(), tmp_path / "r")
    assert not list((tmp_path / "r").glob(".*.part"))
    assert train(make_config(), tmp_path / "r").weights_sha256 == expected


def test_data_that_changed_under_a_run(make_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    poison(8, monkeypatch)
    with pytest.raises(Diverged):
        train(make_config(), tmp_path / "r")
    monkeypatch.undo()
    RunPaths(tmp_path / "r").result.unlink()  # so that it goes on from step 6
    opened = assemble.open_task

    def other(*arguments: Any) -> Any:
        data = opened(*arguments)
        renamed = replace(data.domains["ink"], names=tuple(f"x{name}" for name in data.domains["ink"].names))
        return replace(data, domains={**data.domains, "ink": renamed})

    monkeypatch.setattr(assemble, "open_task", other)
    with pytest.raises(RunError, match=r"the data that it began with; got other files or labels in"):
        train(make_config(), tmp_path / "r")


def test_nothing_is_kept_where_nothing_is_asked_for(make_config: Make, tmp_path: Path) -> None:
    train(make_config({"machine.keep": "nothing"}), tmp_path / "r")
    assert not RunPaths(tmp_path / "r").checkpoint.exists()
    whole = train(make_config({"machine.keep": "all"}), tmp_path / "whole")
    kept = torch.load(RunPaths(tmp_path / "whole").checkpoint, weights_only=True)
    assert kept["training"] is not None
    assert kept["step"] == whole.steps


def test_bfloat16_and_another_seed_give_other_weights(make_config: Make, tmp_path: Path) -> None:
    changes: list[dict[str, Any]] = [{}, {"seed": 1}, {"precision": "bfloat16"}]
    found = [train(make_config(change), tmp_path / str(i)) for i, change in enumerate(changes)]
    assert len({result.weights_sha256 for result in found}) == len(changes)
    assert [result.environment["precision"] for result in found] == ["float32", "float32", "bfloat16"]


def test_a_model_that_cannot_be_had_leaves_the_folder_free(make_config: Make, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"weights must be"):
        train(make_config({"model.weights": "no.pth"}), tmp_path / "r")
    assert not RunPaths(tmp_path / "r").config.exists()
    assert train(make_config(), tmp_path / "r").status == "finished"
