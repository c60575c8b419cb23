"""Bias, variance and bootstrap intervals against literal twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from references import simulate as twins

from orda.experiments.simulate.statistics import (
    ERROR_STATISTICS,
    band,
    bootstrap,
    column,
    errors,
    mean_of,
    summarise,
    where,
)

seeds = st.integers(0, 10**9)


@given(seeds, st.integers(1, 5), st.integers(1, 6), st.floats(-2, 2))
def test_the_split_is_the_literal_one(seed: int, plans: int, horizon: int, d0: float) -> None:
    values = np.random.default_rng(seed).normal(size=(plans, horizon))
    rows = [errors(plan, d0) for plan in values]
    mean = {key: np.array([np.mean([float(row[key]) for row in rows])]) for key in rows[0]}
    for name, wanted in twins.split(values.tolist(), d0).items():
        assert ERROR_STATISTICS[name](mean)[0] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@given(seeds, st.integers(1, 30))
def test_variance_and_squared_bias_are_the_mean_squared_error(seed: int, repeats: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [{"repeat": r, **errors(rng.normal(size=5), 0.3)} for r in range(repeats)]
    table = {row["statistic"]: float(row["value"]) for row in summarise(rows, (), ERROR_STATISTICS, rng)}
    assert table["variance"] + table["bias"] ** 2 == pytest.approx(table["mse"])
    assert table["within"] <= table["variance"] * (1 + 1e-9)


@given(seeds, st.integers(2, 5))
def test_intervals_are_quantiles_of_the_resampling_distribution(seed: int, repeats: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=repeats)
    value, low, high = bootstrap({"x": x}, lambda mean: np.exp(mean["x"]), rng)
    exact = twins.resampling_distribution(x.tolist(), np.exp)
    assert value == pytest.approx(np.exp(x.mean()))
    slack = 5 * np.sqrt(0.025 * 0.975 / 2000)  # of a quantile's position among 2,000 resamples
    for bound, position in ((low, 0.025), (high, 0.975)):
        below, up_to = twins.mass_below(exact, bound)
        assert below - slack <= position <= up_to + slack


def test_an_interval_covers_as_often_as_it_says() -> None:
    """Means of 40 normal numbers: the percentile interval is a little short of 95 %, as it is known to be."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(400):
        _, low, high = bootstrap({"x": rng.normal(size=40)}, mean_of("x"), rng)
        hits += low <= 0 <= high
    assert 0.90 <= hits / 400 <= 0.98


def test_one_repeat_has_an_interval_of_no_width() -> None:
    value, low, high = bootstrap({"x": np.array([2.5])}, mean_of("x"), np.random.default_rng(0))
    assert value == low == high == 2.5


def test_columns_are_resampled_together() -> None:
    """y = 2x in every repeat, so their ratio is 2 in every resample."""
    x = np.random.default_rng(0).normal(3, 1, size=20)
    found = bootstrap({"x": x, "y": 2 * x}, lambda mean: mean["y"] / mean["x"], np.random.default_rng(1))
    assert np.allclose(found, 2.0)


def test_groups_are_kept_apart_and_in_order() -> None:
    rows = [{"k": k, "series": s, "repeat": r, "x": float(k + r)} for r in range(3) for k in (5, 2) for s in ("b", "a")]
    table = summarise(rows, ("k", "series"), {"mean": mean_of("x")}, np.random.default_rng(0))
    assert [(row["k"], row["series"], row["value"]) for row in table] == [
        (5, "b", 6.0), (5, "a", 6.0), (2, "b", 3.0), (2, "a", 3.0)
    ]  # fmt: skip
    assert all(row["repeats"] == 3 for row in table)
    found = where(table, series="a")
    assert column(found, "k").tolist() == [5, 2]
    assert np.all(band(found).low <= band(found).value)
    assert np.all(band(found).value <= band(found).high)
