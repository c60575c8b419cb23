"""Exact reordering of a row against all M! orders of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ordering.made import NAMES, PROBLEMS, made
from references import ordering as twins

from orda.errors import SettingError
from orda.ordering import Assignment

every_problem = pytest.mark.parametrize(("name", "goal"), PROBLEMS, ids=NAMES)
seeds = st.integers(0, 10**9)


@every_problem
@given(seed=seeds)
@settings(max_examples=5)
def test_a_pass_puts_each_row_in_the_best_of_its_orders(name: str, goal: str, seed: int) -> None:
    problem = made(name, goal, seed, k=2, horizon=4)
    found = Assignment(max_passes=1)(problem.task.problem, problem.start, np.random.default_rng(0))
    expected = twins.best_rows(problem.cost, problem.source, problem.target)
    for part, twin in zip(problem.columns(found.arranged), expected, strict=True):
        assert np.array_equal(part, twin)


@every_problem
@given(seed=seeds)
@settings(max_examples=5)
def test_no_sweep_rises_and_the_last_leaves_every_row_at_its_best(name: str, goal: str, seed: int) -> None:
    problem = made(name, goal, seed, k=2, horizon=4)
    found = Assignment(max_passes=100, tolerance=0.0)(problem.task.problem, problem.start, np.random.default_rng(0))
    assert found.passes < 100
    assert all(b <= a * (1 + 1e-12) for a, b in zip(found.objectives, found.objectives[1:], strict=False))
    again = twins.best_rows(problem.cost, *problem.columns(found.arranged))
    at_most = problem.mean_cost(found.arranged)
    assert twins.mean_cost(problem.cost, *again) == pytest.approx(at_most, rel=1e-8, abs=1e-12)


def test_a_sweep_below_the_tolerance_is_the_last() -> None:
    problem = made("rbf", "scalar", 3, k=3, horizon=5).task.problem
    start = made("rbf", "scalar", 3, k=3, horizon=5).start
    rng = np.random.default_rng(0)
    full = Assignment(max_passes=50, tolerance=0.0)(problem, start, rng).objectives
    gains = 1 - np.array(full[1:]) / np.array(full[:-1])
    assert gains[0] > gains[1] > 0
    middle = (gains[0] + gains[1]) / 2
    assert Assignment(max_passes=50, tolerance=float(middle))(problem, start, rng).objectives == full[:3]


@pytest.mark.parametrize("tolerance", [-0.1, float("nan"), "x", None])
def test_a_tolerance_that_is_none_is_refused(tolerance: object) -> None:
    with pytest.raises(SettingError, match="tolerance must be a number of at least 0"):
        Assignment(tolerance=tolerance)  # type: ignore[arg-type]
