"""The runner: the same numbers for any number of processes, going on, starting again, and what stands in the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from experiments.simulate.toy import Timed, Toy

import orda
from orda.errors import RunError, SettingError
from orda.experiments.simulate import StudyFolder, config_of, run
from orda.seeds import child

FILES = {"cells.jsonl", "data.csv", "figure.png", "figure.svg", "manifest.json", "lock"}


def computed(place: Path) -> list[str]:
    file = place / "computed"
    return file.read_text().splitlines() if file.exists() else []


def manifest(folder: StudyFolder) -> dict[str, object]:
    found: dict[str, object] = json.loads(folder.manifest.read_text())
    return found


def test_a_folder_holds_everything_and_nothing_else(place: Path, out: Path) -> None:
    folder = run(Toy(folder=str(place)), out, command="orda simulate toy")
    assert {path.name for path in folder.path.iterdir()} == FILES
    assert folder.data.read_text().splitlines()[0] == "size,series,statistic,value,low,high,repeats"
    said = manifest(folder)
    assert said["command"] == "orda simulate toy"
    assert said["config"] == {
        "study": "toy", "orda": orda.__version__, "seed": 0, "folder": str(place), "sizes": [2, 8], "repeats": 3
    }  # fmt: skip
    assert said["seeds"] == {"root": 0, **{f"repeat {r}": child(0, "toy", "repeat", r) for r in range(3)}}
    assert set(said["versions"]) == {"orda", "python", "numpy", "scipy", "numba", "torch", "matplotlib"}  # type: ignore[call-overload]
    assert said["seconds"]["this_run"] >= said["seconds"]["cells"] >= 0  # type: ignore[index]
    assert said["cells"] == {"all": 6, "from_earlier_runs": 0}
    assert said["warnings"] == {"UserWarning": {"cells": 2, "one_of_them": "the first repeat of size 2"}}


def test_the_seed_decides_the_bytes(place: Path, tmp_path: Path) -> None:
    study = Toy(folder=str(place))
    a, b, other = (run(study, tmp_path / name, seed=seed) for name, seed in (("a", 7), ("b", 7), ("c", 8)))
    for path in ("data", "png", "svg"):
        assert getattr(a, path).read_bytes() == getattr(b, path).read_bytes()
    assert a.data.read_bytes() != other.data.read_bytes()


@pytest.mark.slow
def test_processes_change_nothing(place: Path, tmp_path: Path) -> None:
    study = Toy(folder=str(place), repeats=2)
    assert run(study, tmp_path / "two", jobs=2).data.read_bytes() == run(study, tmp_path / "one").data.read_bytes()
    assert sorted(computed(place)) == sorted(2 * [cell.name for cell in study.cells()])


def test_seconds_are_measured_in_one_process(place: Path, out: Path) -> None:
    folder = run(Timed(folder=str(place)), out, jobs=2)
    lines = [json.loads(line) for line in folder.cells.read_text().splitlines()][1:]
    assert {row["process"] for line in lines for row in line["rows"]} == {os.getpid()}


def test_a_finished_study_is_not_computed_again_unless_forced(place: Path, out: Path) -> None:
    study = Toy(folder=str(place))
    first = run(study, out)
    before = {path.name: path.stat().st_mtime_ns for path in first.path.iterdir()}
    assert run(study, out).path == first.path
    assert {path.name: path.stat().st_mtime_ns for path in first.path.iterdir()} == before
    assert len(computed(place)) == 6
    data = first.data.read_bytes()
    run(study, out, force=True)
    assert len(computed(place)) == 12
    assert first.data.read_bytes() == data


def test_more_repeats_go_on_from_what_is_there_and_fewer_take_of_it(place: Path, out: Path, tmp_path: Path) -> None:
    study = Toy(folder=str(place))
    folder = run(study, out)
    run(replace(study, repeats=5), out)
    assert len(computed(place)) == 10
    assert manifest(folder)["cells"] == {"all": 10, "from_earlier_runs": 6}
    more = folder.data.read_bytes()
    assert more == run(replace(study, repeats=5), tmp_path / "at once").data.read_bytes()
    run(study, out)
    assert len(computed(place)) == 20  # nothing but what "at once" took
    assert manifest(folder)["config"]["repeats"] == 3  # type: ignore[index]
    assert folder.data.read_bytes() != more


def test_other_settings_and_other_seeds_need_another_folder(place: Path, out: Path) -> None:
    study = Toy(folder=str(place))
    run(study, out)
    for other, seed, unlike in ((replace(study, sizes=(3,)), 0, r"sizes is \[2, 8\] there and \[3\] here"),
                                (study, 1, "seed is 0 there and 1 here")):  # fmt: skip
        with pytest.raises(RunError, match=f"belongs to one config.*{unlike}.*--out.*--force"):
            run(other, out, seed=seed)
    assert StudyFolder(out / "toy").is_finished(config_of(study, 0))
    run(study, out, seed=1, force=True)
    assert StudyFolder(out / "toy").is_finished(config_of(study, 1))


def test_force_leaves_other_files_alone(place: Path, out: Path) -> None:
    folder = run(Toy(folder=str(place)), out)
    (folder.path / "notes.txt").write_text("mine")
    run(Toy(folder=str(place)), out, force=True)
    assert (folder.path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, "2"])
def test_jobs_must_be_a_positive_number(jobs: object, place: Path, out: Path) -> None:
    with pytest.raises(SettingError, match="jobs must be an integer of at least 1"):
        run(Toy(folder=str(place)), out, jobs=jobs)  # type: ignore[arg-type]
    assert not out.exists()


@pytest.mark.parametrize("repeats", [0, -3, 2.0, True])
def test_repeats_must_be_a_positive_number(repeats: object) -> None:
    with pytest.raises(SettingError, match="repeats must be an integer of at least 1"):
        Toy(repeats=repeats)  # type: ignore[arg-type]


SCRIPT = """
import sys
from pathlib import Path
from experiments.simulate.toy import Toy
from orda.experiments.simulate import run
if __name__ == "__main__":
    run(Toy(folder=sys.argv[1], repeats=15), Path(sys.argv[2]), jobs=int(sys.argv[3]), show=False)
