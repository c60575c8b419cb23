"""What a worker prints (warnings, crashes of compiled code) goes into ``log.txt`` of the run that it is at."""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOG = "log.txt"


@contextmanager
def output_to(folder: Path) -> Iterator[None]:
    """Inside, whatever this process writes to its standard output and error is added to ``folder/log.txt``.

    Where that cannot be written, it goes where it went.
    """
    kept: list[tuple[int, int]] = []
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        kept = [(number, os.dup(number)) for number in (1, 2)]
        for number, _ in kept:
            os.dup2(log, number)
        os.close(log)
    try:
        with suppress(OSError, RuntimeError):  # no standard error at all
            faulthandler.enable()
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        for number, before in kept:
            os.dup2(before, number)
            os.close(before)
