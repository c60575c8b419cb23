"""Algorithm 2 against the paper's own loops, and exchange against what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ordering.made import NAMES, PROBLEMS, Made, made
from references import ordering as twins

from orda.ordering import Exchange, Greedy, Ordering
from orda.records import IntArray

every_problem = pytest.mark.parametrize(("name", "goal"), PROBLEMS, ids=NAMES)
seeds = st.integers(0, 10**9)


def ordered(problem: Made, optimiser: Greedy | Exchange) -> Ordering:
    return optimiser(problem.task.problem, problem.start, np.random.default_rng(0))


@every_problem
@given(seed=seeds)
@settings(max_examples=8)
def test_greedy_is_algorithm_2_to_the_letter(name: str, goal: str, seed: int) -> None:
    problem = made(name, goal, seed, k=2, horizon=6)
    source, target = problem.columns(ordered(problem, Greedy()).arranged)
    expected = twins.algorithm_2(problem.cost, problem.source, problem.target)
    assert np.array_equal(source, expected[0])
    assert np.array_equal(target, expected[1])
    assert not np.array_equal(source, problem.source)


def test_later_passes_of_greedy_are_algorithm_2_again() -> None:
    problem = made("linear", "scalar", 1, k=2, horizon=6)
    twice = problem.columns(ordered(problem, Greedy(max_passes=2)).arranged)
    once = twins.algorithm_2(problem.cost, problem.source, problem.target)
    for found, expected in zip(twice, twins.algorithm_2(problem.cost, *once), strict=True):
        assert np.array_equal(found, expected)


def lowest_swap(problem: Made, arranged: IntArray) -> float:
    """The least objective that one swap within a row leads to."""
    rows, horizon = arranged.shape
    found = []
    for r in range(rows):
        for m in range(horizon):
            for other in range(m):
                swapped = arranged.copy()
                twins.swap(swapped[r], m, other)
                found.append(problem.mean_cost(swapped))
    return min(found)


@every_problem
@given(seed=seeds)
@settings(max_examples=5)
def test_exchange_ends_where_no_swap_helps(name: str, goal: str, seed: int) -> None:
    problem = made(name, goal, seed, k=2, horizon=6)
    found = ordered(problem, Exchange(max_passes=200))
    assert found.passes < 200
    assert lowest_swap(problem, found.arranged) >= problem.mean_cost(found.arranged) * (1 - 1e-8)


def test_greedy_ends_before_that() -> None:
    """The same check fails for one pass with partners m..M, so it can fail."""
    problem = made("linear", "scalar", 0, k=2, horizon=6)
    arranged = ordered(problem, Greedy()).arranged
    assert lowest_swap(problem, arranged) < 0.9 * problem.mean_cost(arranged)


@every_problem
@given(seed=seeds)
@settings(max_examples=8)
def test_no_pass_rises_and_all_are_counted_right(name: str, goal: str, seed: int) -> None:
    problem = made(name, goal, seed)
    for optimiser in (Greedy(max_passes=4), Exchange()):
        found = ordered(problem, optimiser)
        assert all(b <= a * (1 + 1e-12) for a, b in zip(found.objectives, found.objectives[1:], strict=False))
        told = problem.told(found)
        assert told[0] == pytest.approx(problem.mean_cost(problem.start), rel=1e-9)
        assert told[-1] == pytest.approx(problem.mean_cost(found.arranged), rel=1e-7, abs=1e-12)
