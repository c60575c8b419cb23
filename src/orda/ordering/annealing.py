"""Simulated annealing: swaps that raise the objective are made too, ever more rarely.

A pass goes through the rows in random order. In each, M² random swaps are looked at, in O(1) each, in the table of the
row's costs (``rows.py``); one that changes the objective by Δ is made with probability min(1, exp(−Δ/T)).

T has the scale of the problem at hand, which may change by many decades while the objective falls: before each pass it
is set so that a share a of random swaps would be made, and a falls geometrically from pass to pass. Where more than
that would lower the objective, as at the start, T is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from orda.compiled import compiled
from orda.ordering.base import Clock, Optimiser, interleaved
from orda.ordering.greedy import swap_pass
from orda.ordering.objective import State, cost, replaced
from orda.ordering.problem import Problem
from orda.ordering.rows import permute, replacement_values, swap_change
from orda.records import FloatArray, IntArray

SAMPLE = 4000  # swaps from which a temperature is set


@compiled
def swap_changes(
    problem: Problem, state: State, arranged: IntArray, r: IntArray, m: IntArray, other: IntArray, out: FloatArray
) -> None:
    """out[i] = what swapping row r[i]'s members of minibatches m[i] and other[i] adds to the sum of the costs."""
    for i in range(len(out)):
        now = cost(problem, state.values[m[i]]) + cost(problem, state.values[other[i]])
        at_m = replaced(problem, state, arranged, r[i], m[i], arranged[r[i], other[i]])
        at_other = replaced(problem, state, arranged, r[i], other[i], arranged[r[i], m[i]])
        out[i] = cost(problem, at_m) + cost(problem, at_other) - now


@compiled
def metropolis_pass(
    problem: Problem, state: State, arranged: IntArray, rows: IntArray, temperature: float, rng: np.random.Generator
) -> None:
    """M² random swaps in every row."""
    horizon = arranged.shape[1]
    values, costs = np.empty((horizon, horizon)), np.empty((horizon, horizon))
    for r in rows:
        replacement_values(problem, state, arranged, r, values, costs)
        chosen = arranged[r] - r * horizon
        for _ in range(horizon * horizon):
            m, other = int(rng.random() * horizon), int(rng.random() * (horizon - 1))
            other += other >= m
            change = swap_change(costs, chosen, m, other)
            if change < 0.0 or (temperature > 0.0 and rng.random() < np.exp(-change / temperature)):
                chosen[m], chosen[other] = chosen[other], chosen[m]
        permute(problem, state, arranged, r, chosen, values)


def temperature_for(changes: FloatArray, share: float) -> float:
    """The T at which a share of the swaps with these changes would be made: mean min(1, exp(−Δ/T)) = share."""
    rises = np.maximum(changes, 0.0)
    if np.mean(rises == 0.0) >= share:
        return 0.0
    positive = rises[rises > 0.0]
    low = np.log(positive.min() / np.log(len(rises) / share))
    high = np.log(positive.max() / -np.log(share))
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if np.exp(-rises / np.exp(middle)).mean() > share else (middle, high)
    return float(np.exp(high))


@dataclass(frozen=True, kw_only=True)
class Annealing(Optimiser):
    """Random swaps at a falling temperature; the last pass is one of ``exchange``, which only descends.

    ``warmest``, ``coldest``  the shares of random swaps that would be made in the first pass and, after the last.
    With a ``time_budget`` it cools as fast as the passes or the clock demand, whichever is faster.
    """

    max_passes: int = 30
    warmest: float = 0.02
    coldest: float = 1e-5
    name: ClassVar[str] = "annealing"

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        if not 0 < self.coldest <= self.warmest < 1:
            yield f"shares of swaps need 0 < coldest ≤ warmest < 1, got {self.coldest!r} and {self.warmest!r}"

    def passes(
        self, problem: Problem, state: State, arranged: IntArray, rng: np.random.Generator, clock: Clock
    ) -> Iterator[IntArray]:
        rows, horizon = arranged.shape
        if horizon == 1:
            return
        changes = np.empty(SAMPLE)
        for done in range(self.max_passes):
            progress = self.progress(done, clock)
            if progress < 1:
                r, m = rng.integers(rows, size=SAMPLE), rng.integers(horizon, size=SAMPLE)
                other = (m + rng.integers(1, horizon, size=SAMPLE)) % horizon
                swap_changes(problem, state, arranged, r, m, other, changes)
                temperature = temperature_for(changes, self.warmest * (self.coldest / self.warmest) ** progress)
                metropolis_pass(problem, state, arranged, rng.permutation(rows), temperature, rng)
            else:
                swap_pass(problem, state, arranged, interleaved(rows), True)
            yield arranged

    def progress(self, done: int, clock: Clock) -> float:
        """0 at the first pass, 1 at the last: by number, or by the clock if the next takes as long as the others."""
        by_number = done / (self.max_passes - 1) if self.max_passes > 1 else 1.0
        by_clock = clock.used() * (done + 1) / done if done else 0.0
        return max(by_number, by_clock)

    def settled(self, objectives: list[float]) -> bool:
        """Never: passes may go up and come down again."""
        return False
