from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from orda.training.display import Bar, Display, PlainLines, Quiet, make_display
from orda.training.evaluate import Evaluation


def story(display: Display, start: int = 0) -> None:
    """What a run tells its display."""
    with display:
        display.begin(start, 40)
        display.doing("planning")
        display.doing("training")
        for step in range(start + 1, 41):
            display.advance(step)
            if step % 20 == 0:
                display.losses({"loss": 1 / step, "task": 0.0})
                display.evaluation(Evaluation(step, {"a": 0.5, "b": 1.0}, 0.125), step == 20)


def test_a_line_per_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    story(PlainLines())
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "step 20/40  loss 0.05  source 75.0%  target 12.5%  *",
        "step 40/40  loss 0.025  source 75.0%  target 12.5%",
    ]


def test_lines_say_where_they_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    story(PlainLines(), start=30)
    assert capsys.readouterr().err.splitlines()[0] == "going on after step 30 of 40"


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    story(Quiet())
    assert capsys.readouterr() == ("", "")


def test_the_bar_shows_loss_accuracies_speed_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(
        "orda.training.display.Console",
        lambda **_: Console(file=screen, force_terminal=True, width=140, color_system=None),
    )
    story(Bar())
    last = screen.getvalue()
    for part in ("training", "40/40", "loss 0.025", "source 75.0%  target 12.5%", "steps/s", "0:00:00"):
        assert part in last, part


@pytest.mark.parametrize(
    ("progress", "terminal", "kind"),
    [
        (None, True, Bar),
        (None, False, Quiet),
        (True, True, Bar),
        (True, False, PlainLines),
        (False, True, Quiet),
        (False, False, Quiet),
    ],
)
def test_who_is_told_what(
    progress: bool | None, terminal: bool, kind: type[Display], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    assert type(make_display(progress)) is kind
