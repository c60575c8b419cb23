"""A plan made on features z and used on z + s·g(z): what is left of its gain as s grows.

Between two plans the network learns and its features move. The discrepancy of the moved features and its estimates are
all taken afresh; only which examples meet, and their weights, are those of the plan made at s = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import torch

from orda.discrepancies import Discrepancy
from orda.experiments.simulate.domains import features, smooth_field
from orda.experiments.simulate.problems import PROBLEMS, problem
from orda.experiments.simulate.statistics import Statistic, assessed, band, column, summarise, where
from orda.experiments.simulate.study import Cell, Row, Study, Table, repeated
from orda.ordering import OPTIMISERS
from orda.plots import curve, finish, in_order, letter, log_ticks, new_figure
from orda.records import Features
from orda.samplers import DPP, Anticlustering, KMeansPlusPlus, Ordered, Sampler, Stratified, Uniform
from orda.seeds import generator

EMBEDDING = ("greedy", "assignment")  # the optimisers that are also tried with the objective "embedding"
DRAWN = ("uniform", "anticlustering", "stratified", "greedy", "greedy embedding", "assignment", "assignment embedding")
STATISTICS: dict[str, Statistic] = {  # all by the mean squared error of uniform sampling on the same moved features
    "mse": lambda mean: mean["squared_error"] / mean["of_uniform"],
    "variance": lambda mean: np.maximum(mean["squared_error"] - mean["error"] ** 2, 0) / mean["of_uniform"],
    "bias squared": lambda mean: mean["error"] ** 2 / mean["of_uniform"],
}


@dataclass(frozen=True, kw_only=True)
class Drift(Study):
    """One plan a sampler, problem and repeat, judged on features that have moved by ``scales`` of their spread."""

    n: int = 2500
    batch_size: int = 20
    horizon: int = 100
    scales: tuple[float, ...] = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
    problems: tuple[str, ...] = tuple(PROBLEMS)
    optimisers: tuple[str, ...] = field(default_factory=lambda: tuple(in_order(OPTIMISERS)))
    repeats: int = 20

    name: ClassVar[str] = "drift"
    summary: ClassVar[str] = "What is left of a plan's gain when the features have moved since it was made."

    @classmethod
    def quick(cls) -> Self:
        return cls(n=400, batch_size=10, horizon=30, scales=(0.0, 0.01, 0.1, 1.0), repeats=2)

    def cells(self) -> list[Cell]:
        return repeated(self.repeats, problem=self.problems)

    def compute(self, config: Mapping[str, Any], seed: int) -> list[Row]:
        asked = problem(config["problem"])
        z = asked.features(generator(seed, "data"), self.n)
        g = smooth_field(generator(seed, "field"), torch.cat([z.source, z.target]).numpy())
        moves = g(z.source.numpy()), g(z.target.numpy())
        plans = {
            name: sampler.plan(z, self.batch_size, self.horizon, generator(seed, "plan", stream))
            for name, (sampler, stream) in self.samplers(asked.discrepancy).items()
        }
        rows: list[Row] = []
        for scale in self.scales:
            moved = drifted(z, moves, scale)
            found = {name: assessed(plan, moved, asked.discrepancy) for name, plan in plans.items()}
            known: Row = {"scale": scale, "of_uniform": found["uniform"]["squared_error"]}
            rows += [{**config, "series": name, **row, **known} for name, row in found.items()]
        return rows

    def samplers(self, discrepancy: Discrepancy) -> dict[str, tuple[Sampler, str]]:
        """Every sampler and its random stream; all ordered ones share theirs, and so strata and pool."""
        baselines = (Uniform(), KMeansPlusPlus(), DPP(), Anticlustering(), Stratified(discrepancy))
        samplers: dict[str, tuple[Sampler, str]] = {sampler.name: (sampler, sampler.name) for sampler in baselines}
        for name in self.optimisers:
            samplers[name] = Ordered(discrepancy, optimiser=name), "ordered"
            if name in EMBEDDING:
                embedding = Ordered(discrepancy, optimiser=name, objective="embedding")
                samplers[f"{name} embedding"] = embedding, "ordered"
        return samplers

    def table(self, rows: list[Row], rng: np.random.Generator) -> Table:
        return summarise(rows, ("problem", "scale", "series"), STATISTICS, rng)

    def figure(self, table: Table) -> Any:
        figure, axes = new_figure(2, len(self.problems), height=4.8, share_x=True)
        least = min(scale for scale in self.scales if scale > 0)
        for number, name in enumerate(self.problems):
            for row, statistic in enumerate(("variance", "bias squared")):
                panel, here = axes[row, number], where(table, problem=name, statistic=statistic)
                for series in DRAWN:
                    found = where(here, series=series)
                    if found:
                        curve(panel, column(found, "scale"), band(found), series)
                panel.set_yscale("log")
                panel.set_xscale("symlog", linthresh=least, linscale=0.5)
                panel.set_xlim(-0.4 * least, 1.3 * max(self.scales))
                panel.set_xticks(self.scales, [f"{scale:g}" for scale in self.scales], rotation=45)
                if number > 0:  # few decades
                    log_ticks(panel.yaxis)
                letter(panel, PROBLEMS[name].title if row == 0 else "", row * len(self.problems) + number)
            axes[1, number].set_xlabel("drift s (part of the data's spread)")
        axes[0, 0].set_ylabel("variance / MSE of uniform")
        axes[1, 0].set_ylabel("squared bias / MSE of uniform")
        finish(
            figure,
            "Plans on features that have moved since",
            f"Plans of M = {self.horizon} minibatches with k = {self.batch_size}, made on features z and used on "
            f"z + s·g(z), g a smooth random map with the spread of the data; {self.repeats} repeats. Variance (a–c) "
            "and squared bias (d–f) of D̂ around the D₀ of the moved features, both in parts of the mean squared error "
            "of uniform sampling on the same features: lower is better, and the two add up to a sampler's own part. "
            "Bands: 95 % bootstrap intervals over the repeats.",
        )
        return figure


def drifted(z: Features, moves: tuple[Any, Any], scale: float) -> Features:
    return features(z.source.numpy() + scale * moves[0], z.target.numpy() + scale * moves[1])
