"""Which process is at work somewhere, so that another can tell whether it still lives.

A process number says nothing by itself: other machines and other containers use the same numbers, and numbers come
back. So it goes with the machine's boot, the namespace of its process numbers, and the moment (in the kernel's ticks
since boot) at which the process began. None of these is a wall clock.
"""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Process:
    """One process of one machine."""

    host: str
    machine: str | None  # boot and namespace; None where the system does not tell
    pid: int
    began: str | None  # ticks since boot

    @classmethod
    def this(cls) -> Process:
        pid = os.getpid()
        return cls(socket.gethostname(), this_machine(), pid, _began(pid)[0])

    @classmethod
    def from_dict(cls, values: Any) -> Process | None:
        """``None`` for what is not a process."""
        try:
            return cls(str(values["host"]), values["machine"], int(values["pid"]), values["began"])
        except (TypeError, KeyError, ValueError):
            return None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"process {self.pid} of {self.host}"


def fate(process: Process) -> Literal["alive", "dead", "unknown"]:
    """Whether the process lives. Only on the machine that it runs on is that known at once."""
    if process.machine is None or process.began is None or process.machine != this_machine():
        return "unknown"
    began, state = _began(process.pid)
    return "alive" if began == process.began and state != "Z" else "dead"


@lru_cache(maxsize=1)
def this_machine() -> str | None:
    """This boot of this machine, and this namespace of process numbers."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def _began(pid: int) -> tuple[str | None, str | None]:
    """When a process began and what state it is in (Z: dead, but its parent has not looked yet)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None, None
    fields = text.rpartition(")")[2].split()  # after the name, which may hold anything
    return fields[19], fields[0]
