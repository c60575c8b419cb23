"""The contract of a study: its settings, its cells, what a cell computes, and how the rows become a table and a figure.

    settings ──cells──> Cell … ──compute──> rows ──table──> data.csv ──figure──> figure.png, figure.svg

Rows and tables are lists of flat dictionaries of numbers and strings. A cell is computed from its config and its seed
alone, in any process and in any order; what is drawn is in the table, nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from orda.errors import SettingError
from orda.seeds import child

Scalar = str | int | float
Row = dict[str, Scalar]
Table = list[Row]


@dataclass(frozen=True, slots=True)
class Cell:
    """One piece of work."""

    config: Mapping[str, Scalar]  # a point of the study's grid, and which repeat
    stream: tuple[str | int, ...]  # the names of its random stream below the study's; cells that share it share data

    @property
    def name(self) -> str:
        return " ".join(f"{key}={value}" for key, value in self.config.items())


@dataclass(frozen=True, kw_only=True)
class Study(ABC):
    """Settings of a study, and what it does with them. The defaults are the full study, ``quick()`` the short one."""

    repeats: int = 1

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line: what the study shows."""
    timed: ClassVar[bool] = False
    """Whether rows hold seconds. The cells are then computed one after another: neighbours would disturb them."""

    def __post_init__(self) -> None:
        if isinstance(self.repeats, bool) or not isinstance(self.repeats, int) or self.repeats < 1:
            raise SettingError("repeats must be an integer of at least 1", repr(self.repeats))

    @classmethod
    @abstractmethod
    def quick(cls) -> Self:
        """Settings for a look in some seconds."""

    @abstractmethod
    def cells(self) -> list[Cell]:
        """All cells, the first ones first; their names are all different."""

    @abstractmethod
    def compute(self, config: Mapping[str, Any], seed: int) -> list[Row]:
        """The rows of one cell. Rows that the table summarises together have the same keys."""

    @abstractmethod
    def table(self, rows: list[Row], rng: np.random.Generator) -> Table:
        """What the figure shows, intervals included; ``rng`` is for the bootstrap."""

    @abstractmethod
    def figure(self, table: Table) -> Any:
        """The figure of a table."""

    def seed_of(self, cell: Cell, root: int) -> int:
        return child(root, self.name, *cell.stream)

    def settings(self) -> dict[str, Any]:
        return asdict(self)


def repeated(repeats: int, **grid: tuple[Scalar, ...]) -> list[Cell]:
    """A cell for every repeat and every point of the grid; repeat r has one stream at all points, hence the same data.

    Repeats are the outermost loop: after some of them every point of an unfinished study has as many.
    """
    points: list[dict[str, Scalar]] = [{}]
    for key, values in grid.items():
        points = [{**point, key: value} for point in points for value in values]
    return [Cell({**point, "repeat": r}, ("repeat", r)) for r in range(repeats) for point in points]
