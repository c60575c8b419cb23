"""A run is a folder: the names of its files, and how they are written so that nothing half-written is ever read.

config.yaml       the resolved configuration
metrics.jsonl     losses and accuracies, one JSON object a line
plan/plans.jsonl  every plan's diagnostics
checkpoint.pt     what it takes to go on, and the selected weights
result.json       the outcome; there once the run is over
tensorboard/      curves, if asked for
lock              who is training here
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orda.errors import RunError


@dataclass(frozen=True, slots=True)
class RunPaths:
    """The files of the run in the folder ``root``."""

    root: Path

    @property
    def config(self) -> Path:
        return self.root / "config.yaml"

    @property
    def metrics(self) -> Path:
        return self.root / "metrics.jsonl"

    @property
    def plans(self) -> Path:
        return self.root / "plan" / "plans.jsonl"

    @property
    def checkpoint(self) -> Path:
        return self.root / "checkpoint.pt"

    @property
    def result(self) -> Path:
        return self.root / "result.json"

    @property
    def tensorboard(self) -> Path:
        return self.root / "tensorboard"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    def clear(self) -> None:
        """Remove what a run has written here; other files stay."""
        with faults_named(f"cannot clear {self.root}", "Choose another folder with run_dir (--out)"):
            for path in (self.result, self.checkpoint, self.metrics, self.plans, self.config):
                path.unlink(missing_ok=True)
            for part in self.root.glob(".*.part"):
                part.unlink(missing_ok=True)
            shutil.rmtree(self.tensorboard, ignore_errors=True)

    def make(self) -> None:
        """Make the folder, and find out now whether it can be written."""
        with faults_named(f"the run's folder must be writable, {self.root}", "Choose another with run_dir (--out)"):
            self.plans.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root) as file:
                file.write(b"0")


def write_whole(path: Path, content: bytes | memoryview) -> None:
    """Written beside and moved into place: readers see the old content or the new, whatever happens meanwhile."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with faults_named(f"cannot write {path}", "Make room there and start again: what was there before is untouched"):
        try:
            with open(part, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)


class Lines:
    """A ``.jsonl`` file that grows. What a resumed run will write again is cut off first."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[dict[str, Any]]:
        """The records; a last line that was cut short does not count."""
        if not self.path.exists():
            return []
        with _writing(self.path), open(self.path, "rb") as file:
            return list(takewhile_whole(file))

    def append(self, record: Mapping[str, Any]) -> None:
        """One record as one line."""
        line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
        with _writing(self.path), open(self.path, "ab", buffering=0) as file:
            _write_all(file.write, line.encode())

    def sync(self) -> None:
        """Wait until the lines are on the disk."""
        if self.path.exists():
            with _writing(self.path), open(self.path, "rb+") as file:
                os.fsync(file.fileno())

    def keep(self, wanted: Callable[[dict[str, Any]], bool]) -> None:
        """Keep the first lines, as long as they are whole and ``wanted``."""
        if not self.path.exists():
            return
        end = 0
        with _writing(self.path), open(self.path, "rb+") as file:
            for line in file:
                record = _parsed(line)
                if record is None or not wanted(record):
                    break
                end += len(line)
            file.truncate(end)


def takewhile_whole(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The records of lines up to the first that is not one."""
    for line in lines:
        record = _parsed(line)
        if record is None:
            return
        yield record


def _write_all(write: Callable[[bytes], int | None], content: bytes) -> None:
    while content:
        content = content[write(content) or 0 :]


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _writing(path: Path) -> Any:
    return faults_named(f"cannot write {path}", "Make room there and start again: the run goes on from its checkpoint")


@contextmanager
def faults_named(rule: str, remedy: str) -> Iterator[None]:
    """A fault of the file system becomes a ``RunError`` with a remedy."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise RunError(rule, "no space left on the device" if full else str(error), remedy) from error
