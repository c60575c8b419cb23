"""Ctrl-C and SIGTERM: noted at once, acted on where the state of the run is whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """A run was stopped from outside; its checkpoint is written, and the same call goes on from there."""

    def __init__(self, run: Path, step: int, signum: int) -> None:
        super().__init__(f"stopped after step {step}; the same command goes on from there ({run})")
        self.run, self.step, self.signum = run, step, signum


class Stop(KeyboardInterrupt):
    """Raised between two steps, or where nothing is being changed."""


class Interrupts:
    """While active, a first signal is only noted; ``check`` acts on it. A second one interrupts wherever it falls.

    Elsewhere than in the main thread, where signals do not arrive, it does nothing.
    """

    def __init__(self) -> None:
        self.signum: int | None = None
        self._at_once = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = {signum: signal.signal(signum, self._note) for signum in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for signum, handler in self._before.items():
            signal.signal(signum, handler)

    def check(self) -> None:
        """Stop here if a signal came."""
        if self.signum is not None:
            raise Stop

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Nothing is changed inside, so a signal may stop it anywhere."""
        self.check()
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def _note(self, signum: int, frame: FrameType | None) -> None:
        del frame
        again, self.signum = self.signum is not None, signum
        if again:
            raise KeyboardInterrupt
        if self._at_once:
            raise Stop
