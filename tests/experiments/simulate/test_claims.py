"""What the studies claim, with fixed seeds and bootstrap intervals over the repeats: an interval's end must hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from orda.experiments.simulate.statistics import bootstrap
from orda.experiments.simulate.study import Row, Study
from orda.experiments.simulate.variance_vs_k import VarianceVsK
from orda.experiments.simulate.variance_vs_m import VarianceVsM
from orda.records import FloatArray

pytestmark = pytest.mark.slow
Means = Mapping[str, FloatArray]


def computed(study: Study) -> list[Row]:
    return [row for cell in study.cells() for row in study.compute(cell.config, study.seed_of(cell, 0))]


def interval(rows: list[Row], at: str, of: Callable[[Means], FloatArray]) -> tuple[float, float, float]:
    """Value, low and high of a statistic of the columns "<at>/<series>/<column>"; repeats are resampled whole."""
    columns: dict[str, list[float]] = {}
    for row in sorted(rows, key=lambda row: int(row["repeat"])):
        for name in ("error", "squared_error", "bound", "first_tenth"):
            if name in row:
                columns.setdefault(f"{row[at]}/{row['series']}/{name}", []).append(float(row[name]))
    return bootstrap({key: np.array(values) for key, values in columns.items()}, of, np.random.default_rng(0))


def variance(mean: Means, series: str) -> FloatArray:
    found: FloatArray = mean[f"{series}/squared_error"] - mean[f"{series}/error"] ** 2
    return found


def share(mean: Means, series: str, part: str) -> FloatArray:
    """Of the mean squared error: the pool's bound, or what comes from all but the first tenth of the minibatches."""
    whole = mean[f"{series}/squared_error"]
    found: FloatArray = (mean[f"{series}/bound"] if part == "bound" else whole - mean[f"{series}/first_tenth"]) / whole
    return found


@pytest.fixture(scope="module")
def k20() -> list[Row]:
    return computed(VarianceVsK(batch_sizes=(20,), horizon=100, n=4000, d=2, repeats=30))


@pytest.mark.parametrize(("series", "least"), [("stratified", 50), ("uniform", 5000)])
def test_greedy_has_the_variance_that_the_paper_says(k20: list[Row], series: str, least: float) -> None:
    """The paper: up to two orders of magnitude below stratified, four below uniform."""
    _, low, _ = interval(k20, "batch_size", lambda mean: variance(mean, f"20/{series}") / variance(mean, "20/greedy"))
    assert low >= least


def test_assignment_has_at_most_a_tenth_of_greedys_error(k20: list[Row]) -> None:
    _, low, _ = interval(
        k20, "batch_size", lambda mean: mean["20/greedy/squared_error"] / mean["20/assignment/squared_error"]
    )
    assert low >= 10


def test_assignment_reaches_the_bound_and_nothing_crosses_it(k20: list[Row]) -> None:
    ordered = [row for row in k20 if row["series"] in ("greedy", "assignment")]
    assert len(ordered) == 60
    for row in ordered:
        assert float(row["squared_error"]) >= float(row["bound"]) * (1 - 1e-9)
    _, _, high = interval(
        k20, "batch_size", lambda mean: mean["20/assignment/squared_error"] / mean["20/assignment/bound"]
    )
    assert high <= 1.1


@pytest.fixture(scope="module")
def horizons() -> list[Row]:
    return computed(VarianceVsM(horizons=(10, 50, 100, 200), optimisers=("greedy", "assignment"), repeats=15))


def test_greedys_error_rises_again_with_the_horizon(horizons: list[Row]) -> None:
    """The right arm of the paper's V."""
    ratio = interval(horizons, "horizon", lambda mean: variance(mean, "200/greedy") / variance(mean, "50/greedy"))
    assert ratio[1] > 1.2


def test_the_rise_is_the_single_passs_and_sits_in_its_first_minibatches(horizons: list[Row]) -> None:
    for horizon in (100, 200):
        error = f"{horizon}/greedy/squared_error"
        above = interval(horizons, "horizon", lambda mean, m=horizon, e=error: 1 - mean[f"{m}/greedy/bound"] / mean[e])
        early = interval(
            horizons, "horizon", lambda mean, m=horizon, e=error: mean[f"{m}/greedy/first_tenth"] / mean[e]
        )
        assert above[1] > 0.8
        assert early[1] > 0.8


def test_the_fall_is_the_pools(horizons: list[Row]) -> None:
    """The left arm: most of the error at M = 10 no order could repair, and the bound falls from there."""
    share = interval(horizons, "horizon", lambda mean: mean["10/greedy/bound"] / mean["10/greedy/squared_error"])
    assert share[1] > 0.5
    fall = interval(horizons, "horizon", lambda mean: mean["10/greedy/bound"] / mean["100/greedy/bound"])
    assert fall[1] > 5


def test_assignment_follows_the_pool_and_does_not_rise(horizons: list[Row]) -> None:
    for horizon in (10, 50, 100):
        error, bound = f"{horizon}/assignment/squared_error", f"{horizon}/assignment/bound"
        _, low, high = interval(horizons, "horizon", lambda mean, e=error, b=bound: mean[e] / mean[b])
        assert 1 - 1e-9 <= low <= high <= 1.2
    last = interval(
        horizons, "horizon", lambda mean: mean["200/greedy/squared_error"] / mean["200/assignment/squared_error"]
    )
    assert last[1] > 1e3
    assert all(float(row["bound"]) < 1e-20 for row in horizons if row["horizon"] == 200)
