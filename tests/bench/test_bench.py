"""``orda bench`` at sizes that take a moment: its parts, its tables, and that the literal code computes the same."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cli.test_root import run
from references import ordering, stratification
from references.card import CARD, card
from torch import Tensor

import orda
from orda.bench import Bench, as_text, beside, literal, steps, workshop
from orda.bench import run as whole
from orda.bench.data import clustered, drifted, images
from orda.bench.plans import ORDERED, OTHERS, plans
from orda.bench.table import cell, table

CPU = torch.device("cpu")
TINY = workshop.Training("small-cnn", 28, 60, horizon=4, blocks=1)


def test_the_literal_assignment_is_algorithm_1() -> None:
    distances = np.random.default_rng(0).random((40, 5))
    order = np.random.default_rng(1).permutation(40)
    found = literal.assign(distances, 6, np.random.default_rng(1))
    assert found.tolist() == stratification.algorithm_1(distances, 6, order.tolist())
    assert np.bincount(found).min() >= 6


def test_the_literal_order_is_algorithm_2() -> None:
    rng = np.random.default_rng(0)
    k, horizon, n = 3, 5, 15
    z = rng.normal(size=(2 * n, 2))
    gram, weights = z @ z.T, np.full(k, 1 / k)
    tuples = rng.permutation(n).reshape(k, horizon), rng.permutation(n).reshape(k, horizon)
    estimate = ordering.mmd(gram, n, weights, weights)
    expected = ordering.algorithm_2(ordering.scalar(estimate, 0.3), *tuples)
    signed = np.concatenate([weights, -weights])
    found = literal.order(np.concatenate([tuples[0], n + tuples[1]]), signed, gram, 0.3)
    assert np.array_equal(found, np.concatenate([expected[0], n + expected[1]]))


def test_the_literal_plan_takes_every_row_from_its_own_domain_and_stratum() -> None:
    features = clustered(60, 4, CPU)
    arrays = [z.double().numpy() for z in (features.source, features.target)]
    pools = literal.plan(*arrays, 3, 5, 4, np.random.default_rng(0))
    assert pools.shape == (6, 5)
    assert (pools[:3] < 60).all()
    assert (pools[3:] >= 60).all()
    for rows in (pools[:3], pools[3:]):
        assert all(set(one).isdisjoint(other) for i, one in enumerate(rows) for other in rows[:i])


def test_data_are_the_same_every_time_and_drift_a_little() -> None:
    one, again = clustered(50, 6, CPU), clustered(50, 6, CPU)
    assert torch.equal(one.source, again.source)
    assert not torch.equal(one.source, one.target)
    moved = (drifted(one).source - one.source).std()
    assert 0.03 < float(moved) < 0.07
    assert torch.equal(images("source", 3, 8, CPU).images, images("source", 3, 8, CPU).images)


def test_a_plan_is_timed_by_its_parts() -> None:
    rows = list(plans(CPU, 400, 8, (4, 32), horizon=5, quick=False))
    assert [row["sampler"] for row in rows if row["k"] == 4] == list(ORDERED)
    assert [row["sampler"] for row in rows if row["k"] == 32] == [*ORDERED, *OTHERS]
    for row in rows:
        assert row["first"] > 0
        assert row["next"] > 0
        if row["sampler"] in ORDERED:
            assert 0 < row["stratify"] + row["prepare"] + row["order"] <= row["first"]


def test_training_is_timed_with_every_sampler() -> None:
    rows = list(steps.training(CPU, TINY, (4,), whole.ALL))
    assert [row["sampler"] for row in rows] == list(workshop.SAMPLERS)
    assert rows[0]["over uniform"] == 1
    for row in rows:
        assert row["over uniform"] == pytest.approx(rows[0]["steps/s"] / row["steps/s"])


def test_without_uniform_there_is_no_ratio() -> None:
    assert next(steps.training(CPU, TINY, (4,), ("stratified",)))["over uniform"] is None


def test_the_ratio_to_literal_code_is_its_seconds_over_ours() -> None:
    row = beside.beside_literal(120, 8, 3, 4, CPU)
    assert row["ratio"] == row["its"] / row["orda"] > 0


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert [row["skipped"] for row in beside.beside_peers(50, 4, 2)] == [
        "k-means-constrained is not installed",
        "dppy is not installed",
    ]


def test_on_a_gpu_ordered_samplers_are_timed_with_overlap_too() -> None:
    assert steps.with_overlap(whole.FEW, CPU) == whole.FEW
    assert steps.with_overlap(whole.FEW, CARD) == (
        "uniform",
        "stratified",
        "ordered, greedy",
        "ordered, greedy, overlap",
        "ordered, assignment",
        "ordered, assignment, overlap",
    )


def test_overlap_is_the_loaders_and_ends_with_the_measurement() -> None:
    shop = workshop.Workshop(CPU, TINY)
    (row,) = steps.trained(shop, 4, ("ordered, greedy, overlap",))
    assert row["sampler"] == "ordered, greedy, overlap"
    assert row["steps/s"] > 0
    course = workshop.Course(shop, 4, "ordered, greedy, overlap")
    assert course.loader.overlap
    course.go(TINY.horizon + 1)
    course.end()
    assert course.loader.plans_made == 2


def test_every_training_starts_from_the_same_network() -> None:
    shop = workshop.Workshop(CPU, TINY)
    course = workshop.Course(shop, 4, "uniform")
    before = {name: value.clone() for name, value in course.learner.state_dict().items() if isinstance(value, Tensor)}
    course.go(3)
    after = workshop.Course(shop, 4, "uniform").learner.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert 0 <= shop.accuracy(course.learner) <= 1


def test_on_a_gpu_what_is_timed_is_what_a_run_does() -> None:
    what = replace(TINY, augmentation="domainbed")
    with card() as ledger:
        shop = workshop.Workshop(CARD, what)
        course = workshop.Course(shop, 4, "uniform")
        course.go(1)
        ledger.clear()
        course.go(what.horizon - 1)
        assert ledger.held_up == []
        assert ledger.launched.count("aten._fused_adam_.default") == what.horizon - 1
        assert course.learner.amp is torch.bfloat16
        weights = [p for p in course.learner.parameters() if p.ndim == 4]
        assert all(p.is_contiguous(memory_format=torch.channels_last) for p in weights)
        said = workshop.described(replace(what, compile=True), CARD)
    assert "augmented (domainbed)" in said
    assert said.endswith("bfloat16, channels last, fused Adam, cuDNN's fastest algorithms, compiled")
    assert "not augmented, mmd, M = 4, 1 blocks, float32" in workshop.described(TINY, CPU)


def test_the_network_can_be_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda module: asked.append(type(module).__name__))
    workshop.Workshop(CPU, replace(TINY, compile=True))
    assert asked == ["SmallCNN"]
    assert whole.setting(CARD, Bench(compile=True)).compile


MISSING = ("kornia", "yaml", "typer", "rich", "pydantic")


def test_it_needs_no_package_of_the_command() -> None:
    code = (
        f"import sys\nfor name in {MISSING}: sys.modules[name] = None\n"
        "import orda.bench.__main__\nfrom orda.bench import Bench, workshop, steps\nimport torch\n"
        "what = workshop.Training('small-cnn', 28, 40, horizon=2, blocks=1)\n"
        "print(next(steps.training(torch.device('cpu'), what, (4,), ('uniform',)))['k'])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stdout == "4\n", found.stderr


def test_a_device_that_cannot_be() -> None:
    with pytest.raises(orda.errors.SettingError, match=r"must be cpu or cuda; got 'tpu'"):
        Bench(device="tpu").resolved()


def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert Bench().resolved() == CPU
    code, out, err = run(capsys, "bench", "--device", "cuda:99")
    assert (code, out) == (1, "")
    assert "one that torch can use" in err
    assert "cuda:99" in err
    assert "--device cpu" in err


@pytest.mark.parametrize(("value", "text"), [(None, ""), (3, "3"), (312.4, "312"), (2.5, "2.50"), (0.01234, "0.0123")])
def test_cells(value: Any, text: str) -> None:
    assert cell(value) == text


def test_words_stand_left_and_numbers_right() -> None:
    text = table(("name", "k"), [{"name": "a", "k": 5}, {"name": "long", "k": 128}]).splitlines()
    assert text[0] == "name    k"
    assert text[2:] == ["a       5", "long  128"]


def measured(*_: Any) -> Iterator[dict[str, Any]]:
    yield {"k": 8, "sampler": "uniform", "first": 0.5, "next": 0.25, "steps/s": 40.0, "over uniform": 1.0}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is measured in no time."""
    beside_it = {"what": "a plan", "beside": "literal NumPy", "its": 2.0, "orda": 0.5, "ratio": 4.0}
    monkeypatch.setattr(whole, "plans", measured)
    monkeypatch.setattr(whole, "training", measured)
    monkeypatch.setattr(whole, "beside_literal", lambda *_: beside_it)
    monkeypatch.setattr(whole, "beside_peers", lambda *_: iter([{"what": "", "beside": "x", "skipped": "x is away"}]))


