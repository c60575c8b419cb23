"""Tabu search: a row that no swap can better is left by its least bad swap, and may not simply go back.

A pass goes through the rows in random order. In each, the best admissible swaps are made while they lower the
objective, looked up in the table of the row's costs (``rows.py``); in some rows, the least bad admissible swap of all
M(M − 1)/2 follows although it raises it. The other rows then settle around it. Inadmissible (*tabu*) is a swap that
returns an element to the minibatch that it left last, less than ``tenure`` passes ago, unless it leads to a lower
objective than any before (*aspiration*).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from orda.compiled import compiled
from orda.ordering.base import Clock, Optimiser
from orda.ordering.objective import State, cost
from orda.ordering.problem import Problem
from orda.ordering.rows import permute, replacement_values, swap_change
from orda.records import FloatArray, IntArray

SWEEPS = 20  # at most, through a row's minibatches in one visit
DESCENT = 2  # passes before the first escape


@compiled
def best_partner(
    costs: FloatArray, chosen: IntArray, m: int, left: IntArray, until: IntArray, now: int, needed: float
) -> tuple[int, float]:
    """The admissible swap of minibatch m that adds least; m itself where there is none. Adding < needed is a record."""
    best, least = m, np.inf
    for other in range(len(chosen)):
        if other != m:
            change = swap_change(costs, chosen, m, other)
            if change < least:
                a, b = chosen[m], chosen[other]
                tabu = (left[a] == other and until[a] > now) or (left[b] == m and until[b] > now)
                if not tabu or change < needed:
                    best, least = other, change
    return best, least


@compiled
def move(chosen: IntArray, m: int, other: int, left: IntArray, until: IntArray, end: int) -> None:
    """Swap, and remember until the end of pass ``end`` where the two came from."""
    a, b = chosen[m], chosen[other]
    chosen[m], chosen[other] = b, a
    left[a], left[b], until[a], until[b] = m, other, end, end


@compiled
def search_row(
    costs: FloatArray, chosen: IntArray, escape: bool, left: IntArray, until: IntArray,
    now: int, tenure: int, needed: float,
) -> float:  # fmt: skip
    """Descend in one row, then escape if asked to; what that adds to the sum of the costs."""
    added = 0.0
    for _ in range(SWEEPS):
        before = added
        for m in range(len(chosen)):
            other, change = best_partner(costs, chosen, m, left, until, now, needed - added)
            if change < 0.0:
                move(chosen, m, other, left, until, now + tenure)
                added += change
        if added == before:
            break
    if escape:
        best, partner, least = 0, 0, np.inf
        for m in range(len(chosen)):
            other, change = best_partner(costs, chosen, m, left, until, now, needed - added)
            if change < least:
                best, partner, least = m, other, change
        if best != partner:
            move(chosen, best, partner, left, until, now + tenure)
            added += least
    return added


@compiled
def tabu_pass(
    problem: Problem, state: State, arranged: IntArray, rows: IntArray, escapes: npt.NDArray[np.bool_],
    left: IntArray, until: IntArray, now: int, tenure: int, lowest: float,
) -> float:  # fmt: skip
    """One pass; the lowest sum of costs after any of its rows, or before it."""
    horizon = arranged.shape[1]
    values, costs = np.empty((horizon, horizon)), np.empty((horizon, horizon))
    total = 0.0
    for m in range(horizon):
        total += cost(problem, state.values[m])
    lowest = min(lowest, total)
    for r in rows:
        replacement_values(problem, state, arranged, r, values, costs)
        chosen = arranged[r] - r * horizon
        total += search_row(costs, chosen, escapes[r], left[r], until[r], now, tenure, lowest - total)
        lowest = min(lowest, total)
        permute(problem, state, arranged, r, chosen, values)
    return lowest


@dataclass(frozen=True, kw_only=True)
class Tabu(Optimiser):
    """Descents, and escapes from where they end, with a memory of what was left.

    ``escapes``  the share of the rows, drawn afresh for every pass, that are left by their least bad swap.
    ``tenure``   the passes for which an element may not return to the minibatch that it left.
    """

    max_passes: int = 30
    escapes: float = 0.25
    tenure: int = 3
    name: ClassVar[str] = "tabu"

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        if not 0 <= self.escapes <= 1:
            yield f"escapes must be a share of the rows from 0 to 1, got {self.escapes!r}"
        if isinstance(self.tenure, bool) or not isinstance(self.tenure, int) or self.tenure < 0:
            yield f"tenure must be a whole number of passes, 0 or more, got {self.tenure!r}"

    def passes(
        self, problem: Problem, state: State, arranged: IntArray, rng: np.random.Generator, clock: Clock
    ) -> Iterator[IntArray]:
        del clock
        rows = len(arranged)
        left, until = np.full(arranged.shape, -1, np.int64), np.zeros(arranged.shape, np.int64)
        lowest = np.inf
        for number in range(self.max_passes):
            escapes = rng.random(rows) < (self.escapes if number >= DESCENT else 0.0)
            order = rng.permutation(rows)
            lowest = tabu_pass(
                problem, state, arranged, order, escapes, left, until, number, self.tenure, float(lowest)
            )
            yield arranged

    def settled(self, objectives: list[float]) -> bool:
        """Never: passes may go up and come down again."""
        return False
