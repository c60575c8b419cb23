"""The engine that a command line asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orda.errors import SettingError, UnknownName
from orda.experiments.engine.base import Engine
from orda.experiments.engine.inline import Inline
from orda.experiments.engine.local import LocalProcesses
from orda.experiments.engine.machine import jobs_at_once, visible_gpus
from orda.experiments.run import Train, train_run
from orda.experiments.store import Store

ENGINES = ("local", "ray", "inline")


@dataclass(frozen=True)
class Request:
    """Where runs are to be done; ``None`` is the engine's own choice."""

    engine: str = "local"
    jobs: int | None = None  # at once
    gpus: Sequence[str] | None = None  # which ones, on this machine; none: (), all: None
    cpus_per_run: float | None = None
    gpus_per_run: float | None = None  # of which 0.25 puts four on one
    address: str | None = None  # of a Ray cluster

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise UnknownName("engine", self.engine, ENGINES)
        if self.address is not None and self.engine != "ray":
            raise SettingError("--address is of a Ray cluster", f"--engine {self.engine}", "Add --engine ray")
        if self.gpus is not None and self.engine == "ray":
            raise SettingError("Ray deals out the GPUs itself", "--gpus", "Use --gpus-per-run, or --engine local")
        if self.jobs is not None and self.jobs < 1:
            raise SettingError("--jobs must be at least 1", self.jobs)
        if self.cpus_per_run is not None and self.cpus_per_run <= 0:
            raise SettingError("--cpus-per-run must be above 0", f"{self.cpus_per_run:g}")
        if self.gpus_per_run is not None and self.gpus_per_run < 0:
            raise SettingError("--gpus-per-run must be at least 0", f"{self.gpus_per_run:g}")

    @property
    def devices(self) -> tuple[str, ...]:
        """The GPUs of this machine that the runs share."""
        if self.gpus_per_run == 0:
            return ()
        return visible_gpus() if self.gpus is None else tuple(self.gpus)

    @property
    def at_once(self) -> int | None:
        """How many runs at a time, where that is known without the cluster."""
        if self.engine == "inline":
            return 1
        if self.engine == "ray" and (self.jobs is None or self.address is not None):
            return self.jobs
        return self.jobs or jobs_at_once(len(self.devices), self.cpus_per_run, self.gpus_per_run)

    def make(self, store: Store, train: Train = train_run) -> Engine:
        """The engine, ready for jobs."""
        if self.engine == "inline":
            return Inline(store, train)
        if self.engine == "local":
            jobs = self.at_once or 1
            threads = None if self.cpus_per_run is None else max(1, int(self.cpus_per_run))
            return LocalProcesses(store, train, jobs=jobs, gpus=self.devices, threads=threads)
        from orda.experiments.engine.cluster import RayTasks

        return RayTasks(
            store,
            train,
            address=self.address,
            cpus=1.0 if self.cpus_per_run is None else self.cpus_per_run,
            gpus=self.gpus_per_run,
            jobs=self.jobs,
        )
