"""What a person sees of a run while it goes on: a bar on a terminal, a line per evaluation elsewhere, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from orda.training.evaluate import Evaluation


class Display(Protocol):
    """What the loop says while it goes on."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def begin(self, step: int, steps: int) -> None:
        """So many steps are done of so many."""

    def doing(self, what: str) -> None:
        """What happens from now on: "planning", "training", "evaluating"."""

    def advance(self, step: int) -> None:
        """A step is done."""

    def losses(self, means: Mapping[str, float]) -> None:
        """Mean losses of the last steps."""

    def evaluation(self, evaluation: Evaluation, selected: bool) -> None:
        """Accuracies."""


def make_display(progress: bool | None) -> Display:
    """``None``: a bar on a terminal and nothing elsewhere; ``True``: lines where there is no terminal."""
    terminal = sys.stderr.isatty()
    if progress is False or (progress is None and not terminal):
        return Quiet()
    return Bar() if terminal else PlainLines()


class Quiet:
    """Says nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self, step: int, steps: int) -> None:
        pass

    def doing(self, what: str) -> None:
        pass

    def advance(self, step: int) -> None:
        pass

    def losses(self, means: Mapping[str, float]) -> None:
        pass

    def evaluation(self, evaluation: Evaluation, selected: bool) -> None:
        pass


class PlainLines(Quiet):
    """One line per evaluation, for logs."""

    def __init__(self) -> None:
        self._steps = 0
        self._loss = ""

    def begin(self, step: int, steps: int) -> None:
        self._steps = steps
        if step:
            print(f"going on after step {step} of {steps}", file=sys.stderr, flush=True)

    def losses(self, means: Mapping[str, float]) -> None:
        self._loss = f"loss {means['loss']:.4g}  "

    def evaluation(self, evaluation: Evaluation, selected: bool) -> None:
        mark = "  *" if selected else ""
        print(
            f"step {evaluation.step}/{self._steps}  {self._loss}{accuracies(evaluation)}{mark}",
            file=sys.stderr,
            flush=True,
        )


class Bar(Quiet):
    """A bar with loss, accuracies, steps per second and the time left."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description:<10}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[loss]}"),
            TextColumn("{task.fields[accuracy]}"),
            Speed(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, step: int, steps: int) -> None:
        self._task = self._progress.add_task("", total=steps, completed=step, loss="", accuracy="")

    def doing(self, what: str) -> None:
        if self._task is not None:
            self._progress.update(self._task, description=what)

    def advance(self, step: int) -> None:
        if self._task is not None:
            self._progress.update(self._task, completed=step)

    def losses(self, means: Mapping[str, float]) -> None:
        if self._task is not None:
            self._progress.update(self._task, loss=f"loss {means['loss']:.3g}")

    def evaluation(self, evaluation: Evaluation, selected: bool) -> None:
        if self._task is not None:
            self._progress.update(self._task, accuracy=accuracies(evaluation))


class Speed(ProgressColumn):
    """Steps per second."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:.1f} steps/s", style="cyan")


def accuracies(evaluation: Evaluation) -> str:
    return f"source {evaluation.source_validation:.1%}  target {evaluation.target_accuracy:.1%}"
