"""The table of accuracies: rows × tasks, and the average over the tasks.

    cell      mean and standard error over the repeats r of a(row, task, r), what select.py chose
    average   mean and standard error over the repeats r of ā(row, r) = mean over the tasks of a(row, task, r)

The average's error is not put together from the cells' errors: the repeats of all tasks share their splits, so the
cells are not independent. A repeat counts in a cell when its search is through, in the average when all its tasks do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum

from orda.experiments.select import Choice, Key, Selection, select
from orda.experiments.tables.model import AVERAGE, Cell, Column, Line, Table
from orda.experiments.tables.notes import accuracy_notes
from orda.experiments.tables.results import Results

Accuracies = Mapping[Key, float]
"""(row, task, repeat) -> accuracy, of the repeats that count."""


def accuracies(choices: Mapping[Key, Choice], rule: Selection, unfinished: bool = False) -> dict[Key, float]:
    """The accuracies that count: of searches that are through, or, with ``unfinished``, of whatever is there."""
    found = {key: choice.accuracy(rule) for key, choice in choices.items() if unfinished or choice.through}
    return {key: value for key, value in found.items() if value is not None}


def accuracy_table(
    results: Results, selection: Selection = Selection.SOURCE_VALIDATION, unfinished: bool = False
) -> Table:
    """Accuracy by row and task, as shares."""
    choices = select(results.records, selection)
    values = accuracies(choices, selection, unfinished)
    columns = [Column(task, results.protocol.heading(task)) for task in results.tasks]
    if len(columns) > 1:
        columns.append(Column(AVERAGE, "Average", average=True))
    lines = [Line(row.group, row.label, row.name, _cells(row.name, results, choices, values)) for row in results.rows]
    oracle = " (chosen by target labels)" if selection is Selection.ORACLE else ""
    return Table(
        "accuracy",
        (results.protocol.title or f"Average test accuracy for {results.protocol.name}") + oracle,
        "Method",
        tuple(columns),
        tuple(lines),
        accuracy_notes(results, choices, selection, unfinished),
        results.protocol.name,
    )


def _cells(row: str, results: Results, choices: Mapping[Key, Choice], values: Accuracies) -> tuple[Cell, ...]:
    cells = [_cell(row, task, results, choices, values) for task in results.tasks]
    if len(cells) == 1:
        return tuple(cells)
    means = repeat_means(row, results.tasks, results.repeats, values)
    fallen = sum(any(_fell_back(choices, row, task, repeat) for task in results.tasks) for repeat in means)
    return (*cells, Cell.of(means, len(results.repeats), fallen))


def _cell(row: str, task: str, results: Results, choices: Mapping[Key, Choice], values: Accuracies) -> Cell:
    found = {repeat: values[row, task, repeat] for repeat in results.repeats if (row, task, repeat) in values}
    fallen = sum(_fell_back(choices, row, task, repeat) for repeat in found)
    return Cell.of(found, len(results.repeats), fallen)


def _fell_back(choices: Mapping[Key, Choice], row: str, task: str, repeat: int) -> bool:
    return choices[row, task, repeat].fell_back


def repeat_means(row: str, tasks: Sequence[str], repeats: Sequence[int], values: Accuracies) -> dict[int, float]:
    """ā(row, r), of the repeats that have all tasks."""
    return {
        repeat: fsum(values[row, task, repeat] for task in tasks) / len(tasks)
        for repeat in repeats
        if all((row, task, repeat) in values for task in tasks)
    }
