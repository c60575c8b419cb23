"""The error of D̂ against the horizon M: the paper's Figure 3b, taken apart.

The paper sees the variance fall until M = 50 and rise after it. Three things change with M:

    the pool     The mean of M examples a stratum is off by what the draw decided, and no order repairs that. It falls
                 as M grows, and is 0 at M = n/k, where the pool is all the data.
    the pass     Algorithm 2 goes through the minibatches once, and what is left behind in the first of them stays.
    the strata   n_min = M makes them more alike in size, at the price of their own objective.

The pool's part is its lower bound, the pass's is what Algorithm 2 leaves above it, and the strata's shows in the error
of the pool as it was drawn, before any ordering.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from orda.discrepancies import MMD
from orda.experiments.simulate.compare import AsDrawn, error_rows, on_one_pool
from orda.experiments.simulate.domains import normal
from orda.experiments.simulate.statistics import (
    ERROR_STATISTICS,
    Statistic,
    band,
    column,
    mean_of,
    summarise,
    where,
)
from orda.experiments.simulate.study import Cell, Row, Study, Table, repeated
from orda.ordering import OPTIMISERS, Optimiser
from orda.plots import curve, finish, in_order, letter, new_figure, plain_ticks
from orda.records import FloatArray
from orda.seeds import generator

STATISTICS: dict[str, Statistic] = ERROR_STATISTICS | {
    "bound": mean_of("bound"),
    "above the bound": lambda mean: np.maximum(mean["squared_error"] - mean["bound"], 0.0),
    "of the first tenth": mean_of("first_tenth"),
    "of the others": lambda mean: mean["squared_error"] - mean["first_tenth"],
}
BANDS = ("as drawn", "greedy", "assignment")  # the others' lie on top of assignment's


@dataclass(frozen=True, kw_only=True)
class VarianceVsM(Study):
    """Linear-kernel MMD between two standard normal samples, every optimiser on the same pools."""

    n: int = 4000
    d: int = 2
    batch_size: int = 20
    horizons: tuple[int, ...] = (2, 5, 10, 20, 35, 50, 75, 100, 150, 200)
    optimisers: tuple[str, ...] = field(default_factory=lambda: tuple(in_order(OPTIMISERS)))
    repeats: int = 60

    name: ClassVar[str] = "variance-vs-m"
    summary: ClassVar[str] = "Figure 3b: error of the estimate against the horizon M, for every optimiser."

    @classmethod
    def quick(cls) -> Self:
        return cls(horizons=(2, 10, 50, 100, 200), repeats=2)

    def cells(self) -> list[Cell]:
        return repeated(self.repeats, horizon=self.horizons)

    def compute(self, config: Mapping[str, Any], seed: int) -> list[Row]:
        horizon = int(config["horizon"])
        features = normal(generator(seed, "data"), self.n, self.d)
        optimisers: dict[str, Optimiser] = {"as drawn": AsDrawn()}
        optimisers |= {name: OPTIMISERS[name]() for name in self.optimisers}
        plan_stream = generator(seed, "plan", horizon)
        pooled = on_one_pool(MMD("linear"), features, self.batch_size, horizon, plan_stream, optimisers)
        early = {name: first_tenth(found.values - pooled.d0) for name, found in pooled.found.items()}
        return [
            {**config, "series": name, **row, "first_tenth": early[name]} for name, row in error_rows(pooled).items()
        ]

    def table(self, rows: list[Row], rng: np.random.Generator) -> Table:
        return summarise(rows, ("horizon", "series"), STATISTICS, rng)

    def figure(self, table: Table) -> Any:
        figure, axes = new_figure(1, 3, height=2.9, share_y=True)
        for number, (statistic, title) in enumerate((("mse", "mean squared error"), ("variance", "variance"))):
            panel = axes[0, number]
            for name in in_order(["as drawn", *self.optimisers]):
                found = where(table, statistic=statistic, series=name)
                values = band(found) if name in BANDS else column(found, "value")
                curve(panel, column(found, "horizon"), values, name)
            if statistic == "mse":
                found = where(table, statistic="bound", series="greedy")
                curve(panel, column(found, "horizon"), column(found, "value"), "bound")
            letter(panel, title, number)
        parts(axes[0, 2], where(table, series="greedy"))
        for panel in axes[0]:
            panel.set(xscale="log", yscale="log", xlabel="horizon M (minibatches a plan)")
            plain_ticks(panel.xaxis, (2, 5, 10, 20, 50, 100, 200))
        axes[0, 0].set_ylabel(r"error of $\hat D$   (feature units$^4$)")
        axes[0, 0].set_ylim(bottom=1e-11)
        finish(
            figure,
            "Estimation error of the linear MMD against the horizon",
            f"Two standard normal samples in {self.d}-D, n = {self.n:,} each; k = {self.batch_size}, n_min = M; "
            f"{self.repeats} repeats with fresh data; all optimisers order the same pools. (c) takes the greedy curve "
            "of (a) apart: what the pool decides, which no order repairs, and what the single pass leaves above it; "
            "and how much of the whole comes from the first tenth of the minibatches. Where curves coincide the last "
            "in the legend is on top. Bands: 95 % bootstrap intervals over the repeats. At M = n/k the pool is all the "
            "data and its bound 0.",
        )
        return figure


def first_tenth(e: FloatArray) -> float:
    """What the first tenth of the minibatches (at least one) adds to the mean squared error."""
    count = max(1, len(e) // 10)
    return float(np.square(e[:count]).sum() / len(e))


def parts(panel: Any, greedy: Table) -> None:
    """Algorithm 2's mean squared error, and the parts that it is made of."""
    for statistic in ("mse", "bound", "above the bound", "of the first tenth"):
        found = where(greedy, statistic=statistic)
        values = column(found, "value") if statistic == "bound" else band(found)
        curve(panel, column(found, "horizon"), values, "greedy" if statistic == "mse" else statistic)
    letter(panel, "greedy, taken apart", 2)
