"""``orda demo`` with fake runs: what a newcomer sees, the second time, after an interrupt, and when runs fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.test_root import run
from experiments import fake

from orda.experiments.report import write_report
from orda.experiments.store import Store

Capsys = pytest.CaptureFixture[str]
METHODS = ["ERM", "CORAL", "CORAL + VaRDASS", "CORAL + ORDERED (greedy)", "CORAL + ORDERED (assignment)"]


@pytest.fixture(autouse=True)
def _fake_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("orda.cli.demo.ENGINE", "inline")
    monkeypatch.setattr("orda.experiments.run.train_run", fake.train)
    monkeypatch.setattr("orda.experiments.prepare.prepare", lambda jobs, progress: None)
    monkeypatch.setattr("orda.cli.demo_texts.warm_up", lambda: None)
    monkeypatch.setattr("orda.experiments.report.write_report", note_report)
    monkeypatch.chdir(tmp_path)


def note_report(root: Path, page: Path, protocols: list[str], progress: bool) -> None:
    """A line for every time that a report is written."""
    assert (protocols, progress) == (["demo"], False)
    fake.append(page, f"of {len(Store(root).digests())} runs")


def begun(root: Path) -> list[str]:
    store = Store(root / "runs")
    return [(store.folder(digest) / "begun.txt").read_text() for digest in store.digests()]


def test_it_tells_what_it_does_and_what_came_of_it(
    capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orda.experiments.report.write_report", write_report)
    code, out, err = run(capsys, "demo")
    assert code == 0
    for method in METHODS:
        assert f"  {method}  " in out
    assert "25 runs of 300 steps: 5 methods × 5 seeds; 1 at once, in demo/runs" in out
    assert "25/25" in err
    assert "95% interval" in out
    assert "mean over 5 seeds" in out
    for row, against in zip([*METHODS[1:], METHODS[-1]], ["ERM", *["CORAL"] * 3, "ERM"], strict=True):
        assert f"  {row} against {against}: " in out
    assert "orda tables demo/runs" in out
    assert "--force" not in out
    assert len(begun(tmp_path / "demo")) == 25
    assert "demo/report.html" in out
    page = (tmp_path / "demo" / "report.html").read_text()
    assert all(method in page for method in METHODS)


def test_the_second_time_it_is_finished_at_once(capsys: Capsys, tmp_path: Path) -> None:
    _, first, _ = run(capsys, "demo", "--out", "a 'demo'")
    code, second, err = run(capsys, "demo", "--out", "a 'demo'")
    assert code == 0
    assert err == ""
    assert "all done before" in second
    assert "Start over with: orda" in second
    table = first[first.index("Accuracy on handwritten") : first.index("Next")]
    assert table in second
    assert set(begun(tmp_path / "a 'demo'")) == {"begun\n"}
    assert (tmp_path / "a 'demo'" / "report.html").read_text() == "of 25 runs\n"


def test_more_seeds_add_to_what_is_there(capsys: Capsys, tmp_path: Path) -> None:
    run(capsys, "demo", "--seeds", "2")
    _, out, _ = run(capsys, "demo", "--seeds", "3")
    assert "15 runs of 300 steps: 5 methods × 3 seeds, 10 of them done before" in out
    assert begun(tmp_path / "demo") == ["begun\n"] * 15
    run(capsys, "demo", "--seeds", "2")
    assert (tmp_path / "demo" / "report.html").read_text() == "of 10 runs\nof 15 runs\nof 15 runs\n"


def test_starting_over(capsys: Capsys, tmp_path: Path) -> None:
    run(capsys, "demo", "--quick")
    (tmp_path / "demo" / "mine.txt").write_text("stays")
    _, out, _ = run(capsys, "demo", "--quick", "--force")
    assert "10 runs of 100 steps: 5 methods × 2 seeds; 1 at once" in out
    assert begun(tmp_path / "demo") == ["begun\n"] * 10
    assert (tmp_path / "demo" / "mine.txt").read_text() == "stays"


def test_runs_under_way_are_not_thrown_away(capsys: Capsys, tmp_path: Path) -> None:
    run(capsys, "demo", "--quick")
    store = Store(tmp_path / "demo" / "runs")
    digest = store.digests()[0]
    (store.folder(digest) / "result.json").unlink()
    claim = store.claim(digest)
    assert claim is not None
    code, _, err = run(capsys, "demo", "--quick", "--force")
    claim.release()
    assert code == 1
    assert err.startswith("orda: runs under way are not thrown away")
    assert len(begun(tmp_path / "demo")) == 10


def test_one_seed_promises_nothing(capsys: Capsys) -> None:
    _, out, _ = run(capsys, "demo", "--seeds", "1")
    assert "CORAL against ERM: not known" in out
    assert "in one seed, which says nothing about others" in out


def test_runs_that_fail_are_told_and_tried_again(capsys: Capsys, tmp_path: Path) -> None:
    fake.behave(tmp_path / "demo" / "runs", erm="fail")
    code, out, err = run(capsys, "demo", "--quick")
    assert code == 1
    assert "2 runs failed:\n  ValueError: it always does" in err
    assert "Go on with: orda" in err
    assert "against" not in out
    fake.behave(tmp_path / "demo" / "runs")
    assert run(capsys, "demo", "--quick")[0] == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--seeds", "0"], "greater than or equal to 1"),
        (["--jobs", "many"], "valid integer"),
        (["--fast"], "No such option"),
    ],
)
def test_wrong_options(args: list[str], message: str, capsys: Capsys) -> None:
    code, _, err = run(capsys, "demo", *args)
    assert code == 2
    assert message in err
