"""Variance, bias and mean squared error of D̂ against the minibatch size k: the paper's Figure 3a, and what is new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from orda.discrepancies import MMD
from orda.experiments.simulate.compare import error_rows, on_one_pool
from orda.experiments.simulate.domains import normal
from orda.experiments.simulate.statistics import (
    ERROR_STATISTICS,
    Statistic,
    assessed,
    band,
    column,
    mean_of,
    summarise,
    where,
)
from orda.experiments.simulate.study import Cell, Row, Study, Table, repeated
from orda.ordering import Assignment, Greedy
from orda.plots import curve, finish, letter, new_figure, plain_ticks
from orda.samplers import Sampler, Stratified, Uniform
from orda.seeds import generator

SERIES = ("uniform", "stratified", "greedy", "assignment")
STATISTICS: dict[str, Statistic] = ERROR_STATISTICS | {
    "bias squared": lambda mean: mean["error"] ** 2,
    "bound": mean_of("bound"),
}


@dataclass(frozen=True, kw_only=True)
class VarianceVsK(Study):
    """Linear-kernel MMD between two standard normal samples."""

    n: int = 4000
    d: int = 2
    horizon: int = 100
    batch_sizes: tuple[int, ...] = (2, 3, 4, 6, 8, 11, 15, 20, 28, 40)
    repeats: int = 60

    name: ClassVar[str] = "variance-vs-k"
    summary: ClassVar[str] = "Figure 3a: error of the estimate against the minibatch size k, for four samplers."

    @classmethod
    def quick(cls) -> Self:
        return cls(batch_sizes=(2, 6, 20, 40), repeats=4)

    def cells(self) -> list[Cell]:
        return repeated(self.repeats, batch_size=self.batch_sizes)

    def compute(self, config: Mapping[str, Any], seed: int) -> list[Row]:
        k, mmd = int(config["batch_size"]), MMD("linear")
        features = normal(generator(seed, "data"), self.n, self.d)
        found: dict[str, Row] = {}
        samplers: dict[str, Sampler] = {"uniform": Uniform(), "stratified": Stratified(mmd)}
        for name, sampler in samplers.items():
            plan = sampler.plan(features, k, self.horizon, generator(seed, "plan", k, name))
            found[name] = {**assessed(plan, features, mmd), "bound": 0.0}
        optimisers = {"greedy": Greedy(), "assignment": Assignment()}
        found |= error_rows(
            on_one_pool(mmd, features, k, self.horizon, generator(seed, "plan", k, "ordered"), optimisers)
        )
        return [{**config, "series": name, **row} for name, row in found.items()]

    def table(self, rows: list[Row], rng: np.random.Generator) -> Table:
        return summarise(rows, ("batch_size", "series"), STATISTICS, rng)

    def figure(self, table: Table) -> Any:
        figure, axes = new_figure(1, 3, height=2.6, share_y=True)
        panels = (("variance", "variance"), ("bias squared", "squared bias"), ("mse", "mean squared error"))
        for number, (statistic, title) in enumerate(panels):
            panel = axes[0, number]
            for name in SERIES:
                found = where(table, statistic=statistic, series=name)
                curve(panel, column(found, "batch_size"), band(found), name)
            if statistic == "mse":
                found = where(table, statistic="bound", series="greedy")
                curve(panel, column(found, "batch_size"), column(found, "value"), "bound")
            panel.set(xscale="log", yscale="log", xlabel="minibatch size k (examples)")
            plain_ticks(panel.xaxis, (2, 5, 10, 20, 40))
            letter(panel, title, number)
        axes[0, 0].set_ylabel(r"error of $\hat D$   (feature units$^4$)")
        axes[0, 0].set_ylim(bottom=1e-15)
        finish(
            figure,
            "Estimation error of the linear MMD against the minibatch size",
            f"Two standard normal samples in {self.d}-D, n = {self.n:,} each; M = {self.horizon} minibatches a plan; "
            f"{self.repeats} repeats with fresh data. Error is D̂ − D₀ of a minibatch; mean squared error = variance + "
            "squared bias. Bands: 95 % bootstrap intervals over the repeats. Dotted: no order of the same pool has a "
            "lower mean squared error. At k = n/M the pool is all the data, and the bound is 0.",
        )
        return figure
