"""``orda report``, as a stranger would call it."""

from __future__ import annotations

import shutil
import webbrowser
from pathlib import Path

import pytest
from cli.test_root import run
from experiments import fake
from experiments.small import SMALL

from orda.experiments.jobs import expand
from orda.experiments.protocol import Protocol
from orda.experiments.run import execute
from orda.experiments.store import Store


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """12 runs."""
    store = Store(tmp_path_factory.mktemp("a folder of 'runs'"))
    protocol = Protocol.from_dict(SMALL)
    jobs = expand(protocol)
    store.save_sweep(protocol, jobs)
    for job in jobs:
        execute(job, store, fake.train)
    return store.root


def test_the_page_is_written_beside_the_runs(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "report", str(runs), "--quiet")
    assert (code, out, err) == (0, "", f"written: {runs / 'report.html'}\n")
    assert (runs / "report.html").read_text().startswith("<!doctype html>")


def test_file_title_and_part_of_the_runs(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "new folder" / "page.html"
    args = ["--out", str(file), "--title", "A & B", "--only", "row=ERM", "--protocol", "small", "--no-pictures"]
    code, _, err = run(capsys, "report", str(runs), *args)
    assert code == 0
    assert f"written: {file}" in err
    text = file.read_text()
    assert "<h1>A &amp; B</h1>" in text
    assert "1 method on 1 task" in text
    assert 'id="features"' not in text


@pytest.mark.parametrize("found", [True, False])
def test_it_is_shown_in_a_browser(
    found: bool, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []
    monkeypatch.setattr(webbrowser, "open", lambda address: shown.append(address) or found)
    file = tmp_path / "a page.html"
    code, _, err = run(capsys, "report", str(runs), "--open", "--no-pictures", "--out", str(file))
    assert code == 0
    assert shown == [file.as_uri()]
    assert ("no browser to open it with" in err) == (not found)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere"], "a report is made from a folder of runs; got nowhere, which is none. Make some"),
        (["RUNS", "--protocol", "smal"], "unknown protocol; got 'smal'"),
        (["RUNS", "--only", "row=Z*"], "--only must leave some runs of small"),
        (["RUNS", "--only", "colour=red"], "unknown key of --only; got 'colour'"),
        (["EMPTY"], "a report is made from finished runs; got"),
    ],
)
def test_errors_are_one_line(
    args: list[str], message: str, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "report", *({"RUNS": str(runs), "EMPTY": str(tmp_path)}.get(a, a) for a in args))
    assert (code, out) == (1, "")
    assert err.startswith(f"orda: {message}")
    assert err.count("\n") == 1


def test_a_part_left_behind_is_no_page(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Written whole or not at all: where the file cannot be had, what was there stays, and nothing else is left."""
    folder = tmp_path / "out"
    (folder / "page.html").mkdir(parents=True)  # a folder cannot be replaced by a file
    code, _, err = run(capsys, "report", str(runs), "--no-pictures", "--out", str(folder / "page.html"))
    assert code == 1
    assert err.startswith("orda: cannot write")
    assert [path.name for path in folder.iterdir()] == ["page.html"]
    shutil.rmtree(folder)