"""


def start(place: Path, out: Path, jobs: int) -> subprocess.Popen[bytes]:
    """The toy study in a process of its own, of which some cells are finished."""
    script = place / "script.py"
    script.write_text(SCRIPT)
    (place / "slow").touch()
    tests = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, str(script), str(place), str(out), str(jobs)],
        env={**os.environ, "PYTHONPATH": tests}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    folder, patience = StudyFolder(out / "toy"), time.monotonic() + 200
    while process.poll() is None and folder.count() < 4:
        assert time.monotonic() < patience
        time.sleep(0.02)
    assert process.poll() is None, process.stdout.read().decode()  # type: ignore[union-attr]
    return process


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize(
    ("how", "jobs"),
    [
        (signal.SIGKILL, 1),
        pytest.param(signal.SIGKILL, 2, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 2, marks=pytest.mark.slow),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_killed_study_goes_on_and_ends_with_the_same_data(
    how: signal.Signals, jobs: int, place: Path, tmp_path: Path
) -> None:
    process = start(place, tmp_path / "killed", jobs)
    workers = children(process.pid)
    assert bool(workers) == (jobs > 1)
    with pytest.raises(RunError, match=rf"one process at a time.*process {process.pid}"):
        run(Toy(folder=str(place), repeats=15), tmp_path / "killed")
    process.send_signal(how)
    process.communicate(timeout=100)
    patience = time.monotonic() + 30
    while any(map(lives, workers)) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not any(map(lives, workers))  # they end with their parent, however it ends
    folder = StudyFolder(tmp_path / "killed" / "toy")
    there = folder.count()
    assert 4 <= there < 30
    with folder.cells.open("a") as file:
        file.write('{"cell": "size=8 repe')  # as if the machine had gone down in the middle of a line
    (place / "slow").unlink()
    study = Toy(folder=str(place), repeats=15)
    run(study, tmp_path / "killed")
    assert manifest(folder)["cells"] == {"all": 30, "from_earlier_runs": there}
    assert folder.data.read_bytes() == run(study, tmp_path / "whole").data.read_bytes()


@pytest.mark.slow
def test_a_worker_that_is_killed_is_named_and_nothing_is_lost(place: Path, out: Path) -> None:
    study = Toy(folder=str(place))
    (place / "die").write_text("size=8 repeat=2")
    with pytest.raises(RunError, match=r"a worker process was ended from outside.*--jobs.*goes on"):
        run(study, out, jobs=2)
    before = StudyFolder(out / "toy").count()
    (place / "die").unlink()
    assert manifest(run(study, out))["cells"] == {"all": 6, "from_earlier_runs": before}
