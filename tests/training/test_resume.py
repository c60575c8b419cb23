"""A run that is killed and started again ends as if it had not been, bit for bit."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from references.crashes import Crashes

from orda.training import RunPaths, RunResult, TrainConfig

KILLED = -signal.SIGKILL
TIMED = ("seconds", "objective_seconds")

RUNS: dict[str, dict[str, Any]] = {
    "coral+ordered": {"data.augmentation": "domainbed", "model.dropout": 0.1},
    "mmd+stratified": {
        "algorithm.name": "mmd",
        "algorithm.settings.gammas": "median",
        "sampler.name": "stratified",
        "machine.checkpoint_every": 4,
    },
    "coral+ordered, overlap": {"overlap": True, "machine.checkpoint_every": 5},
    "dann+uniform": {"algorithm.name": "dann", "machine.checkpoint_every": 3, "machine.resident": True},
    "arm+kmeans++": {"algorithm.name": "arm", "algorithm.settings.support": 2, "sampler.name": "kmeans++"},
}


def untimed(value: Any) -> Any:
    """Without the seconds, which no two runs share."""
    if isinstance(value, dict):
        return {key: untimed(inner) for key, inner in value.items() if key not in TIMED}
    return [untimed(inner) for inner in value] if isinstance(value, list) else value


def traces(run: Path) -> dict[str, Any]:
    """Everything that a run leaves behind, but for seconds."""
    paths = RunPaths(run)
    checkpoint = torch.load(paths.checkpoint, weights_only=True)
    return {
        "result": untimed(json.loads(paths.result.read_text())),
        "metrics": [untimed(json.loads(line)) for line in paths.metrics.read_text().splitlines()],
        "plans": [untimed(json.loads(line)) for line in paths.plans.read_text().splitlines()],
        "selected": {name: value.tolist() for name, value in checkpoint["selected"]["networks"].items()},
        "config": paths.config.read_text(),
        "files": sorted(str(path.relative_to(run)) for path in run.rglob("*")),
    }


@pytest.fixture(scope="module")
def undisturbed(crashes: Crashes, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """The traces of a run that nothing happens to."""
    known: dict[str, dict[str, Any]] = {}

    def of(name: str, config: TrainConfig) -> dict[str, Any]:
        if name not in known:
            folder = tmp_path_factory.mktemp("undisturbed")
            assert crashes(config.to_dict(), folder) == 0
            known[name] = traces(folder)
        return known[name]

    return of


def kill_and_go_on(
    crashes: Crashes, config: TrainConfig, run: Path, moments: list[dict[str, Any]], expected: int = KILLED
) -> dict[str, Any]:
    for moment in moments:
        assert crashes(config.to_dict(), run, moment) == expected, moment
        assert not RunPaths(run).result.exists()
    assert crashes(config.to_dict(), run) == 0
    return traces(run)


@pytest.mark.parametrize("name", RUNS)
def test_killed_at_any_step(name: str, make_config: Any, crashes: Crashes, undisturbed: Any, tmp_path: Path) -> None:
    config = make_config(RUNS[name])
    moments = [{"where": "step", "number": number} for number in (1, 7, 9)]  # of what each process does
    assert kill_and_go_on(crashes, config, tmp_path / "run", moments) == undisturbed(name, config)


@pytest.mark.parametrize(
    "moment",
    [
        {"where": "plan", "number": 1},
        {"where": "plan", "number": 3},
        {"where": "checkpoint", "number": 1},
        {"where": "checkpoint", "number": 3},
        {"where": "moved", "number": 1},
        {"where": "moved", "number": 3},
        {"where": "metrics", "number": 2},
        {"where": "metrics", "number": 7},
        {"where": "result", "number": 1},
    ],
    ids=lambda moment: f"{moment['where']}{moment['number']}",
)
def test_killed_at_an_awkward_moment(
    moment: dict[str, Any], make_config: Any, crashes: Crashes, undisturbed: Any, tmp_path: Path
) -> None:
    name = "coral+ordered"
    config = make_config(RUNS[name])
    after = kill_and_go_on(crashes, config, tmp_path / "run", [moment])
    parts = [file for file in after["files"] if file.endswith(".part")]
    before = undisturbed(name, config)
    assert {**after, "files": None} == {**before, "files": None}
    assert len(parts) <= 1  # what the killed process was writing; nobody reads it
    assert [file for file in after["files"] if file not in parts] == before["files"]


@pytest.mark.parametrize(
    ("signum", "moments"),
    [(signal.SIGINT, [("step", 1), ("step", 10)]), (signal.SIGTERM, [("plan", 1), ("plan", 2), ("moved", 1)])],
    ids=["SIGINT", "SIGTERM"],
)
def test_a_signal_writes_a_checkpoint_first(
    signum: int, moments: list[tuple[str, int]], make_config: Any, crashes: Crashes, undisturbed: Any, tmp_path: Path
) -> None:
    name = "coral+ordered"
    config = make_config(RUNS[name])
    for where, number in moments:
        moment = {"where": where, "number": number, "signum": signum}
        assert crashes(config.to_dict(), tmp_path, moment) == 128 + signum
        assert RunPaths(tmp_path).checkpoint.exists()
    assert crashes(config.to_dict(), tmp_path) == 0
    assert traces(tmp_path) == undisturbed(name, config)


def test_a_signal_loses_no_step(make_config: Any, crashes: Crashes, tmp_path: Path) -> None:
    config = make_config({"machine.checkpoint_every": 0})
    for number, done in ((3, 3), (2, 5), (6, 11)):
        moment = {"where": "step", "number": number, "signum": signal.SIGINT}
        assert crashes(config.to_dict(), tmp_path, moment) == 130
        assert torch.load(RunPaths(tmp_path).checkpoint, weights_only=True)["step"] == done


def test_seconds_add_up_over_processes(make_config: Any, crashes: Crashes, tmp_path: Path) -> None:
    config = make_config()
    assert crashes(config.to_dict(), tmp_path, {"where": "step", "number": 7}) == KILLED
    before = torch.load(RunPaths(tmp_path).checkpoint, weights_only=True)["training"]["seconds"]
    assert crashes(config.to_dict(), tmp_path) == 0
    after = RunResult.load(RunPaths(tmp_path).result).seconds
    assert all(after[part] >= before[part] for part in before)
    assert after["total"] == pytest.approx(sum(after.values()) - after["total"])
