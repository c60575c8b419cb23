"""The ordering problem of the unbiased estimate: the primitive against a literal twin, and what optimisers reach."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from ordering.made import fresh
from references import unbiased as twins

import orda
from orda.errors import SettingError
from orda.ordering import OPTIMISERS, OrderingTask, initial_arrangement, ordering_task
from orda.ordering.objective import everywhere, here, measured, prepared, put, replaced, there
from orda.ordering.problem import Problem, QuadraticProblem
from orda.records import Features, IntArray, Pool, Strata
from orda.stratification import draw

seeds = st.integers(0, 10**9)
DISCREPANCIES = {
    "linear": orda.MMD("linear", estimator="unbiased"),
    "rbf": orda.MMD(gammas="median", estimator="unbiased"),
    "coral": orda.CORAL("mean", estimator="unbiased"),
}


def strata(rng: np.random.Generator, n: int, k: int) -> Strata:
    labels = rng.permutation(np.concatenate([np.arange(k), rng.integers(k, size=n - k)]))
    return Strata(labels, np.bincount(labels, minlength=k))


def task(
    name: str, seed: int, k: int = 3, horizon: int = 4
) -> tuple[OrderingTask, Features, tuple[Pool, Pool], tuple[Strata, Strata]]:
    rng = np.random.default_rng(seed)
    n_s, n_t = rng.integers(k + 2, 30, size=2)
    features = Features(*(torch.from_numpy(rng.normal(size=(n, 3)) + rng.normal(size=3)) for n in (n_s, n_t)))
    cut = strata(rng, n_s, k), strata(rng, n_t, k)
    pools = draw(cut[0], horizon, rng, 2), draw(cut[1], horizon, rng, 2)
    return ordering_task(DISCREPANCIES[name].resolved(features), features, *pools), features, pools, cut


def literal(
    name: str, features: Features, pools: tuple[Pool, Pool], cut: tuple[Strata, Strata], chosen: IntArray
) -> float:
    """The unbiased D̂ of one minibatch, ``chosen`` (2k,) saying which column of each row is in it."""
    embedding = DISCREPANCIES[name].embedding(features)
    k, value, means = len(pools[0].stratum), 0.0, []
    scales = (1.0, 1.0)
    if name == "coral":
        scales = tuple(n / (n - 1) for n in (len(features.source), len(features.target)))  # type: ignore[assignment]
    for pool, part, columns, z, c in zip(
        pools, cut, (chosen[:k], chosen[k:]), (embedding.source, embedding.target), scales, strict=True
    ):
        x = z[pool.index[np.arange(k), columns]]
        places = [list(np.flatnonzero(pool.stratum == h)) for h in range(part.k)]
        gram = embedding.kernel.gram(x, x).numpy()
        value += c**2 * twins.squared_mean(gram, places, list(part.sizes), list(part.sizes / part.n))
        means.append((c * torch.from_numpy(pool.weight), x))
    (ws, xs), (wt, xt) = means
    value -= 2 * float(ws @ embedding.kernel.gram(xs, xt) @ wt)
    return value


@pytest.mark.parametrize("name", DISCREPANCIES)
@given(seed=seeds)
def test_values_are_the_unbiased_estimates(name: str, seed: int) -> None:
    made, features, pools, cut = task(name, seed)
    rng = np.random.default_rng(seed)
    arranged = rng.permuted(initial_arrangement(12, 4), axis=1)
    expected = [literal(name, features, pools, cut, arranged[:, m] % 4) for m in range(4)]
    np.testing.assert_allclose(measured(made.problem, arranged), expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(prepared(made.problem, arranged).values, expected, rtol=1e-9, atol=1e-10)
    assert made.lower_bound is None


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
    out[4] = replaced(problem, state, arranged, r, m, y)  # of a state that was changed: nothing more to change


@pytest.mark.parametrize("name", DISCREPANCIES)
@given(seed=seeds)
def test_the_primitive_agrees_with_the_definition(name: str, seed: int) -> None:
    made, *_ = task(name, seed)
    rng = np.random.default_rng(seed)
    arranged = rng.permuted(initial_arrangement(12, 4), axis=1)
    r, m, column = int(rng.integers(12)), int(rng.integers(4)), int(rng.integers(4))
    out = np.empty(5)
    ways(made.problem, arranged, r, m, r * 4 + column, out)  # puts the element there
    np.testing.assert_allclose(out, measured(made.problem, arranged)[m], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("name", DISCREPANCIES)
def test_every_optimiser_brings_the_estimate_nearer(name: str, optimiser: str) -> None:
    made, *_ = task(name, 5, k=3, horizon=12)
    start = initial_arrangement(12, 12)
    found = OPTIMISERS[optimiser]()(made.problem, start, np.random.default_rng(0))
    assert np.array_equal(np.sort(found.arranged, 1), start)  # permuted within rows
    np.testing.assert_allclose(found.values, measured(made.problem, found.arranged), rtol=1e-9, atol=1e-12)
    before = np.square(measured(made.problem, start) - made.problem.reference).mean()
    after = np.square(found.values - made.problem.reference).mean()
    assert after < 0.5 * before


def test_the_objective_embedding_measures_the_embedding_itself() -> None:
    made, features, pools, _ = task("rbf", 1)
    del made
    mmd = DISCREPANCIES["rbf"].resolved(features)
    embedded = ordering_task(mmd, features, *pools, objective="embedding").problem
    assert isinstance(embedded, QuadraticProblem)
    plain = ordering_task(orda.MMD(gammas=mmd.gammas), features, *pools).problem
    arranged = initial_arrangement(12, 4)
    np.testing.assert_allclose(measured(embedded, arranged), measured(plain, arranged), rtol=1e-12)


def test_a_pool_without_pairs_is_refused() -> None:
    rng = np.random.default_rng(0)
    features = Features(*(torch.from_numpy(rng.normal(size=(20, 2))) for _ in range(2)))
    pools = [draw(strata(rng, 20, 4), 3, rng) for _ in range(2)]
    with pytest.raises(SettingError, match=r"two rows of every stratum; got 4 rows .*Draw with draws=2"):
        ordering_task(orda.MMD("linear", estimator="unbiased"), features, *pools)
