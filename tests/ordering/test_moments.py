"""CORAL's primitive from the points: against the Gram path, in float64 and in float32, and what it takes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from ordering.made import fresh, say_all

import orda
from orda.ordering import OPTIMISERS, initial_arrangement, ordering_task
from orda.ordering.objective import measured, prepared, put, replaced
from orda.ordering.problem import CovarianceProblem, MomentProblem, Problem
from orda.records import Features, FloatArray, IntArray, Pool, Strata
from orda.stratification import draw

seeds = st.integers(0, 10**9)
sizes = st.tuples(st.integers(1, 6), st.integers(1, 9), st.integers(1, 11))  # k, M, d: whole blocks and others
K, HORIZON, D = 4, 6, 7


def problem(seed: int, k: int = K, horizon: int = HORIZON, d: int = D, dtype: type = np.float64) -> MomentProblem:
    """Random points and weights, some of them nearly 1."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(2 * k * horizon, d)) * rng.uniform(0.5, 2, size=d) + rng.normal(size=d)
    weight = rng.dirichlet(np.full(k, rng.choice([0.2, 20.0])), size=2)
    signed = weight * [[1.1], [-1.3]]
    return MomentProblem(points.astype(dtype), weight, signed, 0.3, True)


def gram_of(made: MomentProblem) -> CovarianceProblem:
    """In float64."""
    points = made.points.astype(np.float64)
    correction = np.array([1.1, 1.3])
    return CovarianceProblem(points @ points.T, made.weight, made.signed, correction, made.reference, made.scalar)


def start(made: MomentProblem, seed: int) -> IntArray:
    rows = made.signed.size
    return np.random.default_rng(seed).permuted(initial_arrangement(rows, len(made.points) // rows), axis=1)


@fresh
def tables(problem: Problem, arranged: IntArray, steps: IntArray) -> FloatArray:
    """After some replacements, [way, r, m, j]: what the primitive says of minibatch m with row r's element j."""
    rows, horizon = arranged.shape
    state, changed = prepared(problem, arranged), arranged.copy()
    for r, m, column in steps:
        state.values[m] = replaced(problem, state, changed, r, m, r * horizon + column)
        put(problem, state, changed, r, m, r * horizon + column)
    out = np.empty((4, rows, horizon, horizon))
    say_all(problem, state, changed, out)
    return out


def some_steps(seed: int, rows: int, horizon: int) -> IntArray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(most, size=8) for most in (rows, horizon, horizon)], 1)


@given(seed=seeds, size=sizes)
def test_the_primitive_is_that_of_the_gram_path(seed: int, size: tuple[int, int, int]) -> None:
    """Also of a state that was changed, and of a minibatch of one member, which has no covariance."""
    made, (k, horizon, _) = problem(seed, *size), size
    arranged, steps = start(made, seed), some_steps(seed, 2 * k, horizon)
    expected = tables(gram_of(made), arranged, steps)[0]
    for found in tables(made, arranged, steps):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(measured(made, arranged), measured(gram_of(made), arranged), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(prepared(made, arranged).values, measured(made, arranged), rtol=1e-15)


@given(seed=seeds)
def test_of_float32_points_the_product_alone_is_rounded(seed: int) -> None:
    """A minibatch with an element as far off as the others: six digits and more. D̂ itself has all of float64's."""
    made = problem(seed, dtype=np.float32)
    arranged, steps = start(made, seed), some_steps(seed, 2 * K, HORIZON)
    np.testing.assert_allclose(measured(made, arranged), measured(gram_of(made), arranged), rtol=1e-10, atol=1e-11)
    expected = tables(gram_of(made), arranged, steps)[0]
    found = tables(made, arranged, steps)
    np.testing.assert_allclose(found[:2], np.stack([expected] * 2), rtol=0, atol=1e-6 * expected.max())
    np.testing.assert_allclose(found[2:], np.stack([expected] * 2), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_who_stays_changes_nothing(dtype: type) -> None:
    """To the bit: no swap is made for what rounding adds."""
    made = problem(3, dtype=dtype)
    arranged = start(made, 3)
    values = prepared(made, arranged).values
    for found in tables(made, arranged, np.empty((0, 3), np.int64)):
        for r in range(2 * K):
            own = found[r, np.arange(HORIZON), arranged[r] - r * HORIZON]
            assert np.array_equal(own, values)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("d", [2, 7, 60])
def test_every_optimiser_goes_the_same_way(optimiser: str, d: int) -> None:
    made = problem(7, d=d)
    found = [
        OPTIMISERS[optimiser]()(way, initial_arrangement(2 * K, HORIZON), np.random.default_rng(0))
        for way in (made, gram_of(made))
    ]
    assert np.array_equal(found[0].arranged, found[1].arranged)
    np.testing.assert_allclose(found[0].values, found[1].values, rtol=1e-9, atol=1e-11)
    assert min(found[0].objectives) < found[0].objectives[0]


def pools(k: int, horizon: int, d: int) -> tuple[Features, tuple[Pool, Pool]]:
    rng = np.random.default_rng(0)
    n = k * horizon
    features = Features(*(torch.from_numpy(rng.normal(size=(n + i, d)) + 4) for i in (0, 1)))
    cut = [draw(Strata(np.arange(n + i) % k, np.bincount(np.arange(n + i) % k)), horizon, rng) for i in (0, 1)]
    return features, (cut[0], cut[1])


def test_past_the_budget_it_is_the_same_problem_without_a_gram() -> None:
    features, drawn = pools(4, 6, 3)
    needed = 48**2 * 8
    found = [ordering_task(orda.CORAL("mean"), features, *drawn, memory_budget=b) for b in (needed, needed - 1)]
    assert isinstance(found[0].problem, CovarianceProblem)
    assert isinstance(found[1].problem, MomentProblem)
    assert (found[0].scale, found[0].lower_bound) == (found[1].scale, found[1].lower_bound) == (1 / 9, None)
    assert found[0].problem.reference == found[1].problem.reference
    arranged = initial_arrangement(8, 6)
    np.testing.assert_allclose(*(measured(task.problem, arranged) for task in found), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("d", "kind"), [(10, MomentProblem), (11, CovarianceProblem)])
def test_past_the_budget_the_smaller_is_kept(d: int, kind: type) -> None:
    """A Gram matrix of 16² numbers or four triangles of d(d + 1)/2, 55 or 66."""
    features, drawn = pools(2, 4, d)
    assert isinstance(ordering_task(orda.CORAL(), features, *drawn, memory_budget=0).problem, kind)


def test_no_gram_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a Gram matrix")

    monkeypatch.setattr("orda.ordering.picked.gram_matrix", refuse)
    features, drawn = pools(50, 20, 3)
    task = ordering_task(orda.CORAL(), features, *drawn, memory_budget=2**20)
    found = OPTIMISERS["assignment"]()(task.problem, initial_arrangement(100, 20), np.random.default_rng(0))
    assert found.objectives[-1] < 0.1 * found.objectives[0]
    state = prepared(task.problem, found.arranged)
    assert sum(np.size(part) for part in (*task.problem, *state)) < 2 * 2000 * 3
