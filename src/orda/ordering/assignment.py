"""Exact reordering of one stratum at a time.

With all other rows fixed, the best permutation of row r minimises Σ_m costs[m, π(m)] over permutations π, with the
table of ``rows.py``: a linear assignment problem, solved exactly. Rows in turn, a few sweeps: block coordinate descent,
monotone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from orda.ordering.base import Clock, Optimiser, interleaved
from orda.ordering.objective import State
from orda.ordering.problem import Problem
from orda.ordering.rows import permute, replacement_values
from orda.records import IntArray


@dataclass(frozen=True, kw_only=True)
class Assignment(Optimiser):
    """Exact assignment per stratum, strata in turn; the default optimiser.

    ``tolerance``: a sweep that improves the objective by less than this fraction is the last.
    """

    max_passes: int = 3
    tolerance: float = 1e-3
    name: ClassVar[str] = "assignment"

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        if not isinstance(self.tolerance, (int, float)) or not self.tolerance >= 0:
            yield f"tolerance must be a number of at least 0, got {self.tolerance!r}"

    def passes(
        self, problem: Problem, state: State, arranged: IntArray, rng: np.random.Generator, clock: Clock
    ) -> Iterator[IntArray]:
        del rng, clock
        horizon = arranged.shape[1]
        values, costs = np.empty((horizon, horizon)), np.empty((horizon, horizon))
        while True:
            for r in interleaved(len(arranged)):
                replacement_values(problem, state, arranged, int(r), values, costs)
                _, chosen = linear_sum_assignment(costs)
                permute(problem, state, arranged, int(r), chosen.astype(np.int64), values)
            yield arranged

    def settled(self, objectives: list[float]) -> bool:
        return objectives[-2] - objectives[-1] <= self.tolerance * abs(objectives[-2])
