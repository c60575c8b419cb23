"""The sweep: which run next, what becomes of those that end, until there is nothing left to do.

todo ──submit──> engine ──Ended──> done
  ^                  ├──> failed      the sweep goes on; recorded, told at the end
  │                  ├──> lost        the process died: tried again, ``retries`` times
  └── stale ── elsewhere <── taken    another sweep has it; looked at until it is done, or its process is gone
"""

from __future__ import annotations

import time
from collections.abc import Callable

from orda.errors import RunError
from orda.experiments.engine.base import Ended, Engine
from orda.experiments.engine.summary import Summary
from orda.experiments.jobs import Job
from orda.experiments.run import End, Outcome, is_full
from orda.experiments.store import State, Store
from orda.training.interrupts import Interrupts, Stop

RETRIES = 2
STOP_GRACE = 120.0  # seconds that running jobs have for their checkpoints

Tell = Callable[[Summary, Ended | None], None]


def run_sweep(
    summary: Summary,
    store: Store,
    engine: Engine,
    *,
    retries: int = RETRIES,
    max_failures: int | None = None,
    tell: Tell = lambda summary, ended: None,
    poll: float = 1.0,
) -> Summary:
    """Do what the ``survey`` found to do; ``tell`` hears of every end, and at least every ``poll`` seconds.

    A signal (Ctrl-C, SIGTERM) or a ``KeyboardInterrupt`` stops it in order: the running jobs write their checkpoints.
    A second one leaves them to the engine's ``close``, which ends them at once.
    """
    sweep = _Sweep(summary, store, engine, retries, max_failures, tell)
    with Interrupts() as signals:
        hurry = False
        try:
            sweep.set_aside()
            sweep.work(poll, signals)
        except KeyboardInterrupt as error:
            summary.stopped = "interrupted"
            hurry = signals.signum is not None and not isinstance(error, Stop)
        summary.signum = signals.signum
        if summary.running and not hurry:
            sweep.stop()
    sweep.give_up()
    return summary


class _Sweep:
    """The bookkeeping of ``run_sweep``."""

    def __init__(
        self, summary: Summary, store: Store, engine: Engine, retries: int, max_failures: int | None, tell: Tell
    ) -> None:
        self.summary, self.store, self.engine = summary, store, engine
        self.retries, self.max_failures, self.tell = retries, max_failures, tell
        self.attempts: dict[str, int] = {}
        self.looked = time.monotonic()

    def set_aside(self) -> None:
        """Move damaged results out of the way of their runs."""
        s = self.summary
        s.set_aside += [f"{r.entry.fault}; now {self.store.set_aside(r.place.digest).name}" for r in s.damaged]

    def work(self, poll: float, signals: Interrupts) -> None:
        """Until nothing is left, or something stops it."""
        s = self.summary
        self.tell(s, None)
        while self.goes_on():
            signals.check()
            self.fill()
            ended = self.engine.wait(poll) if s.running else _rest(poll if s.elsewhere else 0)
            for one in ended:
                self.note(one)
                self.tell(s, one)
            if not ended:
                self.tell(s, None)
            self.look_elsewhere(poll)

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
        times = self.attempts[job.digest]
        if times <= self.retries:
            self.summary.todo.append(job)
            return
        message = f"{outcome.message}, {times} times" if times > 1 else outcome.message
        self.summary.failed.append((job, message))
        try:
            if self.store.state(job.digest) is not State.RUNNING:
                self.store.fail(job.digest, message)
        except RunError as error:
            if not is_full(error):
                raise
            self.summary.stopped = f"no room on the disk ({error})"

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

    def stop(self) -> None:
        """Let the running jobs write their checkpoints; a second interrupt, or too long a wait, cuts it short."""
        try:
            self.tell(self.summary, None)
            self.engine.stop()
            until = time.monotonic() + STOP_GRACE
            while self.summary.running and time.monotonic() < until:
                for ended in self.engine.wait(1.0):
                    self.note(ended)
                    self.tell(self.summary, ended)
        except KeyboardInterrupt:
            pass

    def give_up(self) -> None:
        """What still runs is the engine's to end, and a later sweep's to do."""
        self.summary.todo.extendleft(self.summary.running.values())
        self.summary.running.clear()


def _rest(seconds: float) -> list[Ended]:
    time.sleep(seconds)
    return []
