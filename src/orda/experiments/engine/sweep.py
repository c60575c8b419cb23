"""The sweep: which run next, what becomes of those that end, until there is nothing left to do.

todo ──submit──> engine ──Ended──> done
  ^                  ├──> failed      the sweep goes on; recorded, told at the end
  │                  ├──> lost        the process died: tried again, ``retries`` times
  └── stale ── elsewhere <── taken    another sweep has it; looked at until it is done, or its process is gone
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from orda.experiments.engine.base import Ended, Engine
from orda.experiments.jobs import Job
from orda.experiments.run import End, Outcome
from orda.experiments.store import State, Store

RETRIES = 2
STOP_GRACE = 120.0  # seconds that running jobs have for their checkpoints


@dataclass
class Summary:
    """How far the sweep is; in the end, how it ended. Every job is in exactly one of these."""

    todo: deque[Job] = field(default_factory=deque)
    running: dict[str, Job] = field(default_factory=dict)  # by digest
    elsewhere: dict[str, Job] = field(default_factory=dict)  # with another sweep
    before: int = 0  # done when this sweep began
    done: list[tuple[Job, Outcome]] = field(default_factory=list)
    failed: list[tuple[Job, str]] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)  # damaged results, and where they went
    stopped: str | None = None  # why it ended early

    @property
    def total(self) -> int:
        left = len(self.todo) + len(self.running) + len(self.elsewhere)
        return self.before + len(self.done) + len(self.failed) + left

    @property
    def complete(self) -> bool:
        """Whether every run is done."""
        return self.before + len(self.done) == self.total


Tell = Callable[[Summary, Ended | None], None]


def run_sweep(
    jobs: Iterable[Job],
    store: Store,
    engine: Engine,
    *,
    retries: int = RETRIES,
    max_failures: int | None = None,
    limit: int | None = None,
    tell: Tell = lambda summary, ended: None,
    poll: float = 1.0,
) -> Summary:
    """Do the jobs that are not done, the first ``limit`` of them; ``tell`` hears of every end and at least every
    ``poll`` seconds. A ``KeyboardInterrupt`` stops it in order: the running jobs write their checkpoints."""
    sweep = _Sweep(store, engine, retries, max_failures)
    try:
        sweep.survey(jobs, limit)
        tell(sweep.summary, None)
        while sweep.goes_on():
            sweep.fill()
            ended = sweep.engine.wait(poll) if sweep.summary.running else _rest(poll)
            for one in ended:
                sweep.note(one)
                tell(sweep.summary, one)
            if not ended:
                tell(sweep.summary, None)
            sweep.look_elsewhere(poll)
    except KeyboardInterrupt:
        sweep.summary.stopped = "interrupted"
    if sweep.summary.running:
        sweep.stop(tell)
    return sweep.summary


def _rest(seconds: float) -> list[Ended]:
    time.sleep(seconds)
    return []


class _Sweep:
    """The bookkeeping of ``run_sweep``."""

    def __init__(self, store: Store, engine: Engine, retries: int, max_failures: int | None) -> None:
        self.store, self.engine, self.retries, self.max_failures = store, engine, retries, max_failures
        self.summary = Summary()
        self.attempts: dict[str, int] = {}
        self.looked = time.monotonic()

    def survey(self, jobs: Iterable[Job], limit: int | None) -> None:
        """Sort the jobs by what the disk says; set damaged results aside."""
        for digest, job in {job.digest: job for job in jobs}.items():
            entry = self.store.read(digest)
            if entry.state is State.DONE:
                self.summary.before += 1
            elif limit is None or len(self.summary.todo) < limit:
                if entry.state is State.DAMAGED:
                    self.summary.set_aside.append(f"{entry.fault}; now {self.store.set_aside(digest).name}")
                self.summary.todo.append(job)

    def goes_on(self) -> bool:
        s = self.summary
        if self.max_failures is not None and len(s.failed) >= self.max_failures and s.stopped is None:
            s.stopped = f"{len(s.failed)} runs failed (--max-failures)"
        return s.stopped is None and bool(s.todo or s.running or s.elsewhere)

    def fill(self) -> None:
        """Give the engine what it can take of what is still to be done."""
        s = self.summary
        while s.todo and len(s.running) < self.engine.slots:
            job = s.todo.popleft()
            state = self.store.state(job.digest)
            if state is State.DONE:
                s.done.append((job, Outcome(End.DONE, "by another sweep")))
            elif state is State.RUNNING:
                s.elsewhere[job.digest] = job
            else:
                s.running[job.digest] = job
                self.engine.submit(job)

    def note(self, ended: Ended) -> None:
        """What becomes of a job whose attempt ended."""
        s, job, outcome = self.summary, ended.job, ended.outcome
        del s.running[job.digest]
        match outcome.end:
            case End.DONE:
                s.done.append((job, outcome))
            case End.FAILED:
                s.failed.append((job, outcome.message))
            case End.TAKEN:
                s.elsewhere[job.digest] = job
            case End.LOST:
                self._try_again(job, outcome)
            case End.STOPPED:
                s.todo.appendleft(job)
                s.stopped = s.stopped or "interrupted"
            case End.FULL:
                s.todo.appendleft(job)
                s.stopped = f"no room on the disk ({outcome.message})"

    def _try_again(self, job: Job, outcome: Outcome) -> None:
        self.attempts[job.digest] = self.attempts.get(job.digest, 0) + 1
        if self.attempts[job.digest] <= self.retries:
            self.summary.todo.append(job)
            return
        message = f"{outcome.message}, {self.attempts[job.digest]} times"
        if self.store.state(job.digest) is not State.RUNNING:
            self.store.fail(job.digest, message)
        self.summary.failed.append((job, message))

    def look_elsewhere(self, every: float) -> None:
        """What became of runs that another sweep has: done, failed, or free again."""
        if time.monotonic() - self.looked < every:
            return
        self.looked = time.monotonic()
        s = self.summary
        for digest, job in list(s.elsewhere.items()):
            state = self.store.state(digest)
            if state is State.RUNNING:
                continue
            del s.elsewhere[digest]
            if state is State.DONE:
                s.done.append((job, Outcome(End.DONE, "by another sweep")))
            elif state is State.FAILED:
                s.failed.append((job, f"in another sweep: {self.store.failure(digest).get('error')}"))
            else:
                s.todo.append(job)

    def stop(self, tell: Tell) -> None:
        """Let the running jobs write their checkpoints; a second interrupt, or too long a wait, cuts it short."""
        self.engine.stop()
        until = time.monotonic() + STOP_GRACE
        try:
            while self.summary.running and time.monotonic() < until:
                for ended in self.engine.wait(1.0):
                    self.note(ended)
                    tell(self.summary, ended)
        except KeyboardInterrupt:
            pass
        for job in self.summary.running.values():
            self.summary.todo.appendleft(job)
        self.summary.running.clear()
