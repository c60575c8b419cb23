"""Claims: one holder at a time, taken over when the holder is dead, and never by the clock on the wall."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from experiments.conftest import Clock

from orda.experiments.store.claims import RELEASED, Claim, Watch, claim_path, generation_of, highest, holder_of
from orda.experiments.store.processes import Process, fate

ELSEWHERE = Process("node7", "another boot pid:[1]", 123, "456")


@pytest.fixture
def folder(root: Path) -> Path:
    (root / "run").mkdir(parents=True)
    return root / "run"


@pytest.fixture
def claim(folder: Path) -> Iterator[Claim]:
    taken = Claim.take(folder, Watch(), beat=0.02)
    assert taken is not None
    yield taken
    taken.release()


def write_claim(folder: Path, process: Process | None, generation: int = 1, beats: int = 3) -> Path:
    """A claim as another process left it."""
    path = claim_path(folder, generation)
    line = b"" if process is None else json.dumps(process.to_dict()).encode() + b"\n"
    path.write_bytes(line + b"." * beats)
    return path


def until(holds: Any, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.005)


def test_names() -> None:
    assert [generation_of(name) for name in ("claim-1", "claim-12", "claim-", "claim-x", "result.json")] == [
        1,
        12,
        0,
        0,
        0,
    ]
    assert highest(["claim-2", "claim-10", "config.yaml"]) == 10
    assert highest([]) == 0


def test_one_holder_at_a_time(folder: Path, claim: Claim) -> None:
    assert Watch().active(claim.path)
    assert Claim.take(folder, Watch()) is None
    claim.release()
    assert not Watch().active(claim.path)
    second = Claim.take(folder, Watch())
    assert second is not None
    assert second.generation == 2
    second.release()


def test_releasing_twice_is_releasing(claim: Claim) -> None:
    claim.release()
    claim.release()
    assert claim.path.read_bytes().count(RELEASED) == 1


def test_a_heartbeat_is_one_more_dot(claim: Claim) -> None:
    size = claim.path.stat().st_size
    until(lambda: claim.path.stat().st_size >= size + 3)
    assert holder_of(claim.path.read_bytes()) == Process.this()


def _race(folder: Path, barrier: Any, wins: Any) -> None:
    barrier.wait()
    taken = Claim.take(folder, Watch())
    if taken is not None:
        wins.put(taken.generation)
        time.sleep(0.3)  # while the others look
        os._exit(0)  # without releasing


@pytest.mark.parametrize("stale", [False, True])
def test_of_many_at_once_one_wins(folder: Path, stale: bool) -> None:
    if stale:
        write_claim(folder, dead_process())
    context = multiprocessing.get_context("fork")
    barrier, wins = context.Barrier(6), context.Queue()
    racers = [context.Process(target=_race, args=(folder, barrier, wins)) for _ in range(6)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert wins.get(timeout=5) == 1 + stale
    assert wins.empty()


def process_of(child: subprocess.Popen[bytes]) -> Process:
    here = Process.this()
    began = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19]
    return Process(here.host, here.machine, child.pid, began)


def dead_process() -> Process:
    """A process of this machine that is no more."""
    with subprocess.Popen(["sleep", "100"]) as child:
        process = process_of(child)
        child.kill()
    return process


def test_what_became_of_a_process() -> None:
    here = Process.this()
    assert fate(here) == "alive"
    assert fate(dead_process()) == "dead"
    assert fate(Process(here.host, here.machine, here.pid, "1")) == "dead"  # the number came back, the process did not
    assert fate(ELSEWHERE) == "unknown"
    assert fate(Process(here.host, None, here.pid, here.began)) == "unknown"


def test_a_zombie_is_dead() -> None:
    with subprocess.Popen(["sleep", "100"]) as child:
        process = process_of(child)
        assert fate(process) == "alive"
        child.kill()
        until(lambda: fate(process) == "dead")  # nobody has waited for it yet


def test_a_dead_process_of_this_machine_is_seen_at_once(folder: Path) -> None:
    assert not Watch(patience=1e9).active(write_claim(folder, dead_process()))


@pytest.mark.parametrize("process", [ELSEWHERE, None], ids=["another machine", "unreadable"])
def test_another_machines_claim_is_stale_after_patience_without_a_dot(
    folder: Path, clock: Clock, process: Process | None
) -> None:
    watch, path = Watch(patience=60, clock=clock), write_claim(folder, process)
    for clock.now, beats, active in [(0, 3, True), (59, 3, True), (59.5, 4, True), (119, 4, True), (120, 4, False)]:
        write_claim(folder, process, beats=beats)
        assert watch.active(path) is active, clock.now


def test_the_wall_clock_is_never_asked(folder: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may jump by years, and files may be dated in the future: neither makes a claim stale or fresh."""
    watch, path = Watch(patience=60, clock=clock), write_claim(folder, ELSEWHERE)
    assert watch.active(path)
    monkeypatch.setattr(time, "time", lambda: 4e9)
    for date in (0, 4_000_000_000):
        os.utime(path, (date, date))
        assert watch.active(path)
    clock.now = 61
    os.utime(path, (4_000_000_100, 4_000_000_100))
    assert not watch.active(path)


def test_a_holder_that_was_taken_over_lets_go(folder: Path) -> None:
    losses: list[str] = []
    mine = Claim.take(folder, Watch(), beat=0.02, on_loss=lambda: losses.append("lost"))
    assert mine is not None
    write_claim(folder, ELSEWHERE, generation=2)  # another machine thought that this one was gone
    until(mine.lost.is_set)
    until(lambda: losses == ["lost"])
    mine.release()
    assert not mine.path.read_bytes().endswith(RELEASED)


def test_a_claim_whose_folder_is_gone_is_lost(folder: Path, claim: Claim) -> None:
    claim.path.unlink()
    until(claim.lost.is_set)
    claim.release()
    assert not claim.path.exists()


def test_a_full_disk_leaves_no_claim(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "dumps", _no_space)
    with pytest.raises(OSError, match="No space"):
        Claim.take(folder, Watch())
    assert os.listdir(folder) == []


def _no_space(*_: object) -> str:
    raise OSError(28, "No space left on device")
