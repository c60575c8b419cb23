"""Pools: of the right members, in equal numbers, and uniform in every slot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from references.stratification import shuffled_copies
from scipy.stats import chisquare

from orda.errors import SettingError
from orda.records import Strata
from orda.stratification import draw, draw_independent

DRAWS = 6000
UNLIKELY = 1e-5  # of a p-value, in a test with some dozens of them


def strata_of(sizes: list[int], seed: int = 0) -> Strata:
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    return Strata(labels, np.array(sizes))


def members(strata: Strata, h: int) -> np.ndarray:
    return np.flatnonzero(strata.labels == h)


def many(draw_one: object, strata: Strata, horizon: int, h: int) -> np.ndarray:
    """Ranks of what was drawn from stratum h inside it, in many pools: (DRAWS, M)."""
    rng = np.random.default_rng(1)
    rows = np.stack([draw_one(strata, horizon, rng).index[h] for _ in range(DRAWS)])  # type: ignore[operator]
    return np.searchsorted(members(strata, h), rows)


def uniform(ranks: np.ndarray, cells: int) -> bool:
    return bool(chisquare(np.bincount(ranks, minlength=cells)).pvalue > UNLIKELY)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=8), st.integers(1, 30), st.integers(0, 99))
def test_equals_the_literal_shuffle(sizes: list[int], horizon: int, seed: int) -> None:
    strata = strata_of(sizes, seed)
    pool = draw(strata, horizon, np.random.default_rng(seed))
    left = np.array([[size - m % size for m in range(horizon)] for size in sizes])
    ahead = np.random.default_rng(seed).integers(0, left)
    for h in range(len(sizes)):
        assert pool.index[h].tolist() == shuffled_copies(members(strata, h).tolist(), horizon, ahead[h].tolist())


@given(st.lists(st.integers(1, 12), min_size=1, max_size=8), st.integers(1, 30), st.integers(0, 99))
def test_a_copy_holds_each_member_once(sizes: list[int], horizon: int, seed: int) -> None:
    strata = strata_of(sizes, seed)
    pool = draw(strata, horizon, np.random.default_rng(seed))
    assert pool.index.shape == (len(sizes), horizon)
    for h, size in enumerate(sizes):
        for first in range(0, horizon, size):
            copy = pool.index[h, first : first + size]
            assert len(set(copy.tolist())) == len(copy)
        assert set(pool.index[h].tolist()) <= set(members(strata, h).tolist())
        times = np.bincount(np.searchsorted(members(strata, h), pool.index[h]), minlength=size)
        assert times.max() - times.min() <= 1


@pytest.mark.parametrize("one", [draw, draw_independent])
def test_the_fields_of_a_pool(one: object) -> None:
    strata = strata_of([3, 1, 6])
    pool = one(strata, 4, np.random.default_rng(0))  # type: ignore[operator]
    np.testing.assert_allclose(pool.weight, [0.3, 0.1, 0.6])
    assert pool.stratum.tolist() == [0, 1, 2]
    assert pool.index.dtype == pool.stratum.dtype == np.int64
    np.testing.assert_array_equal(strata.labels[pool.index], np.repeat([[0], [1], [2]], 4, 1))


@pytest.mark.parametrize("one", [draw, draw_independent])
@pytest.mark.parametrize("size", [9, 4, 3, 1])
def test_every_slot_is_uniform(one: object, size: int) -> None:
    """Strata larger than, equal to and smaller than M = 7 (so that a copy is cut in its middle)."""
    ranks = many(one, strata_of([5, size]), 7, 1)
    if size > 1:
        assert all(uniform(ranks[:, m], size) for m in range(7))


def test_pairs_without_replacement_are_uniform_over_different_members() -> None:
    ranks = many(draw, strata_of([5, 6]), 6, 1)
    for a, b in ((0, 1), (0, 5), (2, 4)):
        pairs = np.bincount(ranks[:, a] * 6 + ranks[:, b], minlength=36).reshape(6, 6)
        assert (np.diag(pairs) == 0).all()
        assert chisquare(pairs[~np.eye(6, dtype=bool)]).pvalue > UNLIKELY


def test_one_copy_knows_nothing_of_the_last() -> None:
    """A stratum of 4, M = 9: pairs of slots from different copies are uniform over all 16."""
    ranks = many(draw, strata_of([5, 4]), 9, 1)
    for a, b in ((3, 4), (0, 4), (0, 8), (7, 8), (2, 6)):
        assert uniform(ranks[:, a] * 4 + ranks[:, b], 16)


def test_orders_of_a_whole_stratum_are_uniform() -> None:
    ranks = many(draw, strata_of([5, 4]), 4, 1)
    orders = ranks @ np.array([64, 16, 4, 1])
    counts = np.unique(orders, return_counts=True)[1]
    assert len(counts) == 24
    assert chisquare(counts).pvalue > UNLIKELY


def test_independent_draws_are_independent() -> None:
    ranks = many(draw_independent, strata_of([5, 4]), 4, 1)
    for a, b in ((0, 1), (0, 3), (1, 2)):
        assert uniform(ranks[:, a] * 4 + ranks[:, b], 16)


@pytest.mark.parametrize("one", [draw, draw_independent])
def test_strata_are_drawn_from_independently(one: object) -> None:
    rng = np.random.default_rng(2)
    strata = strata_of([4, 4])
    pools = [one(strata, 3, rng).index for _ in range(DRAWS)]  # type: ignore[operator]
    first, second = (np.searchsorted(members(strata, h), [pool[h, 2] for pool in pools]) for h in (0, 1))
    assert uniform(first * 4 + second, 16)


@pytest.mark.parametrize("one", [draw, draw_independent])
def test_the_weighted_mean_is_unbiased(one: object) -> None:
    rng = np.random.default_rng(3)
    strata, values = strata_of([2, 9, 30]), rng.standard_normal(41)
    means = np.array([(pool.weight @ values[pool.index]) for pool in (one(strata, 5, rng) for _ in range(DRAWS))])  # type: ignore[operator]
    error = means.std(0) / np.sqrt(DRAWS)
    assert (np.abs(means.mean(0) - values.mean()) < 4.5 * error).all()


@pytest.mark.parametrize("one", [draw, draw_independent])
def test_the_generator_decides(one: object) -> None:
    strata = strata_of([50, 60])
    first, again, other = (one(strata, 10, np.random.default_rng(seed)).index for seed in (0, 0, 1))  # type: ignore[operator]
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_strata_are_left_as_they_were() -> None:
    strata = strata_of([5, 6])
    labels, sizes = strata.labels.copy(), strata.sizes.copy()
    draw(strata, 20, np.random.default_rng(0))
    np.testing.assert_array_equal(strata.labels, labels)
    np.testing.assert_array_equal(strata.sizes, sizes)


def test_a_million_points_in_a_thousand_strata() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 1024, 10**6)
    strata = Strata(labels, np.bincount(labels, minlength=1024))
    pool = draw(strata, 100, rng)
    np.testing.assert_array_equal(labels[pool.index], np.repeat(np.arange(1024)[:, None], 100, 1))
    assert len(np.unique(pool.index)) == 1024 * 100


@pytest.mark.parametrize("one", [draw, draw_independent])
@pytest.mark.parametrize(
    ("strata", "horizon", "rng", "rule"),
    [
        (strata_of([3, 4]), 0, np.random.default_rng(0), "horizon must be an integer of at least 1; got 0"),
        (strata_of([3, 4]), 2.5, np.random.default_rng(0), "horizon"),
        (strata_of([3, 4]), True, np.random.default_rng(0), "horizon"),
        (strata_of([3, 4]), 2, 0, "rng must be a numpy.random.Generator"),
        (Strata(np.array([0, 0]), np.array([2, 0])), 2, np.random.default_rng(0), "at least 1 each"),
        (Strata(np.array([0, 1]), np.array([2, 1])), 2, np.random.default_rng(0), "count them"),
        (Strata(np.array([0, 2]), np.array([1, 1])), 2, np.random.default_rng(0), "labels in 0..k−1"),
        (Strata(np.array([0, -1]), np.array([1, 1])), 2, np.random.default_rng(0), "labels in 0..k−1"),
        (Strata(np.array([], dtype=int), np.array([], dtype=int)), 2, np.random.default_rng(0), "0 labels"),
    ],
)
def test_what_cannot_be_used_is_an_error(one: object, strata: Strata, horizon: object, rng: object, rule: str) -> None:
    with pytest.raises(SettingError, match=rule):
        one(strata, horizon, rng)  # type: ignore[operator]


# --- two draws of every stratum -----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [draw, draw_independent])
@given(seed=st.integers(0, 10**9))
def test_pairs_are_of_one_stratum_and_never_the_same_example(way, seed: int) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    k, horizon = int(rng.integers(1, 5)), int(rng.integers(1, 12))
    labels = rng.permutation(np.concatenate([np.arange(k), rng.integers(k, size=rng.integers(30))]))
    strata = Strata(labels, np.bincount(labels, minlength=k))
    pool = way(strata, horizon, rng, 2)
    assert pool.index.shape == (2 * k, horizon)
    np.testing.assert_array_equal(pool.stratum, np.repeat(np.arange(k), 2))
    np.testing.assert_allclose(pool.weight, np.repeat(strata.sizes / strata.n / 2, 2))
    np.testing.assert_allclose(pool.own, np.repeat(1 / strata.sizes, 2))
    for h in range(k):
        one, other = pool.index[2 * h], pool.index[2 * h + 1]
        assert (labels[one] == h).all()
        assert (labels[other] == h).all()
        if strata.sizes[h] == 1:
            assert (one == other).all()
        elif way is draw:
            assert not set(one) & set(other)  # however they are permuted
        else:
            assert (one != other).all()


@pytest.mark.parametrize("way", [draw, draw_independent])
@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_each_pair_is_as_likely_as_any_other(way, size: int) -> None:  # type: ignore[no-untyped-def]
    rng, strata = np.random.default_rng(3), Strata(np.zeros(size, dtype=np.int64), np.array([size]))
    pools = [way(strata, 3, rng, 2).index for _ in range(4000)]
    for m in range(3):
        pairs = np.array([pool[0, m] * size + pool[1, m] for pool in pools])
        counts = np.bincount(pairs, minlength=size * size).reshape(size, size)
        assert np.diag(counts).sum() == 0
        assert chisquare(counts[~np.eye(size, dtype=bool)]).pvalue > UNLIKELY


def test_only_one_or_two_draws() -> None:
    strata = Strata(np.zeros(4, dtype=np.int64), np.array([4]))
    with pytest.raises(SettingError, match="draws from a stratum must be 1 or 2; got 3"):
        draw(strata, 2, np.random.default_rng(0), 3)
