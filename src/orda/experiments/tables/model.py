"""The tables as data, before anything is rendered.

records ──accuracy_table──> Table ─┐
records ──time_table──────> Table ─┼─> grid ──> text, Markdown, LaTeX, HTML
records ──compare─────> Comparison ┘
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self

from orda.experiments.tables.statistics import mean_and_error


@dataclass(frozen=True, slots=True)
class Cell:
    """A mean over repeats, and how many repeats it is of."""

    values: Mapping[int, float]  # repeat -> value, of the repeats that count
    asked: int  # repeats that there should be
    diverged: int = 0  # accuracy: of the values, how many are of diverged runs; time: runs that were left out
    mean: float | None = None
    error: float | None = None  # standard error over the repeats; None for one repeat

    @classmethod
    def of(cls, values: Mapping[int, float], asked: int, diverged: int = 0) -> Self:
        ordered = {repeat: values[repeat] for repeat in sorted(values)}
        return cls(ordered, asked, diverged, *mean_and_error(list(ordered.values())))

    @property
    def complete(self) -> bool:
        return len(self.values) == self.asked


@dataclass(frozen=True, slots=True)
class Column:
    key: str  # a task, or a sweep
    heading: str
    average: bool = False  # over the columns before it


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table."""

    group: str
    label: str  # as it stands below its group: "+ ORDERED"
    name: str  # as it stands alone: "CORAL + ORDERED"
    cells: tuple[Cell, ...]  # one for every column


@dataclass(frozen=True, slots=True)
class Table:
    """Means over repeats, by row and column."""

    kind: Literal["accuracy", "time"]
    title: str
    stub: str  # what the rows are
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]  # what a reader must know to read the numbers
    protocol: str = ""  # its name; empty where the columns are several

    def line(self, name: str) -> Line:
        return next(line for line in self.lines if line.name == name)

    def cell(self, name: str, key: str) -> Cell:
        """The cell of a row and a column, by name and key ("average" is the key of the average)."""
        return self.line(name).cells[[column.key for column in self.columns].index(key)]


AVERAGE = "average"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One row against another, on the same tasks with the same splits and seeds. Differences are of shares."""

    group: str
    row: str
    against: str
    values: Mapping[int, float]  # repeat -> mean difference over the tasks, of the repeats that have all of them
    asked: int  # repeats that there should be
    difference: float | None  # the mean over these repeats
    low: float | None  # of the t interval over the repeats; None for one repeat
    high: float | None
    wins: int  # pairs (task, repeat) in which ``row`` is better
    ties: int
    losses: int
    p: float | None  # of the two-sided sign test over the pairs

    @property
    def pairs(self) -> int:
        return self.wins + self.ties + self.losses


@dataclass(frozen=True, slots=True)
class Comparisons:
    """The comparisons within a sweep."""

    title: str
    items: tuple[Comparison, ...]
    notes: tuple[str, ...]
    protocol: str
