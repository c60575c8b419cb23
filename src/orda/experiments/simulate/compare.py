"""Several optimisers on one and the same pool, by the ordinary way: ``Ordered(discrepancy, optimiser=Compared(…))``."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from orda.discrepancies import Discrepancy
from orda.experiments.simulate.statistics import errors
from orda.experiments.simulate.study import Row
from orda.ordering import Optimiser, Ordering
from orda.ordering.base import Clock
from orda.ordering.objective import State
from orda.ordering.problem import Problem
from orda.records import Features, IntArray
from orda.samplers import Ordered


@dataclass(frozen=True, kw_only=True)
class AsDrawn(Optimiser):
    """Leaves the pool in the random order of its draw: without replacement, but not ordered."""

    name: ClassVar[str] = "as drawn"

    def passes(
        self, problem: Problem, state: State, arranged: IntArray, rng: np.random.Generator, clock: Clock
    ) -> Iterator[IntArray]:
        return iter(())


@dataclass(frozen=True, kw_only=True)
class Compared(Optimiser):
    """Gives each optimiser the same problem, start and random numbers; keeps what they find, returns the last one's."""

    optimisers: Mapping[str, Optimiser]
    found: dict[str, Ordering] = field(default_factory=dict)
    given: dict[str, Problem] = field(default_factory=dict)
    name: ClassVar[str] = "compared"

    def passes(
        self, problem: Problem, state: State, arranged: IntArray, rng: np.random.Generator, clock: Clock
    ) -> Iterator[IntArray]:
        raise AssertionError("the optimisers have passes of their own")

    def __call__(self, problem: Problem, arranged: IntArray, rng: np.random.Generator) -> Ordering:
        self.given["problem"] = problem
        for name, optimiser in self.optimisers.items():
            self.found[name] = optimiser(problem, arranged, copy.deepcopy(rng))
        return self.found[name]


@dataclass(frozen=True, slots=True)
class Pooled:
    """What several optimisers made of one pool."""

    found: Mapping[str, Ordering]
    problem: Problem
    d0: float
    lower_bound: float | None  # on the mean squared error, whatever the order


def on_one_pool(
    discrepancy: Discrepancy,
    features: Features,
    batch_size: int,
    horizon: int,
    rng: np.random.Generator,
    optimisers: Mapping[str, Optimiser],
) -> Pooled:
    """Stratify once, draw once, order by each optimiser."""
    compared = Compared(optimisers=optimisers)
    plan = Ordered(discrepancy, optimiser=compared).plan(features, batch_size, horizon, rng)
    ordering = plan.diagnostics["ordering"]
    return Pooled(compared.found, compared.given["problem"], ordering["d0"], ordering["lower_bound"])


def error_rows(pooled: Pooled) -> dict[str, Row]:
    """The error columns of every optimiser's order, and the bound (nothing is known of it: 0)."""
    bound = 0.0 if pooled.lower_bound is None else pooled.lower_bound
    return {name: {**errors(found.values, pooled.d0), "bound": bound} for name, found in pooled.found.items()}
