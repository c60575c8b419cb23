"""``orda sweep`` as a stranger would call it; the runs are fake, everything around them is real."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.test_root import run
from experiments import fake
from experiments.small import SMALL, changed

from orda.experiments.jobs import Job, expand
from orda.experiments.protocol import Protocol, shipped_protocols
from orda.experiments.store import State, Store
from orda.training import RunResult, TrainConfig, schema

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _fake_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orda.experiments.run.train_run", fake.train)
    monkeypatch.setattr("orda.experiments.prepare.prepare", lambda jobs, progress: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / 'it\'s a "folder" with spaces'
    made.mkdir()
    (made / "small.yaml").write_text(schema.write_yaml(SMALL))
    return made


@pytest.fixture
def jobs() -> list[Job]:
    return expand(Protocol.from_dict(SMALL))


def sweep(capsys: Capsys, folder: Path, *args: str) -> tuple[int, str, str]:
    return run(capsys, "sweep", str(folder / "small.yaml"), "--runs", str(folder / "runs"), "--engine", "inline", *args)


def done(folder: Path, jobs: list[Job]) -> list[str]:
    store = Store(folder / "runs")
    return [job.row for job in jobs if store.state(job.digest) is State.DONE]


# ---- before anything is done --------------------------------------------------------------------------------------


def test_a_dry_run_counts_and_does_nothing(capsys: Capsys, folder: Path) -> None:
    code, out, _ = sweep(capsys, folder, "--dry-run")
    assert code == 0
    assert "small: 12 runs" in out
    assert "12 runs to do; how long they take is not known" in out
    heads = next(line.split() for line in out.splitlines() if line.split()[:1] == ["row"])
    assert heads == ["row", "runs", "to", "do"]  # and no empty columns
    assert not (folder / "runs").exists()


def test_the_estimate_rests_on_finished_runs(capsys: Capsys, folder: Path) -> None:
    """Every fake run takes 1.5 s: nine are left of twelve, three at a time."""
    sweep(capsys, folder, "--limit", "3")
    code, out, _ = sweep(capsys, folder, "--dry-run", "--engine", "local", "--jobs", "3")
    assert code == 0
    assert "9 runs to do: 14 s of training, 4.5 s with 3 at once" in out
    assert "from 3 finished runs" in out
    _, out, _ = sweep(capsys, folder, "--dry-run", "--only", "row=ERM")
    assert "--only leaves 4 of 12 runs" in out
    assert "3 runs to do: 4.5 s of training, one after another" in out


def test_rows_of_which_none_is_done_are_taken_for_average_ones(capsys: Capsys, folder: Path) -> None:
    sweep(capsys, folder, "--only", "row=ERM", "--limit", "1")
    _, out, _ = sweep(capsys, folder, "--dry-run")
    assert "from 1 finished run; none yet of CORAL, CORAL + ORDERED: taken for average ones" in out


def test_the_shipped_protocols_are_listed(capsys: Capsys) -> None:
    code, out, _ = run(capsys, "sweep", "--list")
    assert code == 0
    assert all(name in out for name in shipped_protocols())
    assert "5,700" in out
    assert "11,400" in out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "name a protocol"),
        (["digitz"], "unknown protocol; got 'digitz'. Did you mean 'digits'?"),
        (["nowhere/mine.yaml"], "the protocol must be a file; got no file nowhere/mine.yaml"),
        (["digits", "--engine", "slurm"], "unknown engine; got 'slurm'"),
        (["digits", "--only", "rows=ERM"], "unknown key of --only; got 'rows'. Did you mean 'row'?"),
        (["digits", "--only", "ERM"], "unknown key of --only; got 'ERM'"),
        (["digits", "--only", "row=Z*"], "--only must leave runs to do; got none of 342"),
        (["digits", "--set", "stepz=3"], "settings cannot be used; got unknown key 'stepz', did you mean 'steps'?"),
        (["digits", "--set", "steps=many"], "the protocol digits cannot be used; got train: steps must be a whole"),
        (["digits", "--set", "device=cuda:0"], "a sweep deals out the GPUs; got machine.device cuda:0"),
        (["digits", "--address", "auto"], "--address is of a Ray cluster"),
        (["digits", "--gpus-per-run", "-1"], "--gpus-per-run must be at least 0"),
    ],
)
def test_errors_are_one_line_and_nothing_is_made(
    args: list[str], message: str, capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, "sweep", *args)
    assert code == 1
    assert err.startswith(f"orda: {message}")
    assert err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (changed(repeat=3), "unknown key 'repeat', did you mean 'repeats'?"),
        (changed(train={"data": {"nam": "digits"}}), "unknown key 'data.nam', did you mean 'data.name'?"),
        (changed(tasks=["rendered->handwriten"]), "Did you mean 'rendered->handwritten'?"),
    ],
)
def test_a_wrong_protocol_names_the_nearest(values: Any, message: str, capsys: Capsys, folder: Path) -> None:
    (folder / "small.yaml").write_text(schema.write_yaml(values))
    code, _, err = sweep(capsys, folder)
    assert code == 1
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("text", ["a: [1", "- a\n- b", "", "\tname: x"])
def test_what_is_no_yaml_is_told_in_one_line(text: str, capsys: Capsys, folder: Path) -> None:
    (folder / "small.yaml").write_text(text)
    code, _, err = sweep(capsys, folder)
    assert code == 1
    assert "small.yaml" in err
    assert err.count("\n") == 1


def test_ray_that_is_not_installed(capsys: Capsys, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    code, _, err = sweep(capsys, folder, "--engine", "ray")
    assert code == 1
    assert "pip install 'orda[ray]'" in err


def test_a_folder_that_cannot_be_one(capsys: Capsys, folder: Path) -> None:
    (folder / "runs").write_text("a file")
    code, _, err = sweep(capsys, folder)
    assert code == 1
    assert "--runs" in err
    assert err.count("\n") == 1


# ---- what is done, and what is left -------------------------------------------------------------------------------


def test_a_sweep_says_what_it_did_and_goes_on(capsys: Capsys, folder: Path, jobs: list[Job]) -> None:
    code, out, err = sweep(capsys, folder, "--limit", "5")
    assert (code, out) == (0, "")
    assert "5/5  CORAL, rendered->handwritten, repeat 0, draw 1: done in 1.5 s" in err
    assert f"tables: orda tables {folder / 'runs'}" in err
    assert len(done(folder, jobs)) == 5
    code, _, err = sweep(capsys, folder)
    assert code == 0
    assert "12 runs: 12 done (done before: 5)" in err
    begun = [(Store(folder / "runs").folder(job.digest) / "begun.txt").read_text() for job in jobs]
    assert begun == ["begun\n"] * 12
    code, _, err = sweep(capsys, folder)
    assert (code, err.splitlines()[0]) == (0, "12 runs: 12 done (done before: 12)")


def test_only_some_rows(capsys: Capsys, folder: Path, jobs: list[Job]) -> None:
    code, _, _ = sweep(capsys, folder, "--only", "row=CORAL*", "--only", "repeat=1", "--only", "draw=0", "--quiet")
    assert code == 0
    assert done(folder, jobs) == ["CORAL", "CORAL + ORDERED"]


def test_failures_are_summed_up_and_tried_again_when_asked(capsys: Capsys, folder: Path, jobs: list[Job]) -> None:
    fake.behave(folder / "runs", erm="fail")
    code, _, err = sweep(capsys, folder)
    assert code == 1
    assert "4 runs failed:\n  ValueError: it always does\n    ERM, rendered->handwritten, repeat 0, draw 0: " in err
    assert "12 runs: 8 done, 4 failed" in err
    assert "--retry-failed" in err
    named = [line.partition("draw 0: ")[2] for line in err.splitlines() if "failed-1.json" in line and "draw 0" in line]
    assert all("it always does" in Path(path).read_text() for path in named)
    assert len(named) == 2
    code, _, err = sweep(capsys, folder)
    assert code == 1
    assert "12 runs: 8 done, 4 failed (done before: 8)" in err
    fake.behave(folder / "runs")
    code, _, err = sweep(capsys, folder, "--retry-failed")
    assert code == 0
    assert "12 runs: 12 done" in err


def test_too_many_failures_end_it(capsys: Capsys, folder: Path) -> None:
    fake.behave(folder / "runs", erm="fail", coral="fail")
    code, _, err = sweep(capsys, folder, "--max-failures", "2")
    assert code == 1
    assert "stopped: 2 runs failed (--max-failures); go on with: orda" in err
    assert "12 runs: 2 failed, 10 left" in err


def test_a_full_disk_ends_it_and_blames_no_run(capsys: Capsys, folder: Path) -> None:
    fake.behave(folder / "runs", coral="full")
    code, _, err = sweep(capsys, folder)
    assert code == 1
    assert "stopped: no room on the disk" in err
    assert "failed" not in err.partition("12 runs:")[2].splitlines()[0]
    fake.behave(folder / "runs")
    assert sweep(capsys, folder)[0] == 0


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(
    signum: signal.Signals, capsys: Capsys, folder: Path, jobs: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    def signalled(config: TrainConfig, run_folder: Path) -> RunResult:
        if run_folder.name == jobs[2].digest:
            os.kill(os.getpid(), signum)
        return fake.train(config, run_folder)

    monkeypatch.setattr("orda.experiments.run.train_run", signalled)
    code, _, err = sweep(capsys, folder)
    assert code == 128 + signum
    assert "stopped: interrupted; go on with: orda" in err
    assert len(done(folder, jobs)) == 3


def test_a_damaged_result_is_told_and_done_again(capsys: Capsys, folder: Path, jobs: list[Job]) -> None:
    sweep(capsys, folder)
    path = folder / "runs" / jobs[4].digest / "result.json"
    path.write_text("{")
    code, _, err = sweep(capsys, folder)
    assert code == 0
    assert "a result could not be used and was set aside" in err
    assert f"{path}: JSONDecodeError" in err
    assert path.with_name("result.json.damaged-1").read_text() == "{"
    assert Store(folder / "runs").read(jobs[4].digest).score is not None


def test_another_sweep_of_the_name_is_told(capsys: Capsys, folder: Path) -> None:
    sweep(capsys, folder)
    code, _, err = sweep(capsys, folder, "--set", "steps=11")
    assert code == 0
    assert "has a sweep of the name 'small' with other settings: 12 of its runs are no part of this one" in err
    assert len(Store(folder / "runs").digests()) == 24
