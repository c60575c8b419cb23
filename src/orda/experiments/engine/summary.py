"""Where a sweep stands: what is done, what failed, what is left."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from orda.experiments.jobs import Job
from orda.experiments.run import Outcome
from orda.experiments.store import Record, State, Store


@dataclass
class Summary:
    """How far the sweep is; in the end, how it ended. Every job is in exactly one of the first seven."""

    todo: deque[Job] = field(default_factory=deque)
    running: dict[str, Job] = field(default_factory=dict)  # by digest; with Ray, some of them wait for room
    elsewhere: dict[str, Job] = field(default_factory=dict)  # with another sweep
    before: list[Job] = field(default_factory=list)  # done when this sweep began
    failed_before: list[tuple[Job, str]] = field(default_factory=list)  # and not tried again
    done: list[tuple[Job, Outcome]] = field(default_factory=list)
    failed: list[tuple[Job, str]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)  # of all jobs, as the survey found them
    damaged: list[Record] = field(default_factory=list)  # of these, results that cannot be used; their jobs are to do
    set_aside: list[str] = field(default_factory=list)  # where those went, and what was wrong with them
    stopped: str | None = None  # why it ended early
    signum: int | None = None  # of the signal that ended it

    @property
    def total(self) -> int:
        over = len(self.before) + len(self.failed_before) + len(self.done) + len(self.failed)
        return over + len(self.todo) + len(self.running) + len(self.elsewhere)

    @property
    def complete(self) -> bool:
        """Whether every run is done."""
        return len(self.before) + len(self.done) == self.total


def survey(jobs: Iterable[Job], store: Store, *, limit: int | None = None, retry_failed: bool = False) -> Summary:
    """What the disk says of the jobs, and which of them are to be done: the first ``limit``, in their order.

    Runs that failed before stay as they are, unless ``retry_failed``.
    """
    found = Summary()
    for record in store.records({job.digest: job for job in jobs}.values()):
        job, entry = record.place, record.entry
        assert isinstance(job, Job)
        found.records.append(record)
        if entry.state is State.DONE:
            found.before.append(job)
        elif entry.state is State.FAILED and not retry_failed:
            found.failed_before.append((job, entry.fault or ""))
        elif limit is None or len(found.todo) < limit:
            found.todo.append(job)
            if entry.state is State.DAMAGED:
                found.damaged.append(record)
    return found
