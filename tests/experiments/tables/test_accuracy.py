"""The table of accuracies against loops, and its laws: no order, no neighbours, nothing averaged over silently."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from experiments.made import PROTOCOL, TASKS, results, score
from hypothesis import given
from hypothesis import strategies as st
from references import tables as literal

from orda.experiments.jobs import Place
from orda.experiments.store import Score, State
from orda.experiments.tables import AVERAGE, Cell, Results, Selection, Table, accuracy_table

ONE_DRAW = {**PROTOCOL, "search": {"draws": 1}}
REPEATS = list(range(PROTOCOL["repeats"]))


def made_up(seed: int, missing: float = 0.0, diverged: float = 0.0) -> Any:
    """Scores that follow from a place alone."""

    def scored(place: Place) -> Score | State:
        rng = random.Random(f"{seed} {place.name}")
        if rng.random() < missing:
            return rng.choice([State.QUEUED, State.FAILED, State.DAMAGED, State.RUNNING])
        if rng.random() < diverged:
            return score(*rng.choice([(None, None), (0.3, 0.95)]), diverged=True)
        return score(rng.randint(0, 40) / 40, rng.randint(0, 4) / 4, seconds=rng.uniform(1, 9))

    return scored


def runs_of(found: Results) -> list[literal.Run]:
    return [(r.place.row, r.place.task, r.place.repeat, r.place.draw, as_tuple(r.entry.score)) for r in found.records]


def as_tuple(found: Score | None) -> Any:
    if found is None:
        return None
    return (found.diverged, found.validation, found.accuracy, found.final_accuracy, found.seconds)


def agree(cell: Cell, expected: dict[int, float]) -> None:
    assert dict(cell.values) == pytest.approx(expected)
    assert list(cell.values) == sorted(expected)
    values = list(expected.values())
    assert cell.mean == (pytest.approx(literal.mean(values)) if values else None)
    assert cell.error == (pytest.approx(literal.standard_error(values), abs=1e-15) if len(values) > 1 else None)
    assert cell.complete == (len(values) == len(REPEATS))


@pytest.mark.parametrize("unfinished", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.1, 0.6])
def test_against_loops(missing: float, unfinished: bool) -> None:
    found = results(made_up(1, missing, diverged=0.3))
    table, runs = accuracy_table(found, unfinished=unfinished), runs_of(found)
    for line in table.lines:
        for task in TASKS:
            values = {repeat: literal.accuracy(runs, line.name, task, repeat, unfinished) for repeat in REPEATS}
            agree(table.cell(line.name, task), {r: v for r, v in values.items() if v is not None})
        agree(table.cell(line.name, AVERAGE), literal.averages(runs, line.name, TASKS, REPEATS, unfinished))


def test_rows_and_columns_are_the_protocols() -> None:
    table = accuracy_table(results(made_up(2)))
    assert [column.heading for column in table.columns] == ["R-H", "H-R", "Average"]
    assert [(line.group, line.label) for line in table.lines][2:5] == [
        ("CORAL", "CORAL"),
        ("CORAL", "+ VaRDASS"),
        ("CORAL", "+ ORDERED"),
    ]
    assert table.title == "Accuracy on the digits"


@given(st.integers(0, 5), st.randoms(use_true_random=False))
def test_the_order_of_the_records_is_of_no_matter(seed: int, rng: random.Random) -> None:
    found = results(made_up(seed, 0.1, 0.2))
    records = list(found.records)
    rng.shuffle(records)
    assert accuracy_table(replace(found, records=tuple(records))) == accuracy_table(found)


def test_another_row_moves_nothing() -> None:
    groups = PROTOCOL["groups"]
    more = {**groups, "CORAL": {**groups["CORAL"], "+ DPP": {"algorithm": "coral", "sampler": "dpp"}}}
    before = accuracy_table(results(made_up(3, 0.1)))
    after = accuracy_table(results(made_up(3, 0.1), {**PROTOCOL, "groups": more}))
    assert [line for line in after.lines if line.label != "+ DPP"] == list(before.lines)


def test_the_averages_error_is_not_put_together_from_the_cells() -> None:
    """Two tasks that move against each other: the average stands still."""
    table = accuracy_table(results(lambda p: score(0.5 + 0.1 * p.repeat * (1 if p.task == TASKS[0] else -1))))
    assert table.cell("ERM", TASKS[0]).error == pytest.approx(0.1 / 3**0.5)
    assert table.cell("ERM", AVERAGE).error == pytest.approx(0.0, abs=1e-15)


def test_a_repeat_whose_search_is_not_through_does_not_count() -> None:
    def scored(place: Place) -> Score | State:
        broken = place.row == "ERM" and place.task == TASKS[0] and place.repeat == 1 and place.draw == 1
        return State.FAILED if broken else score(0.5)

    found = results(scored)
    table = accuracy_table(found)
    assert list(table.cell("ERM", TASKS[0]).values) == [0, 2]
    assert list(table.cell("ERM", TASKS[1]).values) == [0, 1, 2]
    assert list(table.cell("ERM", AVERAGE).values) == [0, 2]
    assert "the others are missing" in " ".join(table.notes)
    assert "83 of 84 runs done (1 failed)" in table.notes[-1]
    assert accuracy_table(found, unfinished=True).cell("ERM", AVERAGE).complete


def test_diverged_runs_are_told() -> None:
    def scored(place: Place) -> Score:
        return score(0.1, 0.9, diverged=place.row == "ERM" and place.repeat == 0)

    table = accuracy_table(results(scored))
    assert [table.cell(name, TASKS[0]).diverged for name in ("ERM", "MCC")] == [1, 0]
    assert table.cell("ERM", AVERAGE).diverged == 1
    notes = " ".join(table.notes)
    assert "† Holds repeats in which every draw diverged" in notes
    assert "4 runs diverged" in notes
    assert "diverged" not in " ".join(accuracy_table(results(made_up(4))).notes)


def test_one_task_has_no_average() -> None:
    table = accuracy_table(results(made_up(5), {**PROTOCOL, "tasks": TASKS[:1], "headings": {}}))
    assert [column.key for column in table.columns] == TASKS[:1]


def test_one_repeat_has_no_error() -> None:
    table = accuracy_table(results(made_up(6), {**PROTOCOL, "repeats": 1}))
    assert {cell.error for line in table.lines for cell in line.cells} == {None}
    assert None not in {cell.mean for line in table.lines for cell in line.cells}


def test_the_oracle_says_what_it_is() -> None:
    def scored(place: Place) -> Score:
        return Score(False, 1 - place.draw / 2, 0.1, 0.1 * (place.draw + 1), 1.0)

    def shown(table: Table) -> float | None:
        return table.cell("ERM", TASKS[0]).mean

    assert shown(accuracy_table(results(scored))) == pytest.approx(0.1)
    oracle = accuracy_table(results(scored), Selection.ORACLE)
    assert shown(oracle) == pytest.approx(0.2)
    assert oracle.title.endswith("(chosen by target labels)")
    assert "a bound, not a result" in " ".join(oracle.notes)


def test_the_selection_is_told_for_one_draw_and_for_more() -> None:
    found = accuracy_table(results(made_up(6)))
    assert "of the 2 draws" in found.notes[1]
    (one,) = [note for note in accuracy_table(results(made_up(6), ONE_DRAW)).notes if "Selection" in note]
    assert one.startswith("Selection: the one run of a row, task and repeat")
