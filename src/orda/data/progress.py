"""A progress bar on the terminal, or none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    text: str, total: int | None, show: bool | None = None, *, done: int = 0, bytes_: bool = False
) -> Iterator[Callable[[int], None]]:
    """Gives a function to call with each advance. ``show=None`` shows the bar where standard error is a terminal."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda step: None
        return
    from rich.console import Console  # only where there is something to show
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    counts: list[ProgressColumn] = [DownloadColumn(), TransferSpeedColumn()] if bytes_ else [MofNCompleteColumn()]
    bar = Progress(
        TextColumn("{task.description}", markup=False),  # names of folders may hold brackets
        BarColumn(),
        *counts,
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task(text, total=total, completed=done)
        yield lambda step: bar.advance(task, step)
