"""What is printed: numbers with their counts, and bold only where it is fair."""

from __future__ import annotations

from typing import Any

import pytest
from experiments.made import PROTOCOL, TASKS, results, score

from orda.experiments.jobs import Place
from orda.experiments.store import Score, State
from orda.experiments.tables import Grid, accuracy_table, comparison_grid, comparison_table, table_grid, time_table
from orda.experiments.tables.grid import Text


def grid(scored: Any, best: Any = "group", errors: Any = "all", **changes: Any) -> Grid:
    return table_grid(accuracy_table(results(scored, {**PROTOCOL, **changes})), best, errors)


def cell(found: Grid, name: str, column: int = 0) -> Text:
    rows = [row for section in found.sections for row in section]
    return next(row for row in rows if row.name == name).cells[column]


def bold(found: Grid, column: int = 0) -> list[str]:
    return [row.name for section in found.sections for row in section if row.cells[column].bold]


def by_row(**accuracies: float) -> Any:
    names = {name.replace("_", " + "): value for name, value in accuracies.items()}
    return lambda place: score(names.get(place.row, 0.1) + 0.01 * place.repeat)


def test_the_layout_is_the_papers() -> None:
    found = grid(by_row())
    assert found.heads == ("Method", "R-H", "H-R", "Average")
    assert found.apart
    assert [[row.label for row in section] for section in found.sections] == [
        ["ERM", "MCC"],
        ["CORAL", "+ VaRDASS", "+ ORDERED"],
        ["MMD", "+ ORDERED"],
    ]


def test_a_number_has_its_error_and_its_count() -> None:
    def scored(place: Place) -> Score | State:
        if place.row == "MCC" or (place.row == "CORAL" and place.repeat == 2):
            return State.QUEUED
        return score(0.5 + 0.1 * place.repeat, diverged=place.row == "MMD")

    found = grid(scored)
    assert cell(found, "ERM").text == "60.0 ± 5.8"
    assert cell(found, "CORAL").text == "55.0 ± 5.0 [2 of 3]"
    assert cell(found, "MCC") == Text("0 of 3", faint=True)
    assert cell(found, "MMD").text == "60.0 ± 5.8†"
    assert cell(grid(scored, repeats=1), "ERM").text == "50.0"


@pytest.mark.parametrize(
    ("errors", "texts"),
    [
        ("all", ["51.0 ± 0.6", "51.0 ± 0.6"]),
        ("average", ["51.0", "51.0 ± 0.6"]),
        ("none", ["51.0", "51.0"]),
    ],
)
def test_errors_where_they_are_wanted(errors: str, texts: list[str]) -> None:
    found = grid(by_row(ERM=0.5), errors=errors)
    assert [cell(found, "ERM", column).text for column in (0, 2)] == texts


def test_bold_is_the_best_of_the_group_or_of_the_column() -> None:
    scored = by_row(ERM=0.9, CORAL=0.3, CORAL_ORDERED=0.5, MMD=0.8, MMD_ORDERED=0.7)
    assert bold(grid(scored)) == ["ERM", "CORAL + ORDERED", "MMD"]
    assert bold(grid(scored, "column")) == ["ERM"]
    assert "group" in (grid(scored).bold_means or "")
    assert "group" not in (grid(scored, "column").bold_means or "")


def test_of_equals_as_printed_all_are_bold() -> None:
    assert bold(grid(by_row(ERM=0.50001, MCC=0.50004, MMD=0.5, MMD_ORDERED=0.6)))[:2] == ["ERM", "MCC"]


def test_means_over_different_repeats_are_not_judged() -> None:
    def scored(place: Place) -> Score | State:
        there = {"MMD": 0, "CORAL": 2}.get(place.row, 3)  # so many repeats of the row
        return score(0.5) if place.repeat < there else State.QUEUED

    found = grid(scored)
    assert "MMD + ORDERED" not in bold(found)  # its only rival has no number
    assert not {"CORAL", "CORAL + ORDERED"} & set(bold(found))  # two repeats against three
    assert "ERM" in bold(found)


def test_where_nothing_is_bold_no_note_speaks_of_it() -> None:
    found = grid(lambda place: State.QUEUED)
    assert found.bold_means is None
    assert found.told() == found.notes


@pytest.mark.parametrize(("seconds", "text"), [(2.26, "2.3 ± 0.0"), (393.4, "393 ± 0")])
def test_seconds_have_digits_where_there_are_few(seconds: float, text: str) -> None:
    found = table_grid(time_table([results(lambda place: score(0.5, seconds=seconds))]))
    assert cell(found, "ORDERED") == Text(text)


def test_an_absent_sampler_is_blank() -> None:
    other = {"MMD": {"MMD": {"algorithm": "mmd"}, "+ DPP": {"algorithm": "mmd", "sampler": "dpp"}}}
    sweeps = [results(lambda p: score(0.5)), results(lambda p: score(0.5), {**PROTOCOL, "groups": other})]
    found = table_grid(time_table(sweeps))
    assert cell(found, "DPP", 0).text == ""
    assert cell(found, "DPP", 1).text == "1.0 ± 0.0"


def test_comparisons_are_bold_where_the_interval_leaves_zero_out() -> None:
    def scored(place: Place) -> Score:
        better = 0.1 * (place.row == "CORAL + ORDERED") - 0.001 * place.repeat * (place.row == "CORAL")
        return score(0.5 + better + 0.01 * (place.repeat - 1) * (place.row == "CORAL + VaRDASS"))

    found = comparison_grid(comparison_table(results(scored)))
    first = found.sections[0]
    assert [row.cells[1] for row in first] == [Text("+0.1"), Text("+10.1", bold=True), Text("+10.0", bold=True)]
    assert first[1].cells[2].text == "+9.9 to +10.3"
    assert first[1].cells[3:] == (Text("6/0/0"), Text("6"), Text("0.031"))
    assert first[0].cells[2].text.startswith("−")
    assert found.bold_means


def test_a_comparison_without_a_repeat_is_blank() -> None:
    found = comparison_grid(comparison_table(results(lambda place: State.QUEUED)))
    assert [text.text for text in found.sections[0][0].cells] == ["CORAL", "0 of 3", "", "", "", ""]


def test_every_row_has_a_text_for_every_column() -> None:
    data = results(lambda place: score(0.5))
    for found in (grid(by_row()), table_grid(time_table([data])), comparison_grid(comparison_table(data))):
        rows = [row for section in found.sections for row in section]
        assert rows
        assert {len(row.cells) for row in rows} == {len(found.heads) - 1}
    assert len(grid(by_row(), tasks=TASKS[:1], headings={}).heads) == 2
