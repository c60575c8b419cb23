"""Rows against each other in pairs: the same task, splits, seeds and hyperparameter candidates, another sampler.

    d(task, r)   accuracy of the row − accuracy of the other, of one task and repeat: a pair
    d̄(r)         mean of d over the tasks
    difference   mean of d̄ over the repeats, with the paired t interval: R − 1 degrees of freedom
    sign test    over the pairs

The interval takes the repeats for its units and not the pairs: tasks are the same few in every repeat and share its
splits, and what is wanted is how much the mean over *these* tasks would differ in other repeats. It is the interval of
the difference of two entries of the table's average column. Only repeats in which both rows have every task count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orda.errors import UnknownName
from orda.experiments.protocol import Row
from orda.experiments.select import Selection, select
from orda.experiments.tables.accuracy import Accuracies, accuracies, repeat_means
from orda.experiments.tables.model import Comparison, Comparisons
from orda.experiments.tables.notes import comparison_notes
from orda.experiments.tables.results import Results
from orda.experiments.tables.statistics import mean_and_error, sign_test, t_interval


def compare(
    results: Results,
    against: Sequence[str] = (),
    selection: Selection = Selection.SOURCE_VALIDATION,
    unfinished: bool = False,
) -> list[Comparison]:
    """Every row against each of the rows ``against``; by default each sampler against uniform in its group, and the
    ordered ones against the others of their group."""
    return _compared(results, against, accuracies(select(results.records, selection), selection, unfinished))


def comparison_table(
    results: Results,
    against: Sequence[str] = (),
    selection: Selection = Selection.SOURCE_VALIDATION,
    unfinished: bool = False,
) -> Comparisons:
    """The comparisons with what a reader must know to read them."""
    choices = select(results.records, selection)
    items = _compared(results, against, accuracies(choices, selection, unfinished))
    notes = comparison_notes(results, choices, selection, len(items))
    title = f"Paired differences in accuracy, protocol {results.protocol.name}"
    return Comparisons(title, tuple(items), notes, results.protocol.name)


def _compared(results: Results, against: Sequence[str], values: Accuracies) -> list[Comparison]:
    pairs = _chosen(results, against) if against else _default(results)
    return [_compare(row, other, results, values) for row, other in pairs]


def _chosen(results: Results, against: Sequence[str]) -> Iterator[tuple[Row, Row]]:
    rows = {row.name: row for row in results.rows}
    for name in against:
        if name not in rows:
            raise UnknownName("row to compare with", name, rows)
        yield from ((row, rows[name]) for row in rows.values() if row.name != name)


def _default(results: Results) -> Iterator[tuple[Row, Row]]:
    for rows in results.sampler_groups:
        kind = {row.name: results.configs[row.name].sampler.name for row in rows}
        uniform = [row for row in rows if kind[row.name] == "uniform"][:1]
        others = [row for row in rows if row not in uniform]
        ordered = [row for row in others if kind[row.name] == "ordered"]
        yield from ((row, base) for base in uniform for row in others)
        yield from ((row, other) for row in ordered for other in others if kind[other.name] != "ordered")


def _compare(row: Row, other: Row, results: Results, values: Accuracies) -> Comparison:
    tasks, repeats = results.tasks, results.repeats
    mine, its = (repeat_means(each.name, tasks, repeats, values) for each in (row, other))
    differences = {repeat: mine[repeat] - its[repeat] for repeat in repeats if repeat in mine and repeat in its}
    wins, ties, losses = (0, 0, 0)
    for repeat in differences:
        for task in tasks:
            difference = values[row.name, task, repeat] - values[other.name, task, repeat]
            wins, ties, losses = wins + (difference > 0), ties + (difference == 0), losses + (difference < 0)
    listed = list(differences.values())
    low, high = t_interval(listed)
    return Comparison(
        row.group,
        row.name,
        other.name,
        differences,
        len(repeats),
        mean_and_error(listed)[0],
        low,
        high,
        wins,
        ties,
        losses,
        sign_test(wins, losses),
    )
