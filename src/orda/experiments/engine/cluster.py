"""Ray: the runs as tasks of a cluster, or of this machine. ``pip install 'orda[ray]'``.

All nodes must see the folder of runs (and the images) under the same path.
"""

from __future__ import annotations

import math
import os
import warnings
from typing import Any

from orda.errors import OrdaWarning, SettingError
from orda.experiments.engine.base import Ended, Engine
from orda.experiments.engine.output import output_to
from orda.experiments.jobs import Job
from orda.experiments.run import End, Outcome, Train, execute, train_run
from orda.experiments.store import Store

AHEAD = 4  # tasks in line beyond what the cluster can do at once, so that it never idles and may grow
Resources = dict[str, float]


class RayTasks(Engine):
    """Every run a task that asks for ``cpus`` and ``gpus``, of which both may be fractions: 0.25 puts four on one GPU.

    address  of a cluster, or "auto" for one that this machine belongs to; else $RAY_ADDRESS; else a Ray of our own here
    gpus     ``None``: one where there are any
    jobs     at most so many at once; ``None``: what fits

    A task whose worker or node died is not tried again by Ray but by the sweep, like that of any engine.
    """

    def __init__(
        self,
        store: Store,
        train: Train = train_run,
        *,
        address: str | None = None,
        cpus: float = 1.0,
        gpus: float | None = None,
        jobs: int | None = None,
    ) -> None:
        self.ray = import_ray()
        self.store, self.train, self.cpus, self.jobs = store, train, cpus, jobs
        self._own = not self.ray.is_initialized()
        address = address or os.environ.get("RAY_ADDRESS")
        if self._own:
            start(self.ray, address, None if jobs is None else math.ceil(jobs * cpus))
        nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        self.gpus = float(any(node.get("GPU") for node in nodes)) if gpus is None else gpus
        check_request(nodes, cpus, self.gpus, may_grow=address is not None)
        self._do = self.ray.remote(num_cpus=cpus, num_gpus=self.gpus, max_retries=0)(task)
        self._running: dict[Any, Job] = {}
        self._stopping = False

    @property
    def slots(self) -> int:
        fits = capacity(self.ray.cluster_resources(), self.cpus, self.gpus) + AHEAD
        return fits if self.jobs is None else min(self.jobs, fits)

    def submit(self, job: Job) -> None:
        self._running[self._do.remote(job, self.store, self.train, self.cpus, self.gpus)] = job

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
        except self.ray.exceptions.RayTaskError as error:  # not the run's: execute() catches those
            return Outcome(End.LOST, str(error).strip().splitlines()[-1])
        except self.ray.exceptions.RayError as error:
            text = str(error).strip().splitlines()
            end = End.STOPPED if self._stopping else End.LOST
            return Outcome(end, f"{type(error).__name__}: {text[0] if text else ''}")


def task(job: Job, store: Store, train: Train, cpus: float, gpus: float) -> Outcome:
    """What a worker of Ray does."""
    if not gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import torch

    torch.set_num_threads(max(1, int(cpus)))
    with output_to(store.folder(job.digest)):
        return execute(job, store, train, on_loss=lambda: os._exit(1))


def capacity(resources: Resources, cpus: float, gpus: float) -> int:
    """How many tasks fit on a cluster at once."""
    fits = [resources.get(name, 0.0) / wanted for name, wanted in (("CPU", cpus), ("GPU", gpus)) if wanted > 0]
    return max(1, int(min(fits))) if fits else 1


def check_request(nodes: list[Resources], cpus: float, gpus: float, may_grow: bool) -> None:
    """Refuse what no node has, instead of waiting for it for ever; of a cluster that may yet get such a node, warn."""
    asked = {"CPU": cpus, "GPU": gpus}
    if any(all(node.get(name, 0.0) >= wanted for name, wanted in asked.items()) for node in nodes):
        return
    most = " or ".join(f"{node.get('CPU', 0.0):g} CPUs and {node.get('GPU', 0.0):g} GPUs" for node in nodes[:8])
    got = f"{cpus:g} CPUs and {gpus:g} GPUs asked for of nodes with {most or 'nothing'}"
    if not may_grow:
        raise SettingError("a run must fit on a node", got, "Lower --cpus-per-run or --gpus-per-run")
    warnings.warn(f"no node of the cluster can take a run yet: {got}; waiting for one", OrdaWarning, stacklevel=3)


def start(ray: Any, address: str | None, cpus: int | None) -> None:
    """Connect to the cluster, or start a Ray of our own on this machine with so many ``cpus`` (all that it has)."""
    local = {} if address else {"num_cpus": cpus, "include_dashboard": False}
    try:
        ray.init(address=address or "local", log_to_driver=False, configure_logging=False, **local)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        raise SettingError(
            f"Ray must be reachable at {address}" if address else "a Ray of this machine must start",
            str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__,
            "Check --address and the versions of Ray and Python there, or use --engine local",
        ) from error


def import_ray() -> Any:
    """Ray, or how to get it."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray would warn of its future
    try:
        import ray
    except ImportError as error:
        raise SettingError("--engine ray needs Ray", str(error), "Run: pip install 'orda[ray]'") from error
    return ray
