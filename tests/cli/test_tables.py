"""``orda tables`` on a folder of runs, as a stranger would call it."""

from __future__ import annotations

import csv
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
    """12 runs of which two failed and one is damaged."""
    store = Store(tmp_path_factory.mktemp("a folder of 'runs'"))
    jobs = expand(Protocol.from_dict(SMALL))
    store.save_sweep(Protocol.from_dict(SMALL), jobs)
    for job in jobs:
        fake.behave(store.root, erm="fail" if job.repeat else "")
        execute(job, store, fake.train)
    broken = next(job for job in jobs if job.row == "CORAL")
    (store.folder(broken.digest) / "result.json").write_text("{")
    return store.root


def test_everything_as_plain_text(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "tables", str(runs))
    assert code == 0
    for text in ("+ ORDERED", "Uniform random", "CORAL + ORDERED", "[1 of 2]", "9 of 12 runs done"):
        assert text in out
    assert "\x1b" not in out
    assert "failed: ERM, rendered->handwritten, repeat 1, draw 0" in err
    assert "ValueError: it always does" in err
    assert "damaged: CORAL, rendered->handwritten, repeat 0, draw 0" in err
    assert "--unfinished" in err


def test_one_table_at_a_time(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    titles = {"accuracy": "Average test accuracy", "time": "wall-clock", "comparisons": "Paired differences"}
    for which in titles:
        _, out, _ = run(capsys, "tables", str(runs), "--which", which)
        assert [title in out for title in titles.values()] == [each == which for each in titles]


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("t.md", "**Average test accuracy for small**"),
        ("t.tex", r"% \usepackage{booktabs}"),
        ("t.html", "<!doctype html>"),
        ("t.csv", "protocol,table,"),
        ("t.txt", "Average test accuracy for small"),
    ],
)
def test_a_file_has_the_format_of_its_name(
    runs: Path, name: str, begins: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new folder" / name
    code, out, err = run(capsys, "tables", str(runs), "--out", str(file))
    assert (code, out) == (0, "")
    assert f"written: {file}" in err
    assert file.read_text().startswith(begins)


def test_parts_and_documents(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form, part, whole in (("latex", "% ", r"\documentclass"), ("html", "<figure", "<!doctype")):
        assert run(capsys, "tables", str(runs), "-f", form, "--fragment")[1].startswith(part)
        assert run(capsys, "tables", str(runs), "-f", form, "--document")[1].startswith(whole)


def test_what_is_unfinished_counts_when_asked(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def repeats(*args: str) -> str:
        _, out, _ = run(capsys, "tables", str(runs), "--which", "accuracy", "-f", "csv", *args)
        lines = csv.DictReader(out.splitlines())
        return next(line["value"] for line in lines if line["row"] == "CORAL" and line["statistic"] == "repeats")

    assert (repeats(), repeats("--unfinished")) == ("1", "2")


def test_rows_against_a_row_of_ones_choice(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "tables", str(runs), "--which", "comparisons", "--against", "ERM", "--only", "repeat=0")
    assert "CORAL + ORDERED  ERM" in out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--which", "acuracy"], "unknown table; got 'acuracy'. Did you mean 'accuracy'?"),
        (["--format", "tex"], "unknown format; got 'tex'. Did you mean"),
        (["--out", "table.doc"], "the file's name must end in .txt, .md, .tex, .html, .htm, .csv; got table.doc"),
        (["--selection", "test"], "unknown selection; got 'test'"),
        (["--best", "row"], "unknown scope of --best"),
        (["--errors", "some"], "unknown choice of --errors"),
        (["--protocol", "smal"], "unknown protocol; got 'smal'"),
        (["--only", "row=Z*"], "--only must leave some runs of small"),
        (["--against", "CORL"], "unknown row to compare with; got 'CORL'. Did you mean 'CORAL'?"),
        (["--only", "row=ERM", "--which", "comparisons"], "without --against there must be groups that compare"),
    ],
)
def test_errors_are_one_line(runs: Path, args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "tables", str(runs), *args)
    assert (code, out) == (1, "")
    assert err.startswith(f"orda: {message}")
    assert err.count("\n") == 1


def test_a_file_that_cannot_be_written(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    code, _, err = run(capsys, "tables", str(runs), "--out", str(tmp_path / "file" / "t.md"))
    assert code == 1
    assert "cannot write" in err
    assert "--out" in err


def test_folders_without_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "a folder of runs must be there" in run(capsys, "tables", str(tmp_path / "no"))[2]
    assert "where there are no runs" in run(capsys, "tables", str(tmp_path))[2]
