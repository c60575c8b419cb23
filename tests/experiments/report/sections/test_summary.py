"""What the summary says in words is what the tables say in numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from experiments.made import places, results, score, usual
from experiments.report.reading import read

from orda.experiments.jobs import Place
from orda.experiments.report import Chapter
from orda.experiments.report.looks import row_styles
from orda.experiments.report.sections.summary import duration, rounded, summary_section
from orda.experiments.store import Score, State


def summary(scored: Callable[[Place], Score | State]) -> str:
    """The summary of a made-up sweep, without any run's folder."""
    found = results(scored)
    styles = row_styles({row.name: found.configs[row.name] for row in found.rows})
    tasks = {task: found.protocol.heading(task) for task in found.tasks}
    chapter = Chapter("made", "Made", (), tasks, styles, found, (), Path("runs"))
    return read(summary_section(chapter, "")).text


BONUS = {"CORAL + ORDERED": 0.1, "MMD + ORDERED": -0.1}


def clear(place: Place) -> Score:
    """ORDERED is better by ten points under CORAL and worse by as much under MMD, give or take one by repeat."""
    bonus = BONUS.get(place.row, 0.0)
    return score(0.5 + bonus * (1 + 0.1 * place.repeat), seconds=2.0 if "ORDERED" in place.row else 1.0)


def test_numbers_and_verdicts() -> None:
    text = summary(clear)
    for said in (
        "7 methods on 2 tasks of digits, 3 repeats and 2 draws of hyperparameters: 84 of 84 runs done",
        "Best average accuracy: CORAL + ORDERED with 61.0 ± 0.6 %, before ERM with 50.0 ± 0.0 %.",
        "CORAL + ORDERED against CORAL (uniform minibatches): +11.0 points (95% interval +8.5 to +13.5), "
        "over 3 repeats. The interval is above zero.",
        "MMD + ORDERED against MMD (uniform minibatches): −11.0 points",
        "The interval is below zero.",
        "CORAL + ORDERED against ERM (without adaptation): +11.0 points",
        "A run of CORAL + ORDERED took 2 s, one of CORAL 1 s: 2.00 times as long.",
    ):
        assert said in text


def test_chance_is_not_told_as_a_difference() -> None:
    def noisy(place: Place) -> Score:
        return score(0.5 + 0.05 * ((place.repeat + ("ORDERED" in place.row)) % 3))

    assert summary(noisy).count("The interval holds zero: these repeats do not tell the two apart.") >= 2


def test_one_repeat_says_nothing_of_chance() -> None:
    first = results(clear, only=[place for place in places(usual()) if place.repeat == 0])
    styles = row_styles({row.name: first.configs[row.name] for row in first.rows})
    chapter = Chapter("made", "Made", (), {task: task for task in first.tasks}, styles, first, (), Path("runs"))
    assert "One repeat has no interval: nothing can be said about chance." in read(summary_section(chapter, "")).text


def test_no_best_is_told_while_rows_have_other_repeats() -> None:
    def missing(place: Place) -> Score | State:
        return State.QUEUED if place.row == "MCC" and place.repeat == 2 else score(0.5)

    text = summary(missing)
    assert "Best" not in text
    assert "4 runs of 84 without a result" in text


def test_nothing_done_yet() -> None:
    text = summary(lambda place: State.QUEUED)
    assert "0 of 84 runs done" in text
    assert "no repeat has all tasks of both yet" in text


@pytest.mark.parametrize(
    ("value", "text"), [(3.0, "3 s"), (119.4, "119 s"), (300.0, "5 min"), (7200.0, "2.0 h"), (36000.0, "10.0 h")]
)
def test_durations(value: float, text: str) -> None:
    assert duration(value) == text


@pytest.mark.parametrize(("value", "text"), [(1.26, "1.3"), (28.4, "28"), (41234.0, "41,000")])
def test_ratios(value: Any, text: str) -> None:
    assert rounded(value) == text
