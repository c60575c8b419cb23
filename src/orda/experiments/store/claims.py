"""Who does a run: claims, so that many processes on many machines share one folder of runs.

A claim is a file ``claim-G`` in the run's folder. G counts the attempts; the highest is the one that holds. Its first
line says which process; then come a dot with every heartbeat, and "released" when the process is through.

    take       create claim-(G+1), which the file system lets exactly one process do
    heartbeat  one more dot; and a look for claim-(G+1): whoever finds it has lost the run and must let go of it
    stale      of a process of this machine that is dead; or of another machine with no new dot for ``patience`` seconds
               of the observer's own monotonic clock. Nobody compares clocks or reads the times of files.

No claim that ever held is deleted or renamed, so of two processes that come to the same conclusion at once, one wins.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from orda.experiments.store.processes import Process, fate

PREFIX = "claim-"
RELEASED = b"\nreleased\n"
BEAT = 5.0  # seconds between heartbeats
PATIENCE = 60.0  # seconds without a heartbeat after which a claim of another machine is stale


def claim_path(folder: Path, generation: int) -> Path:
    return folder / f"{PREFIX}{generation}"


def generation_of(name: str) -> int:
    """G of "claim-G"; 0 for other names."""
    number = name.removeprefix(PREFIX)
    return int(number) if name.startswith(PREFIX) and number.isdecimal() else 0


def highest(names: list[str]) -> int:
    """The generation of the claim that holds among the names of a folder's files; 0 where there is none."""
    return max((generation_of(name) for name in names), default=0)


@dataclass
class Watch:
    """Judges claims, and remembers when it last saw each of them move."""

    patience: float = PATIENCE
    clock: Callable[[], float] = time.monotonic
    _seen: dict[Path, tuple[int, float]] = field(default_factory=dict)

    def active(self, path: Path) -> bool:
        """Whether a process is at work under this claim, as far as can be known from here."""
        try:
            content = path.read_bytes()
        except OSError:
            return False
        if content.endswith(RELEASED):
            self._seen.pop(path, None)
            return False
        holder = holder_of(content)
        known = "unknown" if holder is None else fate(holder)
        return known == "alive" if known != "unknown" else self._moves(path, len(content))

    def _moves(self, path: Path, size: int) -> bool:
        now = self.clock()
        last_size, since = self._seen.get(path, (None, now))
        if size != last_size:
            self._seen[path] = (size, now)
            return True
        return now - since < self.patience


def holder_of(content: bytes) -> Process | None:
    """The process in a claim's first line; ``None`` if it is not there (yet)."""
    line, newline, _ = content.partition(b"\n")
    if not newline:
        return None
    try:
        return Process.from_dict(json.loads(line))
    except ValueError:
        return None


class Claim:
    """A claim that this process holds; it beats in a thread of its own until it is released.

    ``lost`` is set, and ``on_loss`` called in that thread, if another process has taken the run over.
    """

    def __init__(self, path: Path, beat: float, on_loss: Callable[[], None] | None = None) -> None:
        self.path, self.generation = path, generation_of(path.name)
        self.lost = threading.Event()
        self._beat, self._on_loss = beat, on_loss
        self._through = threading.Event()
        self._thread = threading.Thread(target=self._keep_beating, name=f"heartbeat {path.parent.name}", daemon=True)
        self._thread.start()

    @classmethod
    def take(
        cls, folder: Path, watch: Watch, beat: float = BEAT, on_loss: Callable[[], None] | None = None
    ) -> Claim | None:
        """The next claim on the folder, or ``None`` where another process holds it or was quicker."""
        last = highest(os.listdir(folder))
        if last and watch.active(claim_path(folder, last)):
            return None
        path = claim_path(folder, last + 1)
        try:
            file = open(path, "xb", buffering=0)  # noqa: SIM115
        except FileExistsError:
            return None
        with file:
            try:
                file.write(json.dumps(Process.this().to_dict()).encode() + b"\n")
            except OSError:
                path.unlink()  # a full disk; this claim never held
                raise
        if highest(os.listdir(folder)) > last + 1:  # we looked before another took one, and created after it
            _append(path, RELEASED)
            return None
        return cls(path, beat, on_loss)

    def release(self) -> None:
        """Stop beating, and say that this process is through."""
        if self._through.is_set():
            return
        self._through.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        if not self.lost.is_set():
            _append(self.path, RELEASED)

    def _keep_beating(self) -> None:
        while not self._through.wait(self._beat):
            if not self.path.exists() or claim_path(self.path.parent, self.generation + 1).exists():
                self.lost.set()
                if self._on_loss is not None:
                    self._on_loss()
                return
            _append(self.path, b".")


def _append(path: Path, content: bytes) -> None:
    """Opened and closed every time, so that other machines see it. Where it cannot be written (a full disk), the claim
    only looks older than it is."""
    try:
        with open(path, "r+b", buffering=0) as file:  # never creates
            file.seek(0, os.SEEK_END)
            file.write(content)
    except OSError:
        pass
