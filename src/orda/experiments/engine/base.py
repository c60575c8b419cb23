"""The contract of an engine: it takes jobs, does them somewhere, and says how each ended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from orda.experiments.jobs import Job
from orda.experiments.run import Outcome


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt at a job is over."""

    job: Job
    outcome: Outcome


class Engine(ABC):
    """Does at most ``slots`` jobs at a time, each by ``orda.experiments.run.execute``."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many jobs it can be given before one of them ends."""

    @abstractmethod
    def submit(self, job: Job) -> None:
        """Begin the job, or put it in line."""

    @abstractmethod
    def wait(self, seconds: float) -> list[Ended]:
        """What has ended; returns as soon as something has, or after ``seconds``."""

    @abstractmethod
    def stop(self) -> None:
        """Ask all jobs to write their checkpoints and end; ``wait`` then tells of them."""

    @abstractmethod
    def close(self) -> None:
        """End at once whatever is still at work."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
