"""Training in processes that are killed at a chosen moment.

A server imports the library once and forks a child for every request, so that a test can afford many processes.

    moments: {"where": "step" | "plan" | "checkpoint" | "moved" | "metrics" | "result", "number": n}

The n-th time that the child comes there, it sends itself ``signal`` (SIGKILL unless another is named).
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent.parent


class Crashes:
    """Runs requests in forked children."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.server = subprocess.Popen(
            [sys.executable, "-m", "references.crashes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )

    def __call__(self, config: dict[str, Any], run: Path, moment: dict[str, Any] | None = None) -> int:
        """Train in a child; its exit code, negative for the signal that ended it."""
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.write(json.dumps({"config": config, "run": str(run), "moment": moment}) + "\n")
        self.server.stdin.flush()
        return int(self.server.stdout.readline())

    def close(self) -> None:
        assert self.server.stdin is not None
        self.server.stdin.close()
        self.server.wait()
        assert self.server.stdout is not None
        self.server.stdout.close()


def main() -> None:
    import torch

    import orda

    torch.set_num_threads(1)
    importlib.import_module("orda.training")  # once, for all children; and the compiled loops of the samplers with it

    torch.optim.Adam([torch.zeros(1, requires_grad=True)])  # imports much
    z = torch.linspace(0, 1, 60).view(20, 3)
    for sampler in ("ordered", "stratified", "kmeans++"):
        orda.plan(z, z.flip(0), sampler=sampler, batch_size=2, horizon=3)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(serve(json.loads(line)))
        status = os.waitpid(child, 0)[1]
        print(os.waitstatus_to_exitcode(status), flush=True)


def serve(request: dict[str, Any]) -> int:
    from orda.training import Interrupted, TrainConfig, train

    if request["moment"] is not None:
        arm(**request["moment"])
    try:
        train(TrainConfig.from_dict(request["config"]), request["run"], progress=False)
    except Interrupted as stopped:
        return 128 + stopped.signum
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def arm(where: str, number: int, signum: int = signal.SIGKILL) -> None:
    """Arrange that the process is killed at its ``number``-th passage."""
    from orda.algorithms import Algorithm
    from orda.loader import AdaptationLoader
    from orda.training import checkpoint, paths

    passages = 0

    def passed() -> bool:
        nonlocal passages
        passages += 1
        return passages == number

    def strike() -> None:
        os.kill(os.getpid(), signum)
        time.sleep(0.01)  # a signal that Python handles is handled in here

    def after(function: Callable[..., Any]) -> Callable[..., Any]:
        def struck(*arguments: Any, **named: Any) -> Any:
            result = function(*arguments, **named)
            if passed():
                strike()
            return result

        return struck

    def half_written(path: Path, content: bytes) -> None:
        if path.name == {"checkpoint": "checkpoint.pt", "result": "result.json"}.get(where) and passed():
            path.with_name(f".{path.name}.{os.getpid()}.part").write_bytes(bytes(content)[: len(content) // 2])
            strike()
        whole(path, content)
        if where == "moved" and path.name == "checkpoint.pt" and passed():
            strike()

    def half_a_line(self: paths.Lines, record: dict[str, Any]) -> None:
        if passed():
            with open(self.path, "a") as file:
                file.write(json.dumps(record)[:20])
            strike()
        line(self, record)

    whole, line = paths.write_whole, paths.Lines.append
    if where == "step":
        Algorithm.update = after(Algorithm.update)  # type: ignore[method-assign]
    elif where == "plan":
        AdaptationLoader.make_plan = after(AdaptationLoader.make_plan)  # type: ignore[method-assign]
    elif where == "metrics":
        paths.Lines.append = half_a_line  # type: ignore[method-assign, assignment]
    else:
        from orda.training import run

        checkpoint.write_whole = run.write_whole = half_written  # type: ignore[assignment]


if __name__ == "__main__":
    main()
