"""What an ordering problem holds: scales, D0, and a bound that no order beats."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from ordering.made import DISCREPANCIES, NAMES, PROBLEMS, made
from references import ordering as twins

import orda
from orda.errors import UnknownName
from orda.ordering import OPTIMISERS, ordering_task
from orda.ordering.problem import QuadraticProblem
from orda.records import Features, Strata
from orda.stratification import draw

seeds = st.integers(0, 10**9)
every_problem = pytest.mark.parametrize(("name", "goal"), PROBLEMS, ids=NAMES)


@every_problem
@given(seed=seeds)
@settings(max_examples=10)
def test_the_reference_is_that_of_all_data(name: str, goal: str, seed: int) -> None:
    problem = made(name, goal, seed)
    if goal == "scalar":
        assert problem.task.scale * problem.task.problem.reference == pytest.approx(problem.d0, rel=1e-9)


@pytest.mark.parametrize("name", DISCREPANCIES)
@given(seed=seeds)
@settings(max_examples=6)
def test_brute_force_is_never_below_the_bound_and_no_optimiser_below_brute_force(name: str, seed: int) -> None:
    problem = made(name, "scalar", seed, k=2, horizon=3)
    lowest = twins.least(problem.cost, problem.source, problem.target)
    if problem.task.lower_bound is not None:
        assert problem.task.lower_bound <= lowest * (1 + 1e-9)
    reached = []
    for optimiser in OPTIMISERS.values():
        found = optimiser()(problem.task.problem, problem.start, np.random.default_rng(seed))
        reached.append(problem.mean_cost(found.arranged))
        assert reached[-1] >= lowest * (1 - 1e-9)
    assert min(reached) <= problem.mean_cost(problem.start)


@pytest.mark.parametrize(("name", "goal"), [p for p in PROBLEMS if not p[0].startswith("coral") or p[1] != "scalar"])
@given(seed=seeds)
@settings(max_examples=10)
def test_the_bound_is_that_of_the_mean_minibatch(name: str, goal: str, seed: int) -> None:
    """‖v̄‖²: what the quadratic form makes of every member at once, at a weight of 1/M of its own."""
    problem = made(name, goal, seed)
    task, horizon = problem.task.problem, problem.source.shape[1]
    assert isinstance(task, QuadraticProblem)
    u = np.repeat(task.signed, horizon) / horizon
    mean = float(u @ task.gram @ u)
    expected = max(0.0, mean - task.reference) ** 2 if goal == "scalar" else mean
    assert problem.task.lower_bound == pytest.approx(expected, rel=1e-9, abs=1e-15)
    shuffled = np.random.default_rng(seed).permuted(problem.start, axis=1)  # Σ_m v_m knows no order
    total = [np.bincount(part.ravel(), np.repeat(w, horizon), 200) for part, w in weighted(problem, shuffled)]
    before = [np.bincount(part.ravel(), np.repeat(w, horizon), 200) for part, w in weighted(problem, problem.start)]
    np.testing.assert_allclose(total, before, rtol=1e-12)


def weighted(problem, arranged):  # type: ignore[no-untyped-def]
    """Source and target examples (k, M) with the weights of their rows."""
    u = np.abs(problem.task.problem.signed)
    source, target = problem.columns(arranged)
    return [(source, u[: len(source)]), (target, u[len(source) :])]


def test_a_pool_of_all_data_can_be_ordered_without_a_bound() -> None:
    """M = n/k in equal strata: every example once, v̄ = v_0."""
    rng = np.random.default_rng(0)
    features = Features(*(torch.from_numpy(rng.normal(size=(20, 2))) for _ in range(2)))
    strata = Strata(rng.permutation(np.repeat(np.arange(4), 5)), np.full(4, 5))
    task = ordering_task(orda.MMD("linear"), features, draw(strata, 5, rng), draw(strata, 5, rng))
    assert task.lower_bound == pytest.approx(0.0, abs=1e-25)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_the_scale_of_coral_changes_numbers_and_no_order(optimiser: str) -> None:
    orders, told = [], []
    for name in ("coral", "coral, mean", "coral, deep"):
        problem = made(name, "scalar", 4)
        found = OPTIMISERS[optimiser]()(problem.task.problem, problem.start, np.random.default_rng(1))
        orders.append(found.arranged)
        told.append(problem.told(found)[[0, -1]])
        assert told[-1][0] == pytest.approx(problem.mean_cost(problem.start), rel=1e-9)
    assert np.array_equal(orders[0], orders[1])
    assert np.array_equal(orders[0], orders[2])
    np.testing.assert_allclose(told[0], 9**2 * told[1], rtol=1e-9)  # d = 3: D̂ over d², costs over d⁴
    np.testing.assert_allclose(told[1], 4**2 * told[2], rtol=1e-9)


def test_an_unknown_objective_is_named() -> None:
    features = Features(torch.zeros(4, 2), torch.zeros(4, 2))
    with pytest.raises(UnknownName, match=re.escape("Did you mean 'embedding'")):
        ordering_task(orda.MMD(), features, None, None, objective="embeding")  # type: ignore[arg-type]
