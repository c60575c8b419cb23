"""The command itself, with real training, on a disk that fills up and killed in the middle: nothing is lost or doubled.

What the bookkeeping does with every kind of end is in test_sweep.py; engines and their deaths are in test_engines.py.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from experiments.test_claims import until

from orda.experiments.jobs import Job, expand
from orda.experiments.protocol import Protocol
from orda.experiments.store import State, Store
from orda.experiments.store.claims import claim_path, holder_of
from orda.training import Lines, RunPaths, RunResult, schema

pytestmark = pytest.mark.slow

VALUES: dict[str, Any] = {
    "name": "faults",
    "train": {"data": {"name": "digits"}, "steps": 60, "horizon": 20, "eval_every": 10, "machine": {"device": "cpu"}},
    "tasks": ["rendered->handwritten"],
    "groups": {"A": {"ERM": {"algorithm": "erm"}, "CORAL": {"algorithm": "coral", "sampler": "stratified"}}},
    "search": {"draws": 1},
    "repeats": 2,
}
PATIENCE = 900  # seconds that a busy machine may take for what is seconds on an idle one
ORDA = [sys.executable, "-c", "from orda.cli import main; main()"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "it's a 'folder'"
    made.mkdir()
    (made / "faults.yaml").write_text(schema.write_yaml(VALUES))
    return made


@pytest.fixture(scope="module")
def jobs() -> list[Job]:
    return expand(Protocol.from_dict(VALUES))


def command(folder: Path, runs: Path, *args: str) -> list[str]:
    return [*ORDA, "sweep", str(folder / "faults.yaml"), "--runs", str(runs), "--cpus-per-run", "1", *args]


def sweep(folder: Path, runs: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(folder, runs, *args), env=ENVIRONMENT, capture_output=True, text=True)


def weights(runs: Path, jobs: Sequence[Job]) -> list[str | None]:
    """What every run's training ended with, to the bit."""
    return [RunResult.load(RunPaths(runs / job.digest).result).weights_sha256 for job in jobs]


def workers(store: Store, jobs: Sequence[Job]) -> list[int]:
    """The processes that are at work on the jobs."""
    running = [job.digest for job in jobs if store.state(job.digest) is State.RUNNING]
    claims = [claim_path(store.folder(digest), 1).read_bytes() for digest in running]
    return [holder.pid for holder in map(holder_of, claims) if holder is not None]


@pytest.mark.parametrize("killed", ["the sweep", "the sweep and its workers"])
def test_a_killed_sweep_ends_as_if_nothing_had_happened(folder: Path, jobs: list[Job], killed: str) -> None:
    runs, store = folder / "runs", Store(folder / "runs")
    with subprocess.Popen(command(folder, runs, "--jobs", "2"), env=ENVIRONMENT, stderr=subprocess.DEVNULL) as first:
        try:
            until(lambda: all((runs / job.digest / "checkpoint.pt").exists() for job in jobs[:2]), PATIENCE)
            found = workers(store, jobs)
            assert found
        finally:
            first.kill()
        if killed != "the sweep":
            for pid in found:
                os.kill(pid, signal.SIGKILL)
    second = sweep(folder, runs, "--jobs", "2")
    assert second.returncode == 0, second.stderr
    assert "4 runs: 4 done" in second.stderr
    undisturbed = sweep(folder, folder / "undisturbed", "--jobs", "2")
    assert undisturbed.returncode == 0, undisturbed.stderr
    assert weights(runs, jobs) == weights(folder / "undisturbed", jobs)
    for job in jobs:
        steps = [line["step"] for line in Lines(RunPaths(runs / job.digest).metrics).read() if line["kind"] == "eval"]
        assert steps == list(range(10, 61, 10))


SMALL_DISK = """
runs=$1; shift
mount -t tmpfs -o size=3850k none "$runs" || exit 99
"$@" 2> before; echo $? >> before
cp -r "$runs" half
mount -o remount,size=64M none "$runs"
"$@" 2> after; echo $? >> after
cp -r "$runs" whole
"""


def can_mount() -> bool:
    """Whether this user may mount a small disk, in a namespace of its own."""
    test = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=100k none /mnt"]
    return shutil.which("unshare") is not None and subprocess.run(test, capture_output=True).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="a small disk cannot be mounted here")
def test_a_disk_that_fills_up_stops_the_sweep_and_spoils_nothing(folder: Path, jobs: list[Job]) -> None:
    """A disk with room for two runs of four and a first checkpoint; then it grows, and the same command goes on."""
    runs = folder / "runs"
    runs.mkdir()
    mounted = ["unshare", "-rm", "sh", "-c", SMALL_DISK, "sh", str(runs), *command(folder, runs, "--jobs", "1")]
    assert subprocess.run(mounted, env=ENVIRONMENT, cwd=folder).returncode == 0
    before, after = (folder / "before").read_text(), (folder / "after").read_text()
    assert before.endswith("\n1\n"), before
    assert "no room on the disk" in before
    assert "no space left on the device" in before
    assert "runs failed" not in before
    half = Store(folder / "half")
    assert [half.state(job.digest) for job in jobs] == [State.DONE, State.DONE, State.QUEUED, State.QUEUED]
    assert all(half.read(job.digest).score for job in jobs[:2])
    assert after.endswith("\n0\n"), after
    assert "4 runs: 4 done (done before: 2)" in after
    sweep(folder, folder / "undisturbed", "--jobs", "2")
    assert weights(folder / "whole", jobs) == weights(folder / "undisturbed", jobs)
