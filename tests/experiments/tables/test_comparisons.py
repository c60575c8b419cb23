"""Paired comparisons against loops over the pairs, and their laws."""

from __future__ import annotations

import pytest
from experiments.made import PROTOCOL, TASKS, results, score
from experiments.tables.test_accuracy import REPEATS, made_up, runs_of
from references import tables as literal

from orda.errors import UnknownName
from orda.experiments.jobs import Place
from orda.experiments.store import Score, State
from orda.experiments.tables import AVERAGE, Comparison, accuracy_table, compare, comparison_table


def test_by_default_samplers_with_uniform_and_ordered_with_the_others() -> None:
    found = compare(results(lambda place: score(0.5)))
    assert [(item.row, item.against) for item in found] == [
        ("CORAL + VaRDASS", "CORAL"),
        ("CORAL + ORDERED", "CORAL"),
        ("CORAL + ORDERED", "CORAL + VaRDASS"),
        ("MMD + ORDERED", "MMD"),
    ]


@pytest.mark.parametrize("missing", [0.0, 0.03, 0.3])
def test_against_loops(missing: float) -> None:
    found = results(made_up(7, missing))
    runs = runs_of(found)
    for item in compare(found, against=["CORAL", "ERM"]):
        pairs: list[float] = []
        means: list[float] = []
        for repeat in REPEATS:
            mine = [literal.accuracy(runs, item.row, task, repeat, False) for task in TASKS]
            its = [literal.accuracy(runs, item.against, task, repeat, False) for task in TASKS]
            if None in mine or None in its:
                continue
            differences = [a - b for a, b in zip(mine, its, strict=True)]  # type: ignore[operator]
            pairs += differences
            means.append(sum(differences) / len(differences))
        wins, losses = sum(d > 0 for d in pairs), sum(d < 0 for d in pairs)
        assert (item.wins, item.losses, item.ties) == (wins, losses, len(pairs) - wins - losses)
        assert list(item.values.values()) == pytest.approx(means, abs=1e-12)
        p = literal.sign_test(wins, losses)
        assert item.p == (None if p is None else pytest.approx(float(p)))
        if len(means) > 1:
            assert item.difference == pytest.approx(literal.mean(means), abs=1e-12)
            reach = (item.high - item.low) / 2  # type: ignore[operator]
            t = reach / literal.standard_error(means)
            assert literal.student_cdf(t, len(means) - 1) == pytest.approx(0.975, abs=1e-6)


def test_the_difference_is_that_of_the_averages() -> None:
    found = results(made_up(8))
    table = accuracy_table(found)
    for item in compare(found):
        mine, its = (table.cell(name, AVERAGE).mean for name in (item.row, item.against))
        assert item.difference == pytest.approx(mine - its, abs=1e-12)  # type: ignore[operator]


def test_swapped_rows_swap_the_signs() -> None:
    found = results(made_up(9))
    one, other = (
        next(item for item in compare(found, against=[b]) if item.row == a)
        for a, b in (("CORAL + ORDERED", "CORAL"), ("CORAL", "CORAL + ORDERED"))
    )
    assert (one.wins, one.ties, one.losses, one.p) == (other.losses, other.ties, other.wins, other.p)
    assert one.difference == pytest.approx(-other.difference)  # type: ignore[operator]
    assert one.low == pytest.approx(-other.high)  # type: ignore[operator]


def only_pair(scored: object, **changes: object) -> Comparison:
    found = results(scored, {**PROTOCOL, **changes})  # type: ignore[arg-type]
    return next(item for item in compare(found) if item.row == "MMD + ORDERED")


def test_ties_stand_aside() -> None:
    item = only_pair(lambda place: score(0.5))
    assert (item.wins, item.ties, item.losses, item.p, item.difference) == (0, 6, 0, None, 0.0)
    assert (item.low, item.high) == (0.0, 0.0)


def test_one_repeat_has_no_interval_but_pairs() -> None:
    item = only_pair(lambda place: score(0.5 + 0.1 * (place.label == "+ ORDERED")), repeats=1)
    assert (item.low, item.high, item.pairs, item.wins) == (None, None, 2, 2)
    assert item.difference == pytest.approx(0.1)


def test_only_repeats_with_all_tasks_of_both_rows_count() -> None:
    def scored(place: Place) -> Score | State:
        broken = (place.row, place.task, place.repeat) == ("MMD", TASKS[1], 1)
        return State.FAILED if broken else score(0.5)

    item = only_pair(scored)
    assert (list(item.values), item.asked, item.pairs) == ([0, 2], 3, 4)


def test_nothing_to_compare_is_no_number() -> None:
    item = only_pair(lambda place: State.QUEUED)
    assert (item.difference, item.low, item.p, item.pairs) == (None, None, None, 0)


def test_a_wrong_row_offers_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'CORAL \\+ ORDERED'"):
        compare(results(lambda place: score(0.5)), against=["CORAL + ORDRED"])


def test_the_notes_say_which_interval_and_how_many_tests() -> None:
    notes = " ".join(comparison_table(results(lambda place: score(0.5))).notes)
    assert "paired t interval (95%)" in notes
    assert "not corrected for there being 4" in notes
