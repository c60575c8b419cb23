"""The loop around the passes: what is kept, and when it ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from ordering.made import made

from orda.ordering import Optimiser, Ordering
from orda.ordering.base import Clock, interleaved
from orda.ordering.objective import State
from orda.ordering.problem import Problem
from orda.records import IntArray

PROBLEM = made("linear", "scalar", 0, k=2, horizon=4)
ORDERS = [np.random.default_rng(i).permuted(PROBLEM.start, axis=1) for i in range(6)]
COSTS = [PROBLEM.mean_cost(order) for order in ORDERS]


@dataclass(frozen=True, kw_only=True)
class Scripted(Optimiser):
    """Yields orders as it is told."""

    max_passes: int = 10
    orders: list[int] = field(default_factory=list)
    wait: float = 0.0
    name: ClassVar[str] = "scripted"

    def passes(
        self, problem: Problem, state: State, arranged: IntArray, rng: np.random.Generator, clock: Clock
    ) -> Iterator[IntArray]:
        for i in self.orders:
            time.sleep(self.wait)
            yield ORDERS[i].copy()

    def settled(self, objectives: list[float]) -> bool:
        return False


def run(optimiser: Optimiser) -> Ordering:
    return optimiser(PROBLEM.task.problem, ORDERS[0], np.random.default_rng(0))


def test_the_best_order_is_kept_and_every_pass_told() -> None:
    best, worst = int(np.argmin(COSTS)), int(np.argmax(COSTS))
    found = run(Scripted(orders=[worst, best, worst]))
    assert found.objectives == pytest.approx([COSTS[0], COSTS[worst], COSTS[best], COSTS[worst]], rel=1e-9)
    assert np.array_equal(found.arranged, ORDERS[best])
    np.testing.assert_allclose(found.values, PROBLEM.values(ORDERS[best]), rtol=1e-10)


def test_it_never_ends_above_the_start() -> None:
    start = int(np.argmin(COSTS))
    others = [i for i in range(6) if i != start]
    found = Scripted(orders=others)(PROBLEM.task.problem, ORDERS[start], np.random.default_rng(0))
    assert np.array_equal(found.arranged, ORDERS[start])
    assert found.passes == 5


def test_without_passes_the_start_is_what_there_is() -> None:
    found = run(Scripted())
    assert np.array_equal(found.arranged, ORDERS[0])
    assert (found.passes, len(found.objectives)) == (0, 1)


def test_passes_and_seconds_end_it() -> None:
    assert run(Scripted(orders=[1, 2, 3], max_passes=2)).passes == 2
    assert run(Scripted(orders=[1, 2, 3, 4], wait=0.05, time_budget=0.08)).passes == 2


def test_a_pass_that_gains_nothing_is_the_last_unless_the_optimiser_says_otherwise() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Settles(Scripted):
        def settled(self, objectives: list[float]) -> bool:
            return Optimiser.settled(self, objectives)

    down = sorted(range(6), key=COSTS.__getitem__, reverse=True)
    falling = Settles(orders=[*down, down[-1], *down])(PROBLEM.task.problem, ORDERS[down[0]], np.random.default_rng(0))
    assert falling.passes == 1  # the first is the start again
    falling = Settles(orders=[*down[1:], down[-1], 0])(PROBLEM.task.problem, ORDERS[down[0]], np.random.default_rng(0))
    assert falling.passes == 6


def test_rows_are_visited_as_algorithm_2_visits_them() -> None:
    assert interleaved(6).tolist() == [0, 3, 1, 4, 2, 5]


def test_the_clock_tells_the_share_that_is_used() -> None:
    assert Clock(None).used() == 0.0
    assert Clock(4.0, time.perf_counter() - 1.0).used() == pytest.approx(0.25, abs=0.05)
