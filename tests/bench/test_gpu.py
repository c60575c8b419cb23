"""``benchmarks/gpu.py`` at sizes that take a moment."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from orda.bench.workshop import Training

CPU = torch.device("cpu")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TINY = Training("small-cnn", 8, 60, horizon=3, blocks=1)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("gpu")


@pytest.fixture
def tiny(gpu: ModuleType) -> Any:
    return replace(gpu.QUICK, training=TINY, steps=6, evaluate_every=3, d=6, plans={4: 0.15}, ratios={4: 3.0})


def measured(gpu: ModuleType, sizes: Any, sections: str, budget: float = 100.0) -> tuple[list[Any], list[str]]:
    said, rows = zip(*gpu.measure(gpu.Bench(CPU, sizes), sections, budget), strict=True)
    assert json.loads(json.dumps(rows)) == list(rows)
    return list(rows), list(said)


def test_every_figure_has_its_reach(gpu: ModuleType, tiny: Any) -> None:
    rows, said = measured(gpu, tiny, "abc")
    assert [row["section"] for row in rows] == ["a", *"b" * 8, *"c" * 4]
    assert all(row["measured"] > 0 for row in rows)
    assert [row["reach"] for row in rows] == [20.0, *[0.15] * 8, 3.0, 1.3, 3.0, 1.3]
    assert [row["met"] for row in rows] == [None] * 13  # at these sizes it says nothing
    assert all(text.endswith("not judged") for text in said)
    assert said[0].startswith("a  uniform, k = 4, 6 steps")


def test_the_issues_sizes_are_judged(gpu: ModuleType) -> None:
    assert gpu.WHOLE.judged
    assert (gpu.WHOLE.training.n * 2, gpu.WHOLE.d, gpu.WHOLE.steps) == (18_664, 512, 3000)
    slow, fast = (gpu.Row("a", "uniform", seconds, "s", 20.0) for seconds in (20.5, 19.5))
    assert [slow.met(), fast.met()] == [False, True]
    assert slow.text(True).endswith("20.500 s  reach ≤ 20  NOT MET")
    assert fast.text(True).endswith("met")
    more = gpu.Row("e", "four", 2.5, "×", 2.0, least=True)
    assert more.met()
    assert "reach ≥ 2" in more.text(True)


def test_a_whole_run_is_orda_train_and_without_its_packages_the_bench_s_own_loop(
    gpu: ModuleType, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, _ = measured(gpu, tiny, "d")
    assert rows[0]["more"]["by"] == "orda.training.train"
    assert rows[0]["more"]["parts"]["evaluate"] > 0
    monkeypatch.setitem(sys.modules, "orda.training", None)
    rows, _ = measured(gpu, tiny, "d")
    assert rows[0]["more"]["by"] == "the bench's own loop, for want of orda.training"
    assert rows[0]["more"]["evaluations"] == 2


def test_what_fails_says_so_and_the_rest_goes_on(gpu: ModuleType, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Any) -> Iterator[Any]:
        raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate")
        yield

    monkeypatch.setattr(gpu.Bench, "uniform", full)
    rows, said = measured(gpu, tiny, "ab")
    assert said[0] == "a  failed: OutOfMemoryError: CUDA out of memory."
    assert rows[0]["failed"].startswith("OutOfMemoryError")
    assert [row["section"] for row in rows[1:]] == ["b"] * 8


def test_what_comes_too_late_is_left_out(gpu: ModuleType, tiny: Any) -> None:
    rows, said = measured(gpu, tiny, "abe", budget=-1.0)
    assert [row["section"] for row in rows] == ["a", "b", "e"]
    assert all("left out" in row for row in rows)
    assert "left out" in said[0]


def test_the_command_writes_its_numbers(
    gpu: ModuleType, tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu, "QUICK", tiny)
    gpu.main(["--device", "cpu", "--only", "a", "--json", str(tmp_path / "gpu.json")])
    found = json.loads((tmp_path / "gpu.json").read_text())
    assert [row["section"] for row in found["rows"]] == ["a"]
    assert found["settings"]["training"]["n"] == TINY.n
    assert "small-cnn, 60 random images" in capsys.readouterr().out


@pytest.mark.slow
def test_runs_at_once(gpu: ModuleType, tiny: Any) -> None:
    rows, _ = measured(gpu, tiny, "e")
    assert rows[0]["more"]["steps/s"] == pytest.approx(rows[0]["measured"] * rows[0]["more"]["alone"])


@pytest.mark.slow
def test_one_run_that_fails_holds_up_no_other(gpu: ModuleType) -> None:
    with pytest.raises(KeyError, match="no sampler"):
        sys.modules["runs"].at_once(2, "cpu", TINY, 4, "no sampler")
