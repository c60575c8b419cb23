"""TensorBoard's curves hold what metrics.jsonl holds, once, whatever happened to the run."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from references.crashes import Crashes

from orda.errors import SettingError
from orda.training import Lines, RunPaths, TrainConfig, train
from orda.training.curves import Curves, points

pytest.importorskip("tensorboard")

Curve = list[tuple[int, float]]


def drawn(folder: Path) -> dict[str, Curve]:
    """Every curve that TensorBoard would show."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def expected(paths: RunPaths) -> dict[str, Any]:
    curves: dict[str, Any] = {}
    for line in Lines(paths.metrics).read():
        for name, value in points(line).items():
            curves.setdefault(name, []).append((line["step"], pytest.approx(value)))
    return curves


def test_a_run_draws_its_metrics(make_config: Callable[..., TrainConfig], tmp_path: Path) -> None:
    train(make_config({"machine.tensorboard": True}), tmp_path)
    found = drawn(RunPaths(tmp_path).tensorboard)
    assert set(found) == {
        "accuracy/source_validation",
        "accuracy/target",
        "loss/loss",
        "loss/task",
        "loss/discrepancy",
    }
    assert [step for step, _ in found["accuracy/target"]] == [6, 12, 17]
    assert found == expected(RunPaths(tmp_path))


def test_a_run_that_was_killed_has_every_point_once(
    make_config: Callable[..., TrainConfig], crashes: Crashes, tmp_path: Path
) -> None:
    config = make_config({"machine.tensorboard": True, "machine.checkpoint_every": 4, "eval_every": 3})
    for number in (8, 6):
        moment = {"where": "step", "number": number}
        assert crashes(config.to_dict(), tmp_path, moment) == -signal.SIGKILL
    assert crashes(config.to_dict(), tmp_path) == 0
    found = drawn(RunPaths(tmp_path).tensorboard)
    assert [step for step, _ in found["accuracy/target"]] == [3, 6, 9, 12, 15, 17]
    assert found == expected(RunPaths(tmp_path))


def test_without_a_folder_there_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    curves = Curves(None)
    curves.add({"kind": "train", "step": 1, "losses": {"loss": 1.0}})
    curves.close()
    with pytest.raises(SettingError, match=r"come with an extra.*pip install 'orda\[tensorboard\]'"):
        Curves(tmp_path / "t")
