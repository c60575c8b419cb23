"""Protocols: what the files say, what is wrong with them, and that nothing is silently ignored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from experiments.small import SMALL, changed

from orda.errors import ConfigError, UnknownName
from orda.experiments.protocol import Protocol, row_name, shipped_protocols


def fault(values: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        Protocol.from_dict(values)
    return str(caught.value)


def test_a_row_is_a_run_configuration_over_what_all_share() -> None:
    rows = Protocol.from_dict(SMALL).rows
    assert [row.name for row in rows] == ["ERM", "CORAL", "CORAL + ORDERED"]
    assert [row.config.steps for row in rows] == [10, 10, 10]
    assert rows[2].config.sampler.settings == {"optimiser": "greedy"}
    assert rows[2].fixed["algorithm.name"] == "coral"


def test_a_protocol_is_the_same_after_yaml(tmp_path: Path) -> None:
    protocol = Protocol.from_dict(SMALL)
    file = tmp_path / "small.yaml"
    file.write_text(protocol.to_yaml())
    assert Protocol.load(file) == protocol


def test_the_name_is_the_files_unless_given(tmp_path: Path) -> None:
    file = tmp_path / "my sweep's.yaml"
    file.write_text("groups: {A: {ERM: {algorithm: erm}}}")
    assert Protocol.load(file).name == "my sweep's"


def test_values_of_train_can_be_replaced_by_dotted_names() -> None:
    protocol = Protocol.from_dict(SMALL).updated({"data.cache_dir": "/cache", "steps": 7})
    assert [row.config.data.cache_dir for row in protocol.rows] == ["/cache"] * 3
    assert {row.config.steps for row in protocol.rows} == {7}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (changed(repeat=3), "unknown key 'repeat', did you mean 'repeats'?"),
        (changed(search={"draw": 3}), "unknown key 'search.draw', did you mean 'search.draws'?"),
        (changed(train={"step": 3}), "unknown key 'step', did you mean 'steps'?"),
        (changed(repeats=0), "repeats must be at least 1, not 0"),
        (changed(repeats="many"), "repeats must be a whole number, not 'many'"),
        (changed(groups={}), "groups must hold at least one row"),
        (changed(groups={"A": {}}), "groups.A must be rows"),
        (changed(groups={"A": {"x": 3}}), "groups.A.x must be a mapping"),
        (changed(groups={"A": {"x": {"algorithm": "corall"}}}), "did you mean 'coral'?"),
        (changed(groups={"A": {"x": {"sampler": "orderd"}}}), "did you mean 'ordered'?"),
        (changed(groups={"A": {"ERM": {"algorithm": "erm"}}, "B": {"ERM": {"algorithm": "erm"}}}), "two rows are"),
        (changed(train={"seed": 3}), "train.seed is what the protocol fills in"),
        (changed(train={"data": {"sources": ["a"]}}), "train.data.sources is what the protocol fills in"),
        (changed(search={"space": {"lrr": None}}), "search.space.lrr is a setting of no row, did you mean 'lr'?"),
        (changed(search={"space": {"lr": [1, 2]}}), "search.space.lr must be null (not drawn) or one of"),
        (changed(search={"space": {"lr": {"uniform": [2, 1]}}}), "search.space.lr must be null"),
        (changed(search={"space": {"lr": {"uniform": [-2, -1]}}}), "search.space of ERM: algorithm.settings: "),
        (changed(search={"candidates": "mine"}), "search.candidates must be one of 'shared', 'own'"),
        (changed(name="a/b"), "name must be usable as a file's name"),
        (changed(headings={"rendered": "x"}), "headings.rendered is no task, did you mean 'rendered->handwritten'?"),
    ],
)
def test_what_is_wrong_is_named(values: dict[str, Any], words: str) -> None:
    assert words in fault(values)


def test_all_faults_are_told_at_once() -> None:
    words = fault(changed(repeats=0, groups={"A": {"x": {"algorithm": "corall"}, "y": {"steps": "no"}}}))
    assert "repeats must be at least 1" in words
    assert "groups.A.x" in words
    assert "groups.A.y: steps must be a whole number" in words


def test_an_unknown_protocol_gives_the_nearest_shipped_one() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'paper-spawrious'"):
        Protocol.load("paper-spawrius")
    with pytest.raises(ConfigError, match=r"no file nowhere/x\.yaml"):
        Protocol.load("nowhere/x.yaml")


def test_the_shipped_protocols() -> None:
    assert set(shipped_protocols()) == {"paper-spawrious", "paper-office-home", "digits", "demo", "folder"}
    protocols = {name: Protocol.load(name) for name in shipped_protocols()}
    assert [len(protocols[name].rows) for name in protocols] == [5, 19, 8, 19, 19]
    assert all(name == protocol.name for name, protocol in protocols.items())


@pytest.mark.parametrize("name", ["paper-spawrious", "paper-office-home"])
def test_the_papers_rows(name: str) -> None:
    """The rows of Tables I and II: label, algorithm, sampler."""
    from orda.algorithms import ALGORITHMS
    from orda.samplers import SAMPLERS

    rows = Protocol.load(name).rows
    baselines, aligned = rows[:7], rows[7:]
    assert [row.name for row in baselines] == ["ERM", "DANN", "CDAN", "CDAN + SDAT", "CDAN + ELS", "ARM", "MCC"]
    assert {row.config.resolved().sampler.name for row in baselines} == {"uniform"}
    labels = ["", "+ k-means++", "+ DPP", "+ Anticlustering", "+ VaRDASS", "+ ORDERED"]
    assert [row.name for row in aligned] == [f"{a} {s}".strip() for a in ("CORAL", "MMD") for s in labels]
    assert {row.config.algorithm.name for row in rows} == set(ALGORITHMS)
    assert {row.config.resolved().sampler.name for row in rows} == set(SAMPLERS)
    assert {row.config.sampler.settings.get("optimiser") for row in aligned if row.label == "+ ORDERED"} == {"greedy"}
    assert {(row.config.steps, row.config.horizon, row.config.model.name) for row in rows} == {(3000, 100, "resnet18")}


def test_a_row_with_a_plus_is_called_after_its_group() -> None:
    assert row_name("MMD", "+ DPP") == "MMD + DPP"
    assert row_name("MMD", "CDAN + ELS") == "CDAN + ELS"
