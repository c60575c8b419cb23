"""One process works in a folder at a time."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from orda.errors import RunError
from orda.training.paths import faults_named

if sys.platform != "win32":
    import fcntl


@contextmanager
def locked(path: Path, doing: str = "train") -> Iterator[None]:
    """Hold the lock, or a ``RunError`` that says who does. ``doing``: what only one process at a time may.

    The lock is the operating system's and dies with its process, however that ends. A file system without locks falls
    back on the process number in the file: of a process of this machine that is dead, it is taken over.
    """
    with faults_named(f"cannot lock {path}", "Choose another folder with run_dir (--out)"):
        file = path.open("a+")
    with file:
        if not _take(file):
            raise RunError(
                f"one process at a time may {doing} in a folder",
                f"{path.parent}, where {_describe(_owner(file))} is at work",
                f"Wait for it, stop it, or choose another folder (--out); if it is long gone, delete {path}",
            )
        with faults_named(f"cannot lock {path}", "Make room there"):
            file.seek(0)
            file.truncate()
            json.dump({"pid": os.getpid(), "host": socket.gethostname()}, file)
            file.flush()
        try:
            yield
        finally:
            _forget(file)


def _take(file: IO[str]) -> bool:
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False
        except OSError:
            pass  # no locks here
    owner = _owner(file)
    return not _lives(owner)


def _owner(file: IO[str]) -> dict[str, Any]:
    file.seek(0)
    try:
        owner = json.loads(file.read())
    except ValueError:
        return {}
    return owner if isinstance(owner, dict) else {}


def _lives(owner: dict[str, Any]) -> bool:
    """Whether the owner may be at work: a live process of this machine, or one of another, of which we cannot know."""
    if not isinstance(owner.get("pid"), int):
        return False
    if owner.get("host") != socket.gethostname() or sys.platform == "win32":  # where signal 0 is Ctrl-C
        return True
    try:
        os.kill(owner["pid"], 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _describe(owner: dict[str, Any]) -> str:
    return f"process {owner.get('pid', '?')} of {owner.get('host', 'an unknown machine')}"


def _forget(file: IO[str]) -> None:
    """An empty file is nobody's; closing it ends the lock."""
    try:
        file.seek(0)
        file.truncate()
        file.flush()
    except OSError:
        pass
