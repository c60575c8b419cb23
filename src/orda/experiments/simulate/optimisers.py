"""Objective against seconds: what each ordering optimiser makes of the same pool in how much time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from orda.experiments.simulate.compare import AsDrawn, on_one_pool
from orda.experiments.simulate.problems import PROBLEMS, problem
from orda.experiments.simulate.statistics import Statistic, band, column, summarise, where
from orda.experiments.simulate.study import Cell, Row, Study, Table, repeated
from orda.ordering import OPTIMISERS, initial_arrangement
from orda.plots import curve, finish, in_order, letter, level, log_ticks, new_figure
from orda.seeds import generator

TINY = 1e-30  # objectives are compared by their logarithms
TRIES = 3  # of which the fastest counts: whatever else the machine does only adds seconds
NEAR = 0.01  # a bound further below the objectives is not drawn: it would flatten them
STATISTICS: dict[str, Statistic] = {
    "seconds": lambda mean: np.exp(mean["log_seconds"]),
    "objective": lambda mean: np.exp(mean["log_objective"]),
    "bound": lambda mean: np.exp(mean["log_bound"]),
}


@dataclass(frozen=True, kw_only=True)
class Optimisers(Study):
    """Each optimiser stopped after 1, 2, 3 … passes, on one pool a problem and repeat; preparing it is not timed."""

    n: int = 2500
    batch_size: int = 20
    horizon: int = 100
    passes: tuple[int, ...] = (1, 2, 3, 5, 10, 20)
    problems: tuple[str, ...] = tuple(PROBLEMS)
    optimisers: tuple[str, ...] = field(default_factory=lambda: tuple(in_order(OPTIMISERS)))
    repeats: int = 10

    name: ClassVar[str] = "optimisers"
    summary: ClassVar[str] = "Objective against seconds, for every ordering optimiser on three problems."
    timed: ClassVar[bool] = True

    @classmethod
    def quick(cls) -> Self:
        return cls(n=600, batch_size=12, horizon=40, passes=(1, 2, 5, 20), repeats=2)

    def cells(self) -> list[Cell]:
        return repeated(self.repeats, problem=self.problems)

    def compute(self, config: Mapping[str, Any], seed: int) -> list[Row]:
        asked = problem(config["problem"])
        features = asked.features(generator(seed, "data"), self.n)
        plan_stream = generator(seed, "plan")
        pooled = on_one_pool(
            asked.discrepancy, features, self.batch_size, self.horizon, plan_stream, {"as drawn": AsDrawn()}
        )
        begun = pooled.found["as drawn"].objectives[0]
        bound = max(TINY, (pooled.lower_bound or 0.0) / begun)
        first = initial_arrangement(2 * self.batch_size, self.horizon)
        rows: list[Row] = []
        for name in self.optimisers:
            replace(OPTIMISERS[name](), max_passes=1)(pooled.problem, first, generator(seed, "order"))  # compiles it
            for passes in self.passes:
                optimiser = replace(OPTIMISERS[name](), max_passes=passes)
                tries = [optimiser(pooled.problem, first, generator(seed, "order")) for _ in range(TRIES)]
                found = min(tries, key=lambda ordering: ordering.seconds)  # they differ in their seconds alone
                rows.append({
                    **config,
                    "series": name,
                    "passes": passes,
                    "log_seconds": float(np.log(found.seconds)),
                    "log_objective": float(np.log(max(TINY, min(found.objectives) / begun))),
                    "log_bound": float(np.log(bound)),
                })  # fmt: skip
        return rows

    def table(self, rows: list[Row], rng: np.random.Generator) -> Table:
        return summarise(rows, ("problem", "series", "passes"), STATISTICS, rng)

    def figure(self, table: Table) -> Any:
        figure, axes = new_figure(1, len(self.problems), height=2.9)
        for number, name in enumerate(self.problems):
            panel, here = axes[0, number], where(table, problem=name)
            for optimiser in self.optimisers:
                found = where(here, series=optimiser)
                curve(
                    panel,
                    column(where(found, statistic="seconds"), "value"),
                    band(where(found, statistic="objective")),
                    optimiser,
                )
            bound = column(where(here, statistic="bound"), "value")[0]
            if bound > NEAR * column(where(here, statistic="objective"), "value").min():
                level(panel, bound, "bound")
            panel.set(xscale="log", yscale="log", xlabel="seconds of ordering")
            log_ticks(panel.xaxis)
            if name != "linear 2-D":  # few decades
                log_ticks(panel.yaxis)
            letter(panel, PROBLEMS[name].title, number)
        axes[0, 0].set_ylabel("objective / objective of the pool as drawn")
        finish(
            figure,
            "What ordering costs and brings",
            f"{self.repeats} pools a problem of k = {self.batch_size} strata a domain and M = {self.horizon}; every "
            "optimiser starts from the same order. Markers: stopped after "
            f"{', '.join(map(str, self.passes))} passes, or when nothing improved any more; geometric means over the "
            "pools, bands 95 % bootstrap intervals. One thread, the fastest of three tries; preparing the "
            "pool is not counted. The bound is drawn where it is near.",
        )
        return figure
