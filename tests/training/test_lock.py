from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from orda.errors import RunError
from orda.training import lock
from orda.training.lock import locked

HOLD = """
import sys, time
from pathlib import Path
from orda.training.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def test_a_second_holder_is_told_who_the_first_is(path: Path) -> None:
    with (
        locked(path),
        pytest.raises(RunError, match=f"where process {os.getpid()} of {socket.gethostname()} is at work"),
        locked(path),
    ):
        pass
    with locked(path):
        pass


def test_the_lock_of_a_killed_process_is_free(path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(RunError, match=f"process {holder.pid} of"), locked(path):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert json.loads(path.read_text())["pid"] == holder.pid  # it had no time to sign off
    with locked(path):
        assert json.loads(path.read_text())["pid"] == os.getpid()


class TestWithoutLocksOfTheFileSystem:
    @pytest.fixture(autouse=True)
    def _none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise OSError("no locks here")

        monkeypatch.setattr(lock.fcntl, "flock", refuse)

    def test_a_dead_process_is_taken_over(self, path: Path) -> None:
        dead = subprocess.Popen([sys.executable, "-c", ""])
        dead.wait()
        path.write_text(json.dumps({"pid": dead.pid, "host": socket.gethostname()}))
        with locked(path):
            pass

    @pytest.mark.parametrize("host", [socket.gethostname(), "another machine"])
    def test_a_live_one_or_one_elsewhere_is_not(self, path: Path, host: str) -> None:
        path.write_text(json.dumps({"pid": os.getppid(), "host": host}))
        with pytest.raises(RunError, match=f"process {os.getppid()} of {host}"), locked(path):
            pass

    def test_it_excludes(self, path: Path) -> None:
        with locked(path), pytest.raises(RunError, match="one process at a time"), locked(path):
            pass
