"""Algorithm 1, against its literal twin and its laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from references.stratification import algorithm_1

from orda.errors import SettingError
from orda.stratification import assign


@st.composite
def problems(draw: st.DrawFn, *, ties: bool = False, tight: bool = False) -> tuple[np.ndarray, int, np.ndarray]:
    """Distances (n, k), a feasible minimum size, an order; with ``ties`` distances are small integers."""
    k, n = draw(st.integers(1, 7)), draw(st.integers(1, 60))
    n = max(n, k)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    p = rng.integers(0, 3, (n, k)).astype(float) if ties else rng.random((n, k)) ** 2
    most = n // k
    return p, most if tight else draw(st.integers(0, most)), rng.permutation(n)


@given(problems())
def test_equals_the_literal_algorithm(problem: tuple[np.ndarray, int, np.ndarray]) -> None:
    p, min_size, order = problem
    np.testing.assert_array_equal(assign(p, min_size, order), algorithm_1(p, min_size, order.tolist()))


@given(problems(ties=True))
def test_of_equal_costs_the_lowest_stratum_wins(problem: tuple[np.ndarray, int, np.ndarray]) -> None:
    p, min_size, order = problem
    np.testing.assert_array_equal(assign(p, min_size, order), algorithm_1(p, min_size, order.tolist()))


@given(problems(tight=True))
def test_no_stratum_ends_short_when_there_is_hardly_a_choice(problem: tuple[np.ndarray, int, np.ndarray]) -> None:
    p, min_size, order = problem
    labels = assign(p, min_size, order)
    assert labels.dtype == np.int64
    assert np.bincount(labels, minlength=p.shape[1]).min() >= min_size


@given(problems())
def test_no_stratum_ends_short(problem: tuple[np.ndarray, int, np.ndarray]) -> None:
    p, min_size, order = problem
    labels = assign(p, min_size, order)
    assert np.bincount(labels, minlength=p.shape[1]).min() >= min_size
    assert len(np.bincount(labels)) <= p.shape[1]


@given(problems(tight=True))
def test_the_printed_rule_is_at_most_one_short_in_one_stratum(problem: tuple[np.ndarray, int, np.ndarray]) -> None:
    p, min_size, order = problem
    sizes = np.bincount(algorithm_1(p, min_size, order.tolist(), strict=False), minlength=p.shape[1])
    assert np.maximum(min_size - sizes, 0).sum() <= 1


def test_the_printed_rule_leaves_a_stratum_short_and_ours_does_not() -> None:
    """n = 200, k = 5, n_min = 38: distances of two-dimensional normal points to five of them, as in the paper."""
    short = {True: 0, False: 0}
    for seed in range(30):
        rng = np.random.default_rng(seed)
        points = rng.standard_normal((200, 2))
        p = ((points[:, None] - points[None, :5]) ** 2).sum(-1)
        order = rng.permutation(200)
        printed = algorithm_1(p, 38, order.tolist(), strict=False)
        short[False] += np.bincount(printed, minlength=5).min() < 38
        short[True] += np.bincount(assign(p, 38, order), minlength=5).min() < 38
    assert short[True] == 0
    assert short[False] >= 25


def test_the_smallest_case_where_the_printed_rule_fails() -> None:
    """Two points, two strata of one: r = deficit = 2, so the printed rule lets both points choose the near stratum."""
    p = np.array([[0.0, 1.0], [0.0, 1.0]])
    assert algorithm_1(p, 1, strict=False) == [0, 0]
    assert assign(p, 1).tolist() == [0, 1]


def test_without_an_order_rows_are_visited_as_they_lie() -> None:
    p = np.random.default_rng(0).random((50, 4))
    np.testing.assert_array_equal(assign(p, 5), assign(p, 5, np.arange(50)))


def test_the_order_decides_not_where_the_rows_lie() -> None:
    rng = np.random.default_rng(1)
    p, order, where = rng.random((80, 5)), rng.permutation(80), rng.permutation(80)
    moved = np.argsort(where)[order]  # the same points in the same order, of shuffled rows
    np.testing.assert_array_equal(assign(p[where], 7, moved), assign(p, 7, order)[where])


def test_strata_keep_their_roles_under_another_numbering() -> None:
    rng = np.random.default_rng(2)
    p, renumber = rng.random((90, 6)), rng.permutation(6)
    np.testing.assert_array_equal(renumber[assign(p[:, renumber], 3)], assign(p, 3))


def test_float32_distances_and_a_strided_array_are_taken_as_they_are() -> None:
    p = np.random.default_rng(3).random((40, 8)).astype(np.float32)
    np.testing.assert_array_equal(assign(p[:, ::2], 2), algorithm_1(p[:, ::2].astype(float), 2))


def test_a_stratum_at_infinity_still_gets_its_minimum() -> None:
    p = np.column_stack([np.ones(10), np.full(10, np.inf)])
    assert np.bincount(assign(p, 3)).tolist() == [7, 3]


@pytest.mark.parametrize(
    ("distances", "min_size", "order", "rule"),
    [
        (np.ones(3), 1, None, r"\(n, k\)"),
        (np.ones((3, 0)), 0, None, "k ≥ 1"),
        (np.ones((3, 2), dtype=int), 1, None, "floats"),
        (np.ones((3, 2)), 2, None, "at most 1"),
        (np.ones((3, 2)), -1, None, "0 ≤ k·min_size ≤ n"),
        (np.ones((3, 2)), 1, np.array([0, 1, 1]), "permutation"),
        (np.ones((3, 2)), 1, np.array([0, 1]), "permutation"),
        (np.ones((3, 2)), 1, np.array([0, 1, 3]), "permutation"),
        (np.ones((3, 2)), 1, np.array([0.0, 1, 2]), "permutation"),
        (np.array([[0.0, np.nan]]), 0, None, "1 NaN"),
    ],
)
def test_what_cannot_be_used_is_an_error(distances: np.ndarray, min_size: int, order: object, rule: str) -> None:
    with pytest.raises(SettingError, match=rule):
        assign(distances, min_size, order)  # type: ignore[arg-type]
