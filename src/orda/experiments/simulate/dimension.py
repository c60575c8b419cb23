"""Bias and variance of D̂ against the dimension, for every sampler and four discrepancies.

In high dimension points are nearly equally far from each other. A kernel whose γ do not follow sees each point as
like itself and no other: its Gram matrix is nearly a multiple of the identity, and D̂ = pᵀK_ss p + qᵀK_tt q − 2pᵀK_st q
is nearly its diagonal part, Σ p² κ + Σ q² κ, the same in every minibatch and far above D0. Such an estimate has little
variance left to reduce, and what it has of an error is bias.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from orda.discrepancies import CORAL, MMD, Discrepancy
from orda.experiments.simulate.domains import clustered
from orda.experiments.simulate.statistics import ERROR_STATISTICS, Statistic, assessed, band, column, summarise, where
from orda.experiments.simulate.study import Cell, Row, Study, Table, repeated
from orda.plots import curve, finish, letter, log_ticks, new_figure, plain_ticks
from orda.records import Features
from orda.samplers import DPP, Anticlustering, KMeansPlusPlus, Ordered, Sampler, Stratified, Uniform
from orda.seeds import generator

DISCREPANCIES: dict[str, tuple[str, Discrepancy]] = {
    "linear": ("linear MMD", MMD("linear")),
    "rbf fixed": ("RBF MMD, fixed γ", MMD()),
    "rbf median": ("RBF MMD, median γ", MMD(gammas="median")),
    "coral": ("CORAL", CORAL()),
}
SERIES = ("uniform", "kmeans++", "dpp", "anticlustering", "stratified", "greedy", "assignment")
STATISTICS: dict[str, Statistic] = ERROR_STATISTICS | {
    "relative bias": lambda mean: np.abs(mean["error"]) / mean["d0"],
    "relative deviation": lambda mean: np.sqrt(ERROR_STATISTICS["variance"](mean)) / mean["d0"],
    "share of bias": lambda mean: mean["error"] ** 2 / mean["squared_error"],
    "off-diagonal": lambda mean: mean["off_diagonal"],
}


@dataclass(frozen=True, kw_only=True)
class Dimension(Study):
    """Clusters in d dimensions, n_s ≠ n_t, of unequal sizes; the same plans of a baseline serve all discrepancies."""

    n_source: int = 1200
    n_target: int = 900
    batch_size: int = 16
    horizon: int = 50
    dimensions: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128, 256, 512)
    repeats: int = 20

    name: ClassVar[str] = "dimension"
    summary: ClassVar[str] = "Bias and variance of the estimate in 2 to 512 dimensions, every sampler, four kernels."

    @classmethod
    def quick(cls) -> Self:
        return cls(n_source=400, n_target=300, batch_size=8, horizon=30, dimensions=(2, 16, 128, 512), repeats=2)

    def cells(self) -> list[Cell]:
        return repeated(self.repeats, d=self.dimensions)

    def compute(self, config: Mapping[str, Any], seed: int) -> list[Row]:
        d = int(config["d"])
        features = clustered(generator(seed, "data", d), self.n_source, self.n_target, d)

        def plan(sampler: Sampler, name: str) -> Any:
            return sampler.plan(features, self.batch_size, self.horizon, generator(seed, "plan", d, name))

        baselines = (Uniform(), KMeansPlusPlus(), DPP(), Anticlustering())
        blind = {sampler.name: plan(sampler, sampler.name) for sampler in baselines}
        rows: list[Row] = []
        for name, (_, discrepancy) in DISCREPANCIES.items():
            plans = {
                **blind,
                "stratified": plan(Stratified(discrepancy), "stratified"),
                "greedy": plan(Ordered(discrepancy, optimiser="greedy"), "ordered"),
                "assignment": plan(Ordered(discrepancy), "ordered"),
            }
            known = {"d0": discrepancy.reference(features), "off_diagonal": off_diagonal(discrepancy, features)}
            for series, made in plans.items():
                rows.append({
                    **config, "discrepancy": name, "series": series, **assessed(made, features, discrepancy), **known
                })  # fmt: skip
        return rows

    def table(self, rows: list[Row], rng: np.random.Generator) -> Table:
        return summarise(rows, ("d", "discrepancy", "series"), STATISTICS, rng)

    def figure(self, table: Table) -> Any:
        panels = (
            ("relative bias", r"|bias| / $D_0$"),
            ("relative deviation", r"standard deviation / $D_0$"),
            ("share of bias", "bias² / mean squared error"),
        )
        figure, axes = new_figure(len(panels), len(DISCREPANCIES), height=6.2, share_x=True)
        for number, (name, (title, _)) in enumerate(DISCREPANCIES.items()):
            for row, (statistic, label) in enumerate(panels):
                panel, here = axes[row, number], where(table, discrepancy=name, statistic=statistic)
                for series in SERIES:
                    found = where(here, series=series)
                    curve(panel, column(found, "d"), band(found), series)
                panel.set_xscale("log")
                if statistic == "share of bias":
                    panel.set_ylim(-0.04, 1.06)
                else:
                    panel.set_yscale("log")
                    log_ticks(panel.yaxis)
                if number == 0:
                    panel.set_ylabel(label)
                letter(panel, title if row == 0 else "", row * len(DISCREPANCIES) + number)
            if name.startswith("rbf"):
                found = where(table, discrepancy=name, statistic="off-diagonal", series="uniform")
                curve(axes[2, number], column(found, "d"), column(found, "value"), "off-diagonal")
            plain_ticks(axes[2, number].xaxis, (2, 8, 32, 128, 512))
            axes[2, number].set_xlabel("features d")
        finish(
            figure,
            "Bias and variance against the dimension",
            f"Ten clusters of unequal sizes in d dimensions, n = {self.n_source:,} and {self.n_target:,}; "
            f"k = {self.batch_size}, M = {self.horizon}; {self.repeats} repeats. Last row: the part of the mean "
            "squared error that is squared bias; at 1 there is no variance left to reduce. Dotted: at 0 the kernel "
            "finds each point like itself and like no other. Bands: 95 % bootstrap intervals over the repeats.",
        )
        return figure


def off_diagonal(discrepancy: Discrepancy, features: Features, limit: int = 300) -> float:
    """The mean kernel value of two different points over that of a point with itself: 0 for the identity."""
    embedding = discrepancy.embedding(features)
    points = embedding.source[:limit]
    gram = embedding.kernel.gram(points, points)
    n = len(points)
    return float((gram.sum() - gram.trace()) / (n - 1) / gram.trace())
