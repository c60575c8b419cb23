"""Means, errors, intervals and sign tests against literal twins, and their laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from references import tables as literal

from orda.experiments.tables.statistics import mean_and_error, sign_test, t_interval

SHARES = st.floats(0, 1, allow_subnormal=False)


@given(st.lists(SHARES, min_size=2, max_size=12))
def test_mean_and_error_against_fractions(values: list[float]) -> None:
    mean, error = mean_and_error(values)
    assert mean == pytest.approx(literal.mean(values), rel=1e-15, abs=1e-300)
    assert error == pytest.approx(literal.standard_error(values), rel=1e-9, abs=1e-16)


def test_one_value_has_no_error_and_no_value_no_mean() -> None:
    assert mean_and_error([0.3]) == (0.3, None)
    assert mean_and_error([]) == (None, None)
    assert t_interval([0.3]) == t_interval([]) == (None, None)


def test_the_error_divides_by_one_less() -> None:
    assert mean_and_error([1.0, 3.0]) == (2.0, 1.0)  # s = √2, not 1


@given(st.lists(SHARES, min_size=2, max_size=12), st.randoms(use_true_random=False))
def test_no_digit_depends_on_the_order(values: list[float], rng: object) -> None:
    shuffled = list(values)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    assert mean_and_error(shuffled) == mean_and_error(values)


@pytest.mark.parametrize("count", [2, 3, 5, 30])
def test_the_interval_holds_what_it_says(count: int) -> None:
    values = [math.sin(i) for i in range(count)]
    low, high = t_interval(values)
    mean, error = mean_and_error(values)
    assert low is not None
    assert high is not None
    assert mean is not None
    assert error is not None
    assert (low + high) / 2 == pytest.approx(mean)
    assert literal.student_cdf((high - mean) / error, count - 1) == pytest.approx(0.975, abs=1e-8)


def test_the_interval_covers_as_often_as_it_should() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for values in rng.normal(size=(2000, 5)):
        low, high = t_interval(list(values))
        assert low is not None
        assert high is not None
        covered += low <= 0 <= high
    assert abs(covered / 2000 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 2000)


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_sign_test_against_all_splits(wins: int, losses: int) -> None:
    expected = literal.sign_test(wins, losses)
    found = sign_test(wins, losses)
    assert found == (None if expected is None else pytest.approx(float(expected), rel=1e-10))
    assert found == sign_test(losses, wins)
