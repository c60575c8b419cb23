"""All samplers on one page: variance, bias and seconds a plan, for MMD and CORAL."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from orda.discrepancies import CORAL, MMD, Discrepancy
from orda.experiments.simulate.domains import clustered
from orda.experiments.simulate.statistics import ERROR_STATISTICS, Statistic, assessed, band, summarise, where
from orda.experiments.simulate.study import Cell, Row, Study, Table, repeated
from orda.planning import rows_of
from orda.plots import dots, finish, letter, log_ticks, new_figure, plain_ticks
from orda.records import Features, Plan
from orda.samplers import DPP, Anticlustering, KMeansPlusPlus, Ordered, Sampler, Stratified, Uniform
from orda.seeds import generator

DISCREPANCIES: dict[str, tuple[str, Discrepancy]] = {
    "mmd": ("MMD", MMD(gammas="median")),
    "coral": ("CORAL", CORAL()),
}
STATISTICS: dict[str, Statistic] = ERROR_STATISTICS | {
    "relative bias": lambda mean: mean["error"] / mean["d0"],
    "relative bias of the plan": lambda mean: mean["plan_error"] / mean["d0"],
    "relative deviation": lambda mean: np.sqrt(ERROR_STATISTICS["variance"](mean)) / mean["d0"],
    "relative error": lambda mean: np.sqrt(mean["squared_error"]) / mean["d0"],
    "seconds": lambda mean: np.exp(mean["log_seconds"]),
}


@dataclass(frozen=True, kw_only=True)
class Samplers(Study):
    """Clusters of unequal sizes in d dimensions, n_s ≠ n_t."""

    n_source: int = 4000
    n_target: int = 2600
    d: int = 512
    batch_size: int = 24
    horizon: int = 100
    repeats: int = 20

    name: ClassVar[str] = "samplers"
    summary: ClassVar[str] = "All six samplers on one page: variance, bias and seconds a plan, MMD and CORAL."
    timed: ClassVar[bool] = True

    @classmethod
    def quick(cls) -> Self:
        return cls(n_source=700, n_target=500, batch_size=12, horizon=40, repeats=2)

    def cells(self) -> list[Cell]:
        return repeated(self.repeats, discrepancy=tuple(DISCREPANCIES))

    def compute(self, config: Mapping[str, Any], seed: int) -> list[Row]:
        _, discrepancy = DISCREPANCIES[config["discrepancy"]]
        features = clustered(generator(seed, "data"), self.n_source, self.n_target, self.d)
        small = clustered(generator(seed, "warm-up"), 60, 50, self.d)
        d0 = discrepancy.reference(features)
        rows: list[Row] = []
        for name, sampler in samplers_for(discrepancy).items():
            sampler.plan(small, 4, 5, generator(seed, "warm-up"))  # whatever has to be compiled or loaded is, now
            began = time.perf_counter()
            plan = sampler.plan(features, self.batch_size, self.horizon, generator(seed, "plan", sampler.name))
            seconds = time.perf_counter() - began
            known = {"d0": d0, "plan_error": together(plan, features, discrepancy) - d0, "log_seconds": np.log(seconds)}
            rows.append({**config, "series": name, **assessed(plan, features, discrepancy), **known})
        return rows

    def table(self, rows: list[Row], rng: np.random.Generator) -> Table:
        return summarise(rows, ("discrepancy", "series"), STATISTICS, rng)

    def figure(self, table: Table) -> Any:
        panels = (
            ("relative deviation", r"standard deviation / $D_0$"),
            ("relative bias", r"bias / $D_0$"),
            ("relative error", r"RMSE / $D_0$"),
            ("seconds", "seconds a plan"),
        )
        figure, axes = new_figure(len(DISCREPANCIES), len(panels), height=4.2, share_y=True)
        names = list(samplers_for(MMD()))
        for row, (name, (title, _)) in enumerate(DISCREPANCIES.items()):
            for number, (statistic, label) in enumerate(panels):
                panel, here = axes[row, number], where(table, discrepancy=name)
                dots(panel, band(where(here, statistic=statistic)), names)
                panel.set_xlabel(label)
                if statistic == "relative bias":
                    dots(panel, band(where(here, statistic="relative bias of the plan")), names, hollow=True)
                    panel.axvline(0, color="#777777", linewidth=0.8)
                elif statistic == "relative error":
                    panel.set_xlim(left=0)
                else:
                    panel.set_xscale("log")
                    if statistic == "relative deviation":
                        log_ticks(panel.xaxis)
                    else:
                        plain_ticks(panel.xaxis, (1e-4, 1e-2, 1))
                letter(panel, title if number == 0 else "", row * len(panels) + number)
        finish(
            figure,
            "Six samplers, two discrepancies",
            f"Ten clusters of unequal sizes in {self.d} dimensions, n = {self.n_source:,} and {self.n_target:,}; "
            f"k = {self.batch_size}, M = {self.horizon}; {self.repeats} repeats with fresh data. Everything in parts "
            "of D₀, but for the seconds (one thread, features given). Hollow: the bias of a plan's minibatches put "
            "together into one; it is the sampler's own, and the rest of the bias is the estimator's. Bars: 95 % "
            "bootstrap intervals over the repeats.",
        )
        return figure


def samplers_for(discrepancy: Discrepancy) -> dict[str, Sampler]:
    """The six, each with its default settings, and the sixth with the paper's optimiser too."""
    baselines = (Uniform(), KMeansPlusPlus(), DPP(), Anticlustering(), Stratified(discrepancy))
    return {
        **{sampler.name: sampler for sampler in baselines},
        "greedy": Ordered(discrepancy, optimiser="greedy"),
        "assignment": Ordered(discrepancy),
    }


def together(plan: Plan, features: Features, discrepancy: Discrepancy) -> float:
    """D̂ of one minibatch made of all those of the plan. Next to no noise is left in it: what it is off by is what the
    sampler prefers."""
    zs, ws = rows_of(plan.source, features.source, slice(None))
    zt, wt = rows_of(plan.target, features.target, slice(None))
    one = discrepancy.resolved(features)(
        zs.flatten(0, 1), zt.flatten(0, 1), *(draws.weight.flatten() / plan.horizon for draws in (ws, wt))
    )
    return float(one)
