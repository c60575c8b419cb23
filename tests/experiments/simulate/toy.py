"""A study without mathematics, to test the runner with: normal numbers, and misbehaviour on demand.

What it does is said by ``folder``, which is part of its config and seen by all processes: every cell that is computed
adds a line to ``computed`` there; while ``slow`` is there cells take a tenth of a second; the cell whose name is in
``die`` ends its process.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from orda.experiments.simulate.statistics import band, column, mean_of, summarise, where
from orda.experiments.simulate.study import Cell, Row, Study, Table, repeated
from orda.plots import curve, finish, letter, new_figure
from orda.seeds import generator

PLACE = "ORDA_TOY_PLACE"  # names the folder where nothing else does


@dataclass(frozen=True, kw_only=True)
class Toy(Study):
    folder: str = field(default_factory=lambda: os.environ.get(PLACE, ""))
    sizes: tuple[int, ...] = (2, 8)
    repeats: int = 3

    name: ClassVar[str] = "toy"
    summary: ClassVar[str] = "Means of normal numbers."

    @classmethod
    def quick(cls) -> Self:
        return cls(repeats=2)

    def cells(self) -> list[Cell]:
        return repeated(self.repeats, size=self.sizes)

    def compute(self, config: Mapping[str, Any], seed: int) -> list[Row]:
        place, name = Path(self.folder), " ".join(f"{key}={value}" for key, value in config.items())
        if (place / "slow").exists():
            time.sleep(0.1)
        if (place / "die").exists() and name in (place / "die").read_text():
            os._exit(9)
        with (place / "computed").open("a") as file:
            file.write(f"{name}\n")
        if config["repeat"] == 0:
            warnings.warn(f"the first repeat of size {config['size']}", UserWarning, stacklevel=1)
        mean = generator(seed, "data").normal(size=int(config["size"])).mean()
        return [{**config, "series": "uniform", "mean": float(mean)}]

    def table(self, rows: list[Row], rng: np.random.Generator) -> Table:
        return summarise(rows, ("size", "series"), {"mean": mean_of("mean")}, rng)

    def figure(self, table: Table) -> Any:
        figure, axes = new_figure(height=1.5)
        found = where(table, series="uniform")
        curve(axes[0, 0], column(found, "size"), band(found), "uniform")
        letter(axes[0, 0], "toy", 0)
        finish(figure, "Means of normal numbers", f"{self.repeats} repeats.")
        return figure


@dataclass(frozen=True, kw_only=True)
class Timed(Toy):
    """The same, but its rows say which process computed them."""

    name: ClassVar[str] = "timed"
    timed: ClassVar[bool] = True

    def compute(self, config: Mapping[str, Any], seed: int) -> list[Row]:
        return [{**row, "process": os.getpid()} for row in super().compute(config, seed)]
