"""The primitive from explicit features: against its literal twin, and against the Gram path with the same kernel."""

from __future__ import annotations

import numpy as np
import pytest
import references.approximations as literal
import torch
from hypothesis import given
from hypothesis import strategies as st
from ordering.made import fresh

import orda
from orda.approximations import Approximate, nystroem_map
from orda.ordering import OPTIMISERS, initial_arrangement, ordering_task
from orda.ordering.objective import everywhere, here, measured, prepared, put, replaced, there
from orda.ordering.problem import ExplicitProblem, Problem, QuadraticProblem
from orda.records import Features, IntArray, Pool, Strata
from orda.stratification import draw

seeds = st.integers(0, 10**9)
HORIZON = 5


def problem(seed: int, *, paired: bool, k: int = 3, size: int = 4, copies: bool = True) -> ExplicitProblem:
    """Random φ; with copies of examples in a row, and, with pairs, a pair that is one example twice."""
    rng = np.random.default_rng(seed)
    rows, horizon = 2 * k * (2 if paired else 1), HORIZON
    elements = rows * horizon
    example = np.arange(elements)
    if copies:
        example[-1] = example[-2]
        if paired:
            example[: 2 * horizon] = 0  # a stratum of one example
    phi = rng.normal(size=(elements, size))[example]
    weight = rng.dirichlet(np.ones(rows // 2), size=2).ravel()
    signed = weight * np.repeat([1.0, -1.0], rows // 2)
    partner, pair = np.arange(rows), np.zeros(rows)
    if paired:
        partner = partner ^ 1
        signed[1::2] = signed[::2]
        pair = signed**2 * (1 - 2 * np.repeat(rng.random(rows // 2), 2))
    return ExplicitProblem(phi, rng.random(elements)[example], example, signed, partner, pair, 0.3, True)


def gram_of(made: ExplicitProblem) -> QuadraticProblem:
    same = made.example[:, None] == made.example
    gram = made.phi @ made.phi.T + same * made.extra
    return QuadraticProblem(gram, made.signed, made.partner, made.pair, made.reference, made.scalar)


def start(made: ExplicitProblem, seed: int) -> IntArray:
    rows = len(made.signed)
    return np.random.default_rng(seed).permuted(initial_arrangement(rows, HORIZON), axis=1)


@fresh
def ways(problem: Problem, arranged: IntArray, r: int, m: int, y: int, out: np.ndarray) -> None:
    """What each function of the primitive says of minibatch m with element y of row r; then that element put there."""
    state = prepared(problem, arranged)
    horizon = arranged.shape[1]
    at, row, table = np.empty(horizon), np.empty(horizon), np.empty((horizon, horizon))
    here(problem, state, arranged, r, m, at)
    there(problem, state, arranged, r, y, 0, row)
    everywhere(problem, state, arranged, r, table)
    out[0], out[1], out[2] = at[y - r * horizon], row[m], table[m, y - r * horizon]
    out[3] = replaced(problem, state, arranged, r, m, y)
    put(problem, state, arranged, r, m, y)
    state.values[m] = out[3]
    out[4] = replaced(problem, state, arranged, r, m, y)


@given(seed=seeds, paired=st.booleans())
def test_values_are_those_of_the_literal_twin(seed: int, paired: bool) -> None:
    made = problem(seed, paired=paired)
    arranged = start(made, seed)
    expected = [
        literal.explicit_value(*made[:6], arranged[:, m].tolist())  # type: ignore[arg-type]
        for m in range(HORIZON)
    ]
    np.testing.assert_allclose(measured(made, arranged), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(prepared(made, arranged).values, expected, rtol=1e-10, atol=1e-12)


@given(seed=seeds, paired=st.booleans())
def test_the_primitive_is_that_of_the_gram_path(seed: int, paired: bool) -> None:
    made = problem(seed, paired=paired)
    rng = np.random.default_rng(seed)
    r, m, column = int(rng.integers(len(made.signed))), int(rng.integers(HORIZON)), int(rng.integers(HORIZON))
    found = []
    for way in (made, gram_of(made)):
        arranged, out = start(made, seed), np.empty(5)
        ways(way, arranged, r, m, r * HORIZON + column, out)
        np.testing.assert_allclose(out, measured(way, arranged)[m], rtol=1e-10, atol=1e-12)
        found.append(out)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("paired", [False, True])
def test_every_optimiser_goes_the_same_way(optimiser: str, paired: bool) -> None:
    made = problem(7, paired=paired, k=4, copies=False)  # between copies rounding would decide
    found = [
        OPTIMISERS[optimiser]()(way, initial_arrangement(len(made.signed), HORIZON), np.random.default_rng(0))
        for way in (made, gram_of(made))
    ]
    assert np.array_equal(found[0].arranged, found[1].arranged)
    np.testing.assert_allclose(found[0].values, found[1].values, rtol=1e-10, atol=1e-12)
    assert found[0].objectives[-1] < found[0].objectives[0]


def pools(n_s: int, n_t: int, k: int, draws: int = 1) -> tuple[Features, tuple[Pool, Pool]]:
    rng = np.random.default_rng(0)
    features = Features(*(torch.from_numpy(rng.normal(size=(n, 3)) + 4) for n in (n_s, n_t)))
    cut = []
    for n in (n_s, n_t):
        labels = rng.permutation(np.arange(n) % k)
        cut.append(draw(Strata(labels, np.bincount(labels)), 6, rng, draws))
    return features, (cut[0], cut[1])


@pytest.mark.parametrize("estimator", ["plug-in", "unbiased"])
@pytest.mark.parametrize("objective", ["scalar", "embedding"])
def test_a_linear_kernel_past_the_budget_gives_the_same_problem_without_a_gram(estimator: str, objective: str) -> None:
    features, drawn = pools(40, 30, 4, 2 if estimator == "unbiased" else 1)
    mmd = orda.MMD("linear", estimator=estimator)
    rows = 2 * len(drawn[0].weight)
    needed = (rows * 6) ** 2 * 8
    found = [ordering_task(mmd, features, *drawn, objective=objective, memory_budget=b) for b in (needed, needed - 1)]
    assert isinstance(found[0].problem, QuadraticProblem)
    assert isinstance(found[1].problem, ExplicitProblem)
    arranged = initial_arrangement(rows, 6)
    np.testing.assert_allclose(*(measured(task.problem, arranged) for task in found), rtol=1e-10, atol=1e-12)
    if found[0].lower_bound is not None:
        assert found[1].lower_bound == pytest.approx(found[0].lower_bound, rel=1e-9, abs=1e-14)


def test_maps_that_are_exact_give_the_same_problem_and_bound_with_copies_in_the_pool() -> None:
    features, drawn = pools(9, 30, 3)  # three examples in a stratum of six slots: copies
    mmd = orda.MMD(gammas=(0.1, 1.0))
    embedding = mmd.bare_embedding(features)
    centre = embedding.centres[0]  # type: ignore[index]
    some = torch.cat([features.source, features.target])[::3] - centre
    found = nystroem_map(embedding.kernel, some, 100, np.random.default_rng(0))
    approximate = Approximate(embedding.kernel, found, centre)
    task = ordering_task(
        mmd, features, *drawn, embedding=embedding, memory_budget=0, maps=lambda: (approximate, approximate)
    )
    assert isinstance(task.problem, ExplicitProblem)
    twin = gram_of(task.problem)
    arranged = initial_arrangement(6, 6)
    np.testing.assert_allclose(measured(task.problem, arranged), measured(twin, arranged), rtol=1e-10)
    v = np.repeat(task.problem.signed, 6) / 6
    bound = max(0.0, float(v @ twin.gram @ v) - task.problem.reference) ** 2
    assert task.lower_bound == pytest.approx(bound, rel=1e-9, abs=1e-14)


def test_without_maps_the_gram_is_made_after_all() -> None:
    features, drawn = pools(40, 30, 4)
    task = ordering_task(orda.MMD(gammas=(0.1,)), features, *drawn, memory_budget=0)
    assert isinstance(task.problem, QuadraticProblem)
