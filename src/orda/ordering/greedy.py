"""Algorithm 2, and the same swaps carried on until none helps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from orda.compiled import compiled
from orda.ordering.base import Clock, Optimiser, interleaved
from orda.ordering.objective import State, cost, here, swap, there
from orda.ordering.problem import Problem
from orda.records import IntArray


@compiled
def swap_pass(problem: Problem, state: State, arranged: IntArray, rows: IntArray, all_partners: bool) -> int:
    """One pass of best swaps; returns how many were made. Comments are Algorithm 2's lines (line 1 is the draw)."""
    horizon, swaps = arranged.shape[1], 0
    at_m, at_partner = np.empty(horizon), np.empty(horizon)
    for m in range(horizon):  # 2: iteration index
        for r in rows:  # 3: stratum index; the source's row, then the target's
            start = 0 if all_partners else m
            here(problem, state, arranged, r, m, at_m)  # by element of the row
            there(problem, state, arranged, r, arranged[r, m], start, at_partner)  # by minibatch
            now = cost(problem, state.values[m])
            best, least = m, 0.0
            for partner in range(start, horizon):  # 4, 5: the partner that minimises the objective
                if partner != m:
                    moved = cost(problem, at_m[arranged[r, partner] - r * horizon]) + cost(problem, at_partner[partner])
                    change = moved - now - cost(problem, state.values[partner])
                    if change < least:
                        best, least = partner, change
            if best != m:
                swap(problem, state, arranged, r, m, best, at_m[arranged[r, best] - r * horizon], at_partner[best])
                swaps += 1
    return swaps  # 8: the arrangement itself was changed in place


@dataclass(frozen=True, kw_only=True)
class Greedy(Optimiser):
    """The paper's Algorithm 2 to the letter: one pass, partners m..M; kM(M − 1) comparisons.

    Early minibatches never see the members that later swaps set free, which is where it loses: the first tenth of
    the minibatches stays worse than the rest.
    """

    name: ClassVar[str] = "greedy"

    def passes(
        self, problem: Problem, state: State, arranged: IntArray, rng: np.random.Generator, clock: Clock
    ) -> Iterator[IntArray]:
        del rng, clock  # Algorithm 2 has no choices left once the tuples are drawn
        while True:
            swap_pass(problem, state, arranged, interleaved(len(arranged)), False)
            yield arranged


@dataclass(frozen=True, kw_only=True)
class Exchange(Optimiser):
    """The same swaps with partners 1..M, in passes until nothing improves: the smallest step beyond the paper."""

    max_passes: int = 20
    name: ClassVar[str] = "exchange"

    def passes(
        self, problem: Problem, state: State, arranged: IntArray, rng: np.random.Generator, clock: Clock
    ) -> Iterator[IntArray]:
        del rng, clock
        while True:
            swap_pass(problem, state, arranged, interleaved(len(arranged)), True)
            yield arranged
