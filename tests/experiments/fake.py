"""A training run without training: results that follow from the configuration, and misbehaviour on demand.

What misbehaves stands in ``behaviour.json`` of the folder of runs, by algorithm: processes on any engine read it there.
Every run adds a line to ``begun.txt`` and, for every step it does, one to ``steps.txt`` of its folder.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orda.errors import Diverged
from orda.experiments.engine import Engine, Summary, run_sweep, survey
from orda.experiments.jobs import Job
from orda.experiments.store import Store
from orda.seeds import generator
from orda.training import RunPaths, RunResult, TrainConfig

STEPS = 20


def behave(root: Path, **behaviour: Any) -> None:
    """Say what runs of an algorithm do: "fail", "die", "die once", "full", "diverge", or seconds a step."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "behaviour.json").write_text(json.dumps({key.replace("_", "-"): b for key, b in behaviour.items()}))


def train(config: TrainConfig, folder: Path) -> RunResult:
    """The face of ``orda.training.train``: what is finished is returned, what was broken off goes on."""
    config, paths = config.resolved(), RunPaths(folder)
    if paths.result.exists():
        return RunResult.load(paths.result)
    paths.make()
    begun = append(folder / "begun.txt", "begun")
    behaviour = behaviour_of(folder.parent, config)
    if behaviour == "fail":
        raise ValueError("it always does")
    if behaviour == "full":
        raise OSError(errno.ENOSPC, "No space left on device")
    if behaviour == "die" or (behaviour == "die once" and begun == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    paths.config.write_text(config.to_yaml())
    take_steps(paths, behaviour if isinstance(behaviour, float) else 0.0)
    result = make_result(config, diverged=behaviour == "diverge")
    paths.result.write_text(result.to_json())
    if behaviour == "diverge":
        raise Diverged(result.message or "")
    return result


def sweep(
    jobs: Sequence[Job],
    store: Store,
    engine: Engine,
    *,
    limit: int | None = None,
    retry_failed: bool = False,
    **how: Any,
) -> Summary:
    """Survey and sweep."""
    return run_sweep(survey(jobs, store, limit=limit, retry_failed=retry_failed), store, engine, **how)


def take_steps(paths: RunPaths, seconds: float) -> None:
    """Steps from where the checkpoint says, one every fifth of them."""
    done = int(paths.checkpoint.read_text()) if paths.checkpoint.exists() else 0
    stopped = False

    def note(*_: object) -> None:
        nonlocal stopped
        stopped = True

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)} if seconds else {}
    try:
        for step in range(done, STEPS):
            time.sleep(seconds)
            append(paths.root / "steps.txt", str(step))
            if (step + 1) % 5 == 0 or stopped:
                paths.checkpoint.write_text(str(step + 1))
            if stopped:
                raise KeyboardInterrupt(f"stopped after step {step + 1}")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def behaviour_of(root: Path, config: TrainConfig) -> Any:
    try:
        return json.loads((root / "behaviour.json").read_text()).get(config.algorithm.name)
    except FileNotFoundError:
        return None


def append(path: Path, line: str) -> int:
    """Add a line; how many there are now."""
    with path.open("a") as file:
        file.write(line + "\n")
    return len(path.read_text().splitlines())


def make_result(config: TrainConfig, diverged: bool = False, **changes: Any) -> RunResult:
    """A result with accuracies that follow from the digest, a little higher for the ordered sampler."""
    digest = config.digest()
    rng = generator(int(digest, 16), "fake")
    validation = float(rng.uniform(0.6, 0.9))
    accuracy = min(1.0, validation - 0.2 + 0.05 * (config.sampler.name == "ordered") + float(rng.normal(0, 0.02)))
    values: dict[str, Any] = {
        "status": "diverged" if diverged else "finished",
        "digest": digest,
        "run": {
            "data": config.data.name,
            "task": config.data.sources[0],
            "algorithm": config.algorithm.name,
            "sampler": config.sampler.name,
            "batch_size": config.batch_size,
            "seed": config.seed,
        },
        "steps": config.steps,
        "selected_step": None if diverged else config.steps,
        "source_validation": None if diverged else validation,
        "source_validations": {} if diverged else {"source": validation},
        "target_accuracy": None if diverged else accuracy,
        "final_source_validation": None if diverged else validation,
        "final_target_accuracy": None if diverged else accuracy,
        "seconds": {"step": 1.0, "plan": 0.5, "total": 1.5},
        "plans": {"count": 1},
        "sizes": {"train": 100},
        "weights_sha256": None,
        "environment": {"device": "cpu"},
        "message": "the loss became NaN" if diverged else None,
    }
    return RunResult(**{**values, **changes})
