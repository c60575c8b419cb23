"""``orda simulate`` as a stranger would call it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.test_root import run
from experiments.simulate.toy import PLACE, Toy

from orda.cli import simulate as command
from orda.experiments.simulate import STUDIES, StudyFolder


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Only the toy study is there, in one process; the folder that says how it behaves."""
    place = tmp_path / "misbehaviour"
    place.mkdir()
    monkeypatch.setenv(PLACE, str(place))
    for name in list(STUDIES):
        monkeypatch.delitem(STUDIES, name)
    monkeypatch.setitem(STUDIES, "toy", Toy)
    monkeypatch.setattr(command, "default_jobs", lambda: 1)
    monkeypatch.chdir(tmp_path)
    return place


def test_without_names_the_studies_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "simulate", "--out", str(tmp_path / "no"))
    assert code == 0
    for name in STUDIES:
        assert name in out
    assert not (tmp_path / "no").exists()


def test_the_list_says_how_far_each_is(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "simulate", "toy", "--out", "here")
    assert "finished" in run(capsys, "simulate", "--out", "here")[1]
    StudyFolder(Path("here/toy")).manifest.unlink()
    assert "6 done" in run(capsys, "simulate", "--out", "here")[1]


def test_help_explains_going_on_and_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "simulate", "--help")
    text = " ".join(re.sub(r"[│╭╮╰╯─]", " ", out).split())
    assert code == 0
    for option in ("--quick", "--repeats", "--jobs", "--seed", "--out", "--force", "--quiet"):
        assert option in text
    for words in (
        "not computed again",
        "goes on where it was",
        "under 20 seconds a study",
        "orda simulate all --quick",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["variance-vs-kk"], "unknown study; got 'variance-vs-kk'. Did you mean 'variance-vs-k'?"),
        (["min_size"], "unknown study; got 'min_size'. Did you mean 'min-size'?"),
        (["drift", "--repeats", "0"], "repeats must be an integer of at least 1; got 0"),
        (["drift", "--repeats", "-3"], "repeats must be an integer of at least 1; got -3"),
        (["drift", "--jobs", "0"], "jobs must be an integer of at least 1; got 0"),
        (["drift", "--jobs", "-1"], "jobs must be an integer of at least 1; got -1"),
        (["drift", "nobody"], "unknown study; got 'nobody'"),
    ],
)
def test_bad_values_are_errors_of_one_line(
    args: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "simulate", *args, "--out", str(tmp_path / "out"))
    assert (code, out) == (1, "")
    assert err.startswith(f"orda: {message}")
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("args", [["drift", "--repeats", "two"], ["drift", "--job", "1"]])
def test_words_for_numbers_and_unknown_options_are_usage_errors(
    args: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "simulate", *args)[0] == 2


def test_an_out_that_cannot_be_written(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").touch()
    code, _, err = run(capsys, "simulate", "toy", "--out", "file/studies")
    assert code == 1
    assert err.startswith("orda: a study's folder must be writable, file/studies/toy")
    assert "--out" in err
    assert err.count("\n") == 1


def test_folders_with_blanks_and_quotes(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = 'it\'s a "folder" of [b]studies[/b]; $HOME'
    code, said, err = run(capsys, "simulate", "toy", "--out", out)
    assert (code, err) == (0, "")
    assert re.fullmatch(rf"toy: [\d.]+ s, {re.escape(out)}/toy/figure.png\n", said)
    assert StudyFolder(Path(out) / "toy").png.is_file()


def test_a_finished_folder_is_said_to_be_so_unless_forced(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "simulate", "toy")
    assert "toy: finished before, studies/toy/figure.png" in run(capsys, "simulate", "toy")[1]
    assert (toy / "computed").read_text().count("\n") == 6
    assert "finished before" not in run(capsys, "simulate", "toy", "--force")[1]
    assert (toy / "computed").read_text().count("\n") == 12


def test_quick_repeats_and_seed_reach_the_study_and_its_manifest(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "simulate", "all", "--quick", "--repeats", "4", "--seed", "3", "--jobs", "1")
    said = json.loads(Path("studies-quick/toy/manifest.json").read_text())
    assert said["command"] == "orda simulate toy --quick --repeats 4 --seed 3"
    assert (said["config"]["repeats"], said["config"]["seed"]) == (4, 3)
    code, _, err = run(capsys, "simulate", "toy", "--quick")
    assert code == 1
    assert "seed is 3 there and 0 here" in err
    assert "--force" in err


def test_a_study_is_run_once_however_often_it_is_named(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "simulate", "toy", "all", "toy")
    assert out.count("toy: ") == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_ctrl_c_says_how_to_go_on_and_the_same_command_does(tmp_path: Path) -> None:
    orda = str(Path(sys.executable).with_name("orda"))
    command = [orda, "simulate", "variance-vs-k", "--quick", "--jobs", "2", "--out"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    folder = StudyFolder(tmp_path / "stopped" / "variance-vs-k")
    process = subprocess.Popen(
        [*command, str(tmp_path / "stopped")], stderr=subprocess.PIPE, env=environment, start_new_session=True
    )
    patience = time.monotonic() + 250
    while folder.count() < 2:
        assert process.poll() is None
        assert time.monotonic() < patience
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: parent and workers
    _, err = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "stopped; variance-vs-k goes on from its finished cells with the same command" in err.decode()
    assert "Traceback" not in err.decode()
    there = folder.count()
    for name in ("stopped", "whole"):
        subprocess.run([*command, str(tmp_path / name)], check=True, env=environment, capture_output=True)
    assert json.loads(folder.manifest.read_text())["cells"]["from_earlier_runs"] == there
    assert folder.data.read_bytes() == StudyFolder(tmp_path / "whole" / "variance-vs-k").data.read_bytes()
