"""One run of a sweep, wherever it is done: claimed, trained, recorded.

Every engine calls ``execute`` and nothing else, so that a run in this process, in a process beside it, or on another
machine leaves the same folder behind. What trains is passed in: ``orda.training.train``, or anything with its face.
"""

from __future__ import annotations

import errno
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from orda.errors import Diverged, RunError
from orda.experiments.jobs import Job
from orda.experiments.store import State, Store
from orda.training import RunResult, TrainConfig

Train = Callable[[TrainConfig, Path], RunResult]
FULL = (errno.ENOSPC, errno.EDQUOT)


class End(StrEnum):
    """How an attempt at a run ended."""

    DONE = "done"
    FAILED = "failed"  # by an exception, which is on record
    TAKEN = "taken"  # another process has it
    STOPPED = "stopped"  # from outside; it goes on from its checkpoint
    FULL = "full"  # no room on the disk: not the run's fault, and nobody else's turn
    LOST = "lost"  # the process died


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attempt."""

    end: End
    message: str = ""
    seconds: float = 0.0  # of training in the run, as far as is known


def train_run(config: TrainConfig, folder: Path) -> RunResult:
    """``orda.training.train``, without a progress bar."""
    from orda.training import train

    return train(config, folder, progress=False)


def execute(job: Job, store: Store, train: Train, on_loss: Callable[[], None] | None = None) -> Outcome:
    """Do a run unless it is done or another process is at it. Exceptions of the run become its record, not ours."""
    try:
        claim = store.claim(job.digest, on_loss)
    except RunError as error:
        return Outcome(End.FULL if is_full(error) else End.FAILED, str(error))
    if claim is None:
        return Outcome(End.TAKEN)
    try:
        if store.state(job.digest) is State.DONE:
            return Outcome(End.DONE)
        outcome = _train(job, store, train)
        return Outcome(End.TAKEN) if claim.lost.is_set() else outcome
    finally:
        claim.release()


def _train(job: Job, store: Store, train: Train) -> Outcome:
    try:
        config = job.config()
        if config.digest() != job.digest:
            raise RunError("a run's folder has its digest", f"{job.digest} for {config.digest()}", "Report this")
        train(config, store.folder(job.digest))
    except KeyboardInterrupt as stop:
        return Outcome(End.STOPPED, str(stop))
    except Diverged:
        pass  # that is a result, and on record
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        if is_full(error):
            return Outcome(End.FULL, message)
        return _recorded(job, store, message, traceback.format_exc())
    entry = store.read(job.digest)
    if entry.score is None:
        return _recorded(job, store, entry.fault or "training ended without a result", "")
    return Outcome(End.DONE, "diverged" if entry.score.diverged else "", entry.score.seconds)


def _recorded(job: Job, store: Store, message: str, trace: str) -> Outcome:
    try:
        store.fail(job.digest, message, trace)
    except RunError as error:
        if is_full(error):
            return Outcome(End.FULL, str(error))
        message += f" (and it could not be recorded: {error})"
    return Outcome(End.FAILED, message)


def is_full(error: BaseException) -> bool:
    """Whether a full disk is behind an error."""
    return any(isinstance(cause, OSError) and cause.errno in FULL for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__
