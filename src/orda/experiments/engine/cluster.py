"""Ray: the runs as tasks of a cluster, or of this machine. ``pip install 'orda[ray]'``.

All nodes must see the folder of runs (and the images) under the same path.
"""

from __future__ import annotations

import os
from typing import Any

from orda.errors import SettingError
from orda.experiments.engine.base import Ended, Engine
from orda.experiments.jobs import Job
from orda.experiments.run import End, Outcome, Train, execute, train_run
from orda.experiments.store import Store

AHEAD = 4  # tasks in line beyond what the cluster can do at once, so that it never idles and may grow


class RayTasks(Engine):
    """Every run a task that asks for ``cpus`` and ``gpus``, of which both may be fractions: 0.25 puts four on one GPU.

    A task whose worker or node died is not tried again by Ray but by the sweep, like that of any engine.
    """

    def __init__(
        self,
        store: Store,
        train: Train = train_run,
        *,
        address: str | None = None,
        cpus: float = 1.0,
        gpus: float = 0.0,
        jobs: int | None = None,
    ) -> None:
        self.ray = import_ray()
        self.store, self.train, self.cpus, self.gpus = store, train, cpus, gpus
        self._own = not self.ray.is_initialized()
        if self._own:
            local = {} if address else {"num_cpus": jobs, "include_dashboard": False}
            self.ray.init(address=address, log_to_driver=False, configure_logging=False, **local)
        self._do = self.ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=0)(task)
        self._running: dict[Any, Job] = {}
        self._stopping = False
        check_request(self.ray.cluster_resources(), cpus, gpus)

    @property
    def slots(self) -> int:
        return capacity(self.ray.cluster_resources(), self.cpus, self.gpus) + AHEAD

    def submit(self, job: Job) -> None:
        self._running[self._do.remote(job, self.store, self.train, self.cpus)] = job

    def wait(self, seconds: float) -> list[Ended]:
        if not self._running:
            return []
        ready, _ = self.ray.wait(list(self._running), num_returns=1, timeout=seconds)
        return [Ended(self._running.pop(reference), self._outcome(reference)) for reference in ready]

    def stop(self) -> None:
        self._stopping = True
        for reference in self._running:
            self.ray.cancel(reference)

    def close(self) -> None:
        for reference in self._running:
            self.ray.cancel(reference, force=True)
        self._running.clear()
        if self._own:
            self.ray.shutdown()

    def _outcome(self, reference: Any) -> Outcome:
        try:
            outcome: Outcome = self.ray.get(reference)
            return outcome
        except self.ray.exceptions.TaskCancelledError:
            return Outcome(End.STOPPED)
        except self.ray.exceptions.RayError as error:
            text = str(error).strip().splitlines()
            end = End.STOPPED if self._stopping else End.LOST
            return Outcome(end, f"{type(error).__name__}: {text[0] if text else ''}")


def task(job: Job, store: Store, train: Train, cpus: float) -> Outcome:
    """What a worker of Ray does."""
    import torch

    torch.set_num_threads(max(1, int(cpus)))
    return execute(job, store, train, on_loss=lambda: os._exit(1))


def capacity(resources: dict[str, float], cpus: float, gpus: float) -> int:
    """How many tasks fit on a cluster at once."""
    fits = [resources.get(name, 0.0) / wanted for name, wanted in (("CPU", cpus), ("GPU", gpus)) if wanted > 0]
    return max(1, int(min(fits))) if fits else 1


def check_request(resources: dict[str, float], cpus: float, gpus: float) -> None:
    """Refuse what no node of the cluster can ever give, instead of waiting for it for ever."""
    short = [
        f"{wanted:g} {name}s of {resources.get(name, 0.0):g}"
        for name, wanted in (("CPU", cpus), ("GPU", gpus))
        if wanted > resources.get(name, 0.0)
    ]
    if short:
        raise SettingError("a run must fit on the cluster", " and ".join(short), "Lower --cpus-per-run, --gpus-per-run")


def import_ray() -> Any:
    """Ray, or how to get it."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray would warn of its future
    try:
        import ray
    except ImportError as error:
        raise SettingError("--engine ray needs Ray", str(error), "Run: pip install 'orda[ray]'") from error
    return ray
