"""Tables as texts in rows and columns, with what is to be stressed: what every renderer starts from.

A number's text:   61.2 ± 1.0            mean and standard error
                   61.2                  of one repeat
                   61.2 ± 1.0 [3 of 5]   over three repeats of five; the others are missing
                   0 of 5                nothing yet
                   61.2 ± 1.0†           see the notes
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from orda.experiments.tables.model import Cell, Comparison, Comparisons, Line, Table
from orda.experiments.tables.notes import DIVERGED
from orda.experiments.tables.statistics import LEVEL

Scope = Literal["group", "column"]
Errors = Literal["all", "average", "none"]
BEST = {
    "group": "the best of its group in the column, where the means of all are over the same repeats",
    "column": "the best of the column, where the means of all are over the same repeats",
}
CLEAR = "intervals without zero"


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    bold: bool = False
    faint: bool = False


@dataclass(frozen=True, slots=True)
class GridRow:
    label: str  # below its group
    name: str  # alone
    cells: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """What is printed."""

    title: str
    heads: tuple[str, ...]  # the first stands over the labels
    sections: tuple[tuple[GridRow, ...], ...]  # with a rule between them
    notes: tuple[str, ...]
    bold_means: str | None = None  # None: nothing is bold
    apart: bool = False  # whether the last column stands apart
    words: tuple[int, ...] = (0,)  # the columns that hold words; the others hold numbers

    def told(self, bold: str = "Bold:") -> tuple[str, ...]:
        """The notes, with what ``bold`` or a sign in its place means."""
        return self.notes if self.bold_means is None else (f"{bold} {self.bold_means}.", *self.notes)


def table_grid(table: Table, best: Scope = "group", errors: Errors = "all") -> Grid:
    """Accuracies in percent, the best of each ``group`` or ``column`` bold; times in seconds."""
    show = _shower(table)
    bold = _best(table, best, show) if table.kind == "accuracy" else set()
    rows = []
    for i, line in enumerate(table.lines):
        with_error = [errors == "all" or (errors == "average" and column.average) for column in table.columns]
        texts = [_cell(cell, show, error) for cell, error in zip(line.cells, with_error, strict=True)]
        cells = tuple(Text(text, (i, j) in bold, not line.cells[j].values) for j, text in enumerate(texts))
        rows.append((line.group, GridRow(line.label, line.name, cells)))
    return Grid(
        table.title,
        (table.stub, *(column.heading for column in table.columns)),
        sections(rows),
        table.notes,
        BEST[best] if bold else None,
        apart=any(column.average for column in table.columns),
    )


def comparison_grid(comparisons: Comparisons) -> Grid:
    """One line a comparison; bold where the interval leaves zero out."""
    rows = [(item.group, GridRow(item.row, item.row, _comparison(item))) for item in comparisons.items]
    clear = any(cell.bold for _, row in rows for cell in row.cells)
    heads = ("Method", "Against", "Difference", f"{LEVEL:.0%} interval", "Wins/ties/losses", "Pairs", "Sign test p")
    return Grid(comparisons.title, heads, sections(rows), comparisons.notes, CLEAR if clear else None, words=(0, 1))


def sections(rows: Sequence[tuple[str, GridRow]]) -> tuple[tuple[GridRow, ...], ...]:
    """Rows by their groups, which stand together."""
    return tuple(tuple(row for _, row in found) for _, found in groupby(rows, key=lambda pair: pair[0]))


# ---- numbers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Shower:
    factor: float
    digits: int

    def __call__(self, value: float) -> str:
        return f"{self.factor * value:.{self.digits}f}"


def _shower(table: Table) -> _Shower:
    """Percent with one digit; whole seconds unless there are few of them."""
    if table.kind == "accuracy":
        return _Shower(100, 1)
    means = [cell.mean for line in table.lines for cell in line.cells if cell.mean is not None]
    return _Shower(1, 0 if min(means, default=0) >= 100 else 1)


def _cell(cell: Cell, show: _Shower, with_error: bool) -> str:
    if cell.mean is None:
        return f"0 of {cell.asked}" if cell.asked else ""
    error = f" ± {show(cell.error)}" if with_error and cell.error is not None else ""
    return show(cell.mean) + error + _mark(cell) + _count(cell.values, cell.asked)


def _mark(cell: Cell) -> str:
    return DIVERGED if cell.diverged else ""


def _count(values: Iterable[int], asked: int) -> str:
    there = len(list(values))
    return "" if there == asked else f" [{there} of {asked}]"


def _best(table: Table, scope: Scope, show: _Shower) -> set[tuple[int, int]]:
    """Where the best means are; of equals, as printed, all. A mean over other repeats than its rivals' is not judged,
    nor is one without any."""
    found = set()
    keys = dict.fromkeys(line.group if scope == "group" else "" for line in table.lines)
    for key in keys:
        rows = [i for i, line in enumerate(table.lines) if scope == "column" or line.group == key]
        for j in range(len(table.columns)):
            found |= {(i, j) for i in _best_of(table.lines, rows, j, show)}
    return found


def _best_of(lines: Sequence[Line], rows: Sequence[int], column: int, show: _Shower) -> list[int]:
    means = {i: mean for i in rows if (mean := lines[i].cells[column].mean) is not None}
    if len(means) < 2 or len({tuple(lines[i].cells[column].values) for i in means}) > 1:
        return []
    top = show(max(means.values()))
    return [i for i, mean in means.items() if show(mean) == top]


def _comparison(item: Comparison) -> tuple[Text, ...]:
    count = _count(item.values, item.asked)
    if item.difference is None:
        blank = Text("", faint=True)
        return (Text(item.against), Text(f"0 of {item.asked}", faint=True), blank, blank, blank, blank)
    clear = item.low is not None and item.high is not None and (item.low > 0 or item.high < 0)
    interval = "" if item.low is None or item.high is None else f"{signed(item.low)} to {signed(item.high)}"
    return (
        Text(item.against),
        Text(signed(item.difference) + count, bold=clear),
        Text(interval),
        Text(f"{item.wins}/{item.ties}/{item.losses}"),
        Text(str(item.pairs)),
        Text("" if item.p is None else "< 0.001" if item.p < 0.001 else f"{item.p:.3f}"),
    )


def signed(share: float) -> str:
    """In percentage points, with a sign: "+1.2", "−0.3"."""
    return f"{100 * share:+.1f}".replace("-", "−")
