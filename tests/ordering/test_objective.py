"""The primitive of ordering, for MMD and CORAL, against D̂ evaluated anew from its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ordering.made import NAMES, PROBLEMS, Made, fresh, made, say_all

from orda.ordering.objective import measured, objective, prepared, put, replaced, swap, there
from orda.ordering.problem import Problem
from orda.records import FloatArray, IntArray

every_problem = pytest.mark.parametrize(("name", "goal"), PROBLEMS, ids=NAMES)
seeds = st.integers(0, 10**9)
sizes = st.tuples(st.integers(1, 6), st.integers(1, 5))  # k, M
RTOL = 1e-10
ATOL = 1e-13  # of numbers about 1: with k = 1 CORAL's D̂ is 0


@fresh
def walk(problem: Problem, arranged: IntArray, steps: IntArray, values: FloatArray) -> FloatArray:
    """Swaps (row, minibatch, other) one after another; then all that the primitive says of every replacement.

    ``values`` takes the D̂ that the state ends with; [r, m, j] is minibatch m with row r's element j, in five ways.
    """
    rows, horizon = arranged.shape
    state = prepared(problem, arranged)
    for r, m, other in steps:
        at_m = replaced(problem, state, arranged, r, m, arranged[r, other])
        at_other = replaced(problem, state, arranged, r, other, arranged[r, m])
        if m != other:
            swap(problem, state, arranged, r, m, other, at_m, at_other)
    values[:] = state.values
    out = np.full((5, rows, horizon, horizon), np.nan)
    say_all(problem, state, arranged, out[:4])
    row = np.empty(horizon)
    for r in range(rows):
        for j in range(horizon):
            start = j % horizon
            there(problem, state, arranged, r, r * horizon + j, start, row)
            out[4, r, start:, j] = row[start:]
    return out


def direct(problem: Made, arranged: IntArray) -> np.ndarray:
    """[r, m, j]: the minibatch put together anew."""
    rows, horizon = arranged.shape
    out = np.empty((rows, horizon, horizon))
    for r in range(rows):
        for m in range(horizon):
            for j in range(horizon):
                changed = arranged[:, m : m + 1].copy()
                changed[r] = r * horizon + j
                source, target = problem.columns(np.repeat(changed, horizon, 1))
                out[r, m, j] = problem.estimate(source[:, 0], target[:, 0]) / problem.task.scale
    return out


@every_problem
@given(seed=seeds, size=sizes)
def test_every_replacement_is_the_estimate_of_the_new_minibatch(
    name: str, goal: str, seed: int, size: tuple[int, int]
) -> None:
    """Also of a state that many swaps have been made to."""
    k, horizon = size
    problem, rng = made(name, goal, seed, k, horizon), np.random.default_rng(seed)
    arranged = rng.permuted(problem.start, axis=1)
    steps = np.stack([rng.integers(2 * k, size=8), rng.integers(horizon, size=8), rng.integers(horizon, size=8)], 1)
    values = np.empty(horizon)
    found, expected = walk(problem.task.problem, arranged, steps, values), direct(problem, arranged)
    np.testing.assert_allclose(values, problem.values(arranged), rtol=RTOL, atol=ATOL)
    for way in range(4):
        np.testing.assert_allclose(found[way], expected, rtol=RTOL, atol=ATOL)
    seen = np.isfinite(found[4])  # minibatches from ``start`` on, and no others
    assert np.array_equal(seen, np.broadcast_to(np.tri(horizon, dtype=bool), seen.shape))
    np.testing.assert_allclose(found[4][seen], expected[seen], rtol=RTOL, atol=ATOL)


@every_problem
@given(seed=seeds)
def test_values_and_objective_from_nothing(name: str, goal: str, seed: int) -> None:
    problem = made(name, goal, seed)
    arranged = np.random.default_rng(seed).permuted(problem.start, axis=1)
    expected = problem.values(arranged)
    values = measured(problem.task.problem, arranged)
    np.testing.assert_allclose(values, expected, rtol=RTOL, atol=ATOL)
    np.testing.assert_allclose(prepared(problem.task.problem, arranged).values, expected, rtol=RTOL, atol=ATOL)
    if goal == "scalar":
        told = problem.task.scale**2 * objective(problem.task.problem, values)
        assert told == pytest.approx(problem.mean_cost(arranged), rel=1e-8)  # squares of differences from D0
    else:
        assert objective(problem.task.problem, values) == pytest.approx(float(expected.mean()), rel=RTOL)


@fresh
def put_here(problem: Problem, state, arranged: IntArray, r: int, m: int, y: int) -> None:  # type: ignore[no-untyped-def]
    put(problem, state, arranged, r, m, y)


@pytest.mark.parametrize("name", ["rbf", "coral", "coral, moments"])
@given(seed=seeds)
def test_all_that_a_state_keeps_follows_a_replacement(name: str, seed: int) -> None:
    problem, rng = made(name, "scalar", seed), np.random.default_rng(seed)
    r, m, j = int(rng.integers(6)), int(rng.integers(5)), int(rng.integers(5))
    arranged = problem.start
    changed = prepared(problem.task.problem, arranged)
    put_here(problem.task.problem, changed, arranged, r, m, r * 5 + j)
    assert arranged[r, m] == r * 5 + j
    fresh = prepared(problem.task.problem, arranged)
    for part in set(changed._fields) - {"values", "scratch"}:  # D̂ is the caller's
        np.testing.assert_allclose(getattr(changed, part), getattr(fresh, part), rtol=RTOL, atol=ATOL, err_msg=part)
