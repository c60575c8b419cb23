"""One job after another in this process: for tests, for a debugger, and where processes cannot be started."""

from __future__ import annotations

from collections import deque

from orda.experiments.engine.base import Ended, Engine
from orda.experiments.jobs import Job
from orda.experiments.run import End, Outcome, Train, execute, train_run
from orda.experiments.store import Store


class Inline(Engine):
    """No processes, no machinery."""

    def __init__(self, store: Store, train: Train = train_run) -> None:
        self.store, self.train = store, train
        self._line: deque[Job] = deque()
        self._stopping = False

    @property
    def slots(self) -> int:
        return 1

    def submit(self, job: Job) -> None:
        self._line.append(job)

    def wait(self, seconds: float) -> list[Ended]:
        del seconds
        if not self._line:
            return []
        job = self._line.popleft()
        return [Ended(job, Outcome(End.STOPPED) if self._stopping else execute(job, self.store, self.train))]

    def stop(self) -> None:
        self._stopping = True

    def close(self) -> None:
        self._line.clear()