@pytest.mark.usefixtures("at_once")
def test_the_command_prints_tables_and_writes_all_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a 'new' folder" / "bench.json"
    code, out, err = run(capsys, "bench", "--device", "cpu", "--json", str(file))
    assert code == 0
    for text in ("Seconds of a plan", "over uniform", "literal NumPy", "skipped: x is away"):
        assert text in out
    assert "plan: k 8, sampler uniform" in err  # progress
    found = json.loads(file.read_text())
    assert set(found) == {"machine", "settings", "plans", "training", "beside", "seconds"}
    assert found["plans"] == list(measured())
    assert found["machine"]["orda"] == orda.__version__
    assert as_text(found) == out.rstrip("\n")


@pytest.mark.usefixtures("at_once")
def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "bench", "--json", str(tmp_path))
    assert (code, out) == (1, "")
    assert "is a folder" in err


@pytest.mark.slow
@pytest.mark.filterwarnings("always::orda.OrdaWarning")
def test_a_look_at_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, _ = run(capsys, "bench", "--quick", "--device", "cpu", "--json", str(tmp_path / "bench.json"))
    assert code == 0
    found = json.loads((tmp_path / "bench.json").read_text())
    assert {row["k"] for row in found["plans"]} == {8, 32}
    assert {row["sampler"] for row in found["training"]} == set(whole.FEW)
    assert found["beside"][0]["its"] > 0
