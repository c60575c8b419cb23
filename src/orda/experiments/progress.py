"""What a person sees of a sweep while it goes on: a bar with rates on a terminal, a line for every run elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from orda.experiments.engine import Ended, Summary
from orda.experiments.estimate import Pace, in_words
from orda.experiments.run import End

LOOK = 1.0  # seconds between two estimates of the time left


class Meter:
    """How fast a sweep goes, and how long it will go on."""

    def __init__(self, pace: Pace, at_once: int | None) -> None:
        self.pace, self.at_once = pace, at_once
        self._began = time.monotonic()
        self._ended = 0
        self._work = 0.0  # seconds of training in the runs that ended here
        self._left: tuple[float, float | None] = (-LOOK, None)  # when it was estimated, and what

    def note(self, ended: Ended) -> None:
        """A run has ended."""
        if ended.outcome.end in (End.DONE, End.FAILED):
            self._ended += 1
        if ended.outcome.end is End.DONE:
            self._work += ended.outcome.seconds
            self.pace.add(ended.job, ended.outcome.seconds)

    @property
    def rate(self) -> str:
        """ "14.2 runs/min", once there is one."""
        if not self._ended:
            return ""
        per_minute = 60 * self._ended / (time.monotonic() - self._began)
        return f"{per_minute:.1f} runs/min" if per_minute >= 1 else f"{60 * per_minute:.1f} runs/h"

    def left(self, summary: Summary) -> float | None:
        """Seconds until all is done: the work left by the work done a second here, or by the runs at once."""
        now = time.monotonic()
        if now - self._left[0] >= LOOK:
            self._left = now, self._estimate(summary, now - self._began)
        return self._left[1]

    def _estimate(self, summary: Summary, elapsed: float) -> float | None:
        work = self.pace.work(summary.todo)
        begun = self.pace.work(summary.running.values())
        speed = self._work / elapsed if self._ended else self.at_once
        return None if work is None or begun is None or not speed else (work + begun / 2) / speed


class Quiet:
    """Says nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def __call__(self, summary: Summary, ended: Ended | None) -> None:
        pass


class Lines(Quiet):
    """A line for every run that ended, for logs."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self._told_stop = False

    def __call__(self, summary: Summary, ended: Ended | None) -> None:
        if summary.stopped and not self._told_stop:
            self._told_stop = True
            print(stopping(summary), file=sys.stderr, flush=True)
        if ended is not None:
            self.meter.note(ended)
            left = self.meter.left(summary)
            pace = [self.meter.rate] + ([] if left is None else [f"{in_words(left)} left"])
            line = f"{over(summary)}/{summary.total}  {how(ended)}  ({', '.join(filter(None, pace)) or 'begun'})"
            print(line, file=sys.stderr, flush=True)


class Bar(Quiet):
    """A bar with counts, rate and the time left; failures stay above it."""

    def __init__(self, meter: Meter, name: str) -> None:
        self.meter, self._name, self._told_stop = meter, name, False
        self.console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[counts]}"),
            TextColumn("[cyan]{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=self.console,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, summary: Summary, ended: Ended | None) -> None:
        if summary.stopped and not self._told_stop:
            self._told_stop = True
            self.console.print(stopping(summary), style="yellow", markup=False, highlight=False)
        if ended is not None:
            self.meter.note(ended)
            if ended.outcome.end in (End.FAILED, End.LOST):
                self.console.print(f"[red]{ended.outcome.end}[/]  {escape(how(ended))}", highlight=False)
        left = self.meter.left(summary)
        if self._task is None:
            self._task = self._progress.add_task(self._name, counts="", rate="", left="")
        self._progress.update(
            self._task,
            completed=over(summary),
            total=summary.total,
            counts=counts(summary),
            rate=self.meter.rate,
            left="" if left is None else f"{in_words(left)} left",
        )


def display(meter: Meter, name: str, quiet: bool = False) -> Quiet:
    """A bar on a terminal, lines elsewhere."""
    if quiet:
        return Quiet()
    return Bar(meter, name) if sys.stderr.isatty() else Lines(meter)


def over(summary: Summary) -> int:
    """How many runs have ended, one way or the other."""
    return len(summary.before) + len(summary.failed_before) + len(summary.done) + len(summary.failed)


def counts(summary: Summary) -> str:
    """ "2 running, 1 failed"."""
    failed = len(summary.failed) + len(summary.failed_before)
    named = {"running": len(summary.running), "in other sweeps": len(summary.elsewhere), "[red]failed[/]": failed}
    return ", ".join(f"{number} {name}" for name, number in named.items() if number)


def how(ended: Ended) -> str:
    """The run, and how it ended."""
    outcome = ended.outcome
    match outcome.end:
        case End.DONE:
            words = f"done in {in_words(outcome.seconds)}" + (f" ({outcome.message})" if outcome.message else "")
        case End.FAILED | End.FULL:
            words = f"failed: {outcome.message}"
        case End.LOST:
            words = f"lost: {outcome.message}"
        case End.TAKEN:
            words = "another sweep has it"
        case End.STOPPED:
            words = "stopped"
    return f"{ended.job.name}: {words}"


def stopping(summary: Summary) -> str:
    """What happens now that the sweep is to end early."""
    waiting = f"; waiting for the checkpoints of {len(summary.running)} runs" if summary.running else ""
    return f"stopping, {summary.stopped}{waiting}" + (" (Ctrl-C again: at once)" if waiting else "")
