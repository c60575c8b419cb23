"""Plug-in and unbiased estimates under every sampler: bias, variance, gradient, and what training with them does.

E of the plug-in D̂ is D0 plus the variances of the two mean embeddings. Ordering and strata make these smaller, but
their gradient is there in every step, and it pulls the examples of a domain together. Three estimates are compared:

    plug-in                one example from each of k strata: the paper's
    plug-in, two draws     two from each of k/2 strata
    unbiased               the same draws, but pairs within a stratum in the place of squares

so that the last two differ by the estimate alone. Uniform minibatches have no strata; theirs is the U-statistic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from torch import Tensor

from orda.discrepancies import CORAL, MMD, Discrepancy
from orda.discrepancies.base import PLUG_IN, UNBIASED
from orda.experiments.simulate.bias_figure import bias_figure
from orda.experiments.simulate.domains import clustered, labelled
from orda.experiments.simulate.featuriser import Schedule, Trained, spread, train
from orda.experiments.simulate.gradients import full_gradient, gradient_errors, plan_gradients
from orda.experiments.simulate.statistics import ERROR_STATISTICS, Statistic, errors, mean_of, summarise
from orda.experiments.simulate.study import Cell, Row, Study, Table
from orda.records import Features
from orda.samplers import Ordered, Sampler, Stratified, Uniform
from orda.seeds import child, generator

DISCREPANCIES: dict[str, Discrepancy] = {"mmd": MMD(gammas="median"), "coral": CORAL("mean")}
ESTIMATES = {"plug-in": (PLUG_IN, 1), "plug-in, two draws": (PLUG_IN, 2), "unbiased": (UNBIASED, 2)}
SERIES = ("uniform", "stratified", "greedy", "assignment")
STATISTICS: dict[str, Statistic] = ERROR_STATISTICS | {
    "relative bias": lambda mean: mean["error"] / mean["d0"],
    "relative deviation": lambda mean: np.sqrt(ERROR_STATISTICS["variance"](mean)) / mean["d0"],
    "relative error": lambda mean: np.sqrt(mean["squared_error"]) / mean["d0"],
    "d0": mean_of("d0"),
    "direction error": mean_of("direction"),
    "gradient error": lambda mean: np.sqrt(mean["gradient_error"]),
    "direction error of the plan": mean_of("plan_direction"),
    "gradient error of the plan": lambda mean: np.sqrt(mean["plan_gradient_error"]),
}
TRAINED: dict[str, Statistic] = {
    "spread": lambda mean: np.exp(mean["log_spread"]),
    "accuracy": lambda mean: 100 * mean["accuracy"],
}


@dataclass(frozen=True, kw_only=True)
class Bias(Study):
    """Clusters of unequal sizes for k and d; for λ clusters of equal sizes, a displaced target and a small network."""

    n_source: int = 800
    n_target: int = 640
    d: int = 32
    batch_size: int = 16
    horizon: int = 20
    batch_sizes: tuple[int, ...] = (4, 8, 16, 32)
    dimensions: tuple[int, ...] = (2, 8, 32, 128)
    penalties: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
    steps: int = 200
    repeats: int = 20

    name: ClassVar[str] = "bias"
    summary: ClassVar[str] = "Plug-in and unbiased estimates: bias, variance, gradient, and features trained with them."

    @classmethod
    def quick(cls) -> Self:
        return cls(
            n_source=240, n_target=200, batch_size=8, batch_sizes=(4, 8), dimensions=(4, 64), penalties=(1.0, 100.0),
            steps=40, repeats=2,
        )  # fmt: skip

    def cells(self) -> list[Cell]:
        axes: dict[str, tuple[float, ...]] = {"k": self.batch_sizes, "d": self.dimensions, "lambda": self.penalties}
        return [
            Cell({"axis": axis, "at": at, "discrepancy": discrepancy, "repeat": r}, ("repeat", r))
            for r in range(self.repeats)
            for axis, values in axes.items()
            for at in values
            for discrepancy in DISCREPANCIES
        ]

    def compute(self, config: Mapping[str, Any], seed: int) -> list[Row]:
        axis, plain = config["axis"], DISCREPANCIES[config["discrepancy"]]
        found = self.trained(plain, float(config["at"]), seed) if axis == "lambda" else self.given(plain, config, seed)
        return [{**config, "series": series, "estimate": estimate, **row} for series, estimate, row in found]

    def given(self, plain: Discrepancy, config: Mapping[str, Any], seed: int) -> Iterator[tuple[str, str, Row]]:
        """Every series on one pair of domains."""
        d = int(config["at"]) if config["axis"] == "d" else self.d
        k = int(config["at"]) if config["axis"] == "k" else self.batch_size
        features = clustered(generator(seed, "data", d), self.n_source, self.n_target, d)
        known = plain.reference(features), full_gradient(plain, features)
        for series, estimate, discrepancy, sampler in estimated(plain):
            yield series, estimate, self.measured(discrepancy, sampler, features, k, known, child(seed, "plan", k, d))

    def trained(self, plain: Discrepancy, penalty: float, seed: int) -> Iterator[tuple[str, str, Row]]:
        """Every series on the features that training with it has made, brought to a spread of 1."""
        data = labelled(generator(seed, "data"), self.n_source, self.n_target, self.d, shift=0.5, skew=0.0)
        schedule = Schedule(self.steps, self.batch_size, self.horizon)
        for series, estimate, discrepancy, sampler in estimated(plain):
            result = train(data, discrepancy, sampler, penalty, schedule, child(seed, "train"))
            features = of_spread_one(result)
            known = plain.reference(features), full_gradient(plain, features)
            row = self.measured(discrepancy, sampler, features, self.batch_size, known, child(seed, "plan"))
            yield series, estimate, {**row, "log_spread": float(np.log(result.spread)), "accuracy": result.accuracy}

    def measured(
        self,
        discrepancy: Discrepancy,
        sampler: Sampler,
        features: Features,
        k: int,
        known: tuple[float, Tensor],
        seed: int,
    ) -> Row:
        plan = sampler.plan(features, k, self.horizon, generator(seed))
        values, gradients = plan_gradients(discrepancy, plan, features)
        return {**errors(values, known[0]), "d0": known[0], **gradient_errors(gradients, known[1])}

    def table(self, rows: list[Row], rng: np.random.Generator) -> Table:
        by = ("axis", "at", "discrepancy", "series", "estimate")
        trained = [row for row in rows if row["axis"] == "lambda"]
        return summarise(rows, by, STATISTICS, rng) + summarise(trained, by, TRAINED, rng)

    def figure(self, table: Table) -> Any:
        return bias_figure(self, table)


def estimated(plain: Discrepancy) -> Iterator[tuple[str, str, Discrepancy, Sampler]]:
    """Every sampler with every estimate that it has a way to draw for."""
    for estimate, (estimator, draws) in ESTIMATES.items():
        discrepancy: Any = replace(plain, estimator=estimator)  # type: ignore[type-var]
        if (estimator, draws) != (PLUG_IN, 2):
            yield "uniform", estimate, discrepancy, Uniform()
        yield "stratified", estimate, discrepancy, Stratified(discrepancy, draws=draws)
        for optimiser in ("greedy", "assignment"):
            yield optimiser, estimate, discrepancy, Ordered(discrepancy, optimiser=optimiser, draws=draws)


def of_spread_one(trained: Trained) -> Features:
    """Features at one scale, whatever training has made of theirs: D0 then speaks of their shape."""
    scale = spread(trained.features) ** -0.5
    return Features(scale * trained.features.source, scale * trained.features.target)
