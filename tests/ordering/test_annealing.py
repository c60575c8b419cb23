"""Temperatures from shares of swaps, and a course that cools to a descent."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ordering.made import made
from references import ordering as twins

from orda.errors import SettingError
from orda.ordering import Annealing, Exchange, Greedy
from orda.ordering.annealing import swap_changes, temperature_for
from orda.ordering.base import Clock
from orda.ordering.objective import prepared


@given(st.integers(0, 10**9), st.floats(1e-5, 0.4), st.floats(-12, 12))
def test_at_its_temperature_the_share_of_swaps_is_made(seed: int, share: float, magnitude: float) -> None:
    """Whatever the scale of the costs."""
    changes = 10**magnitude * np.abs(np.random.default_rng(seed).normal(size=500))
    temperature = temperature_for(changes, share)
    assert np.exp(-changes / temperature).mean() == pytest.approx(share, rel=1e-6)


def test_where_more_swaps_lower_the_objective_the_temperature_is_zero() -> None:
    assert temperature_for(np.array([-1.0, 2.0, 3.0, 4.0]), 0.2) == 0.0
    assert temperature_for(np.array([-1.0, 2.0, 3.0, 4.0]), 0.3) > 0.0
    assert temperature_for(np.zeros(4), 0.3) == 0.0


@pytest.mark.parametrize("name", ["rbf", "coral", "coral, moments"])
def test_changes_are_those_of_the_objective(name: str) -> None:
    problem, rng = made(name, "scalar", 2), np.random.default_rng(0)
    r, m = rng.integers(6, size=20), rng.integers(5, size=20)
    other = (m + rng.integers(1, 5, size=20)) % 5
    changes = np.empty(20)
    swap_changes(
        problem.task.problem, prepared(problem.task.problem, problem.start), problem.start, r, m, other, changes
    )
    for i, change in enumerate(changes):
        swapped = problem.start
        twins.swap(swapped[r[i]], m[i], other[i])
        expected = 5 * (problem.mean_cost(swapped) - problem.mean_cost(problem.start))
        assert problem.task.scale**2 * change == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_it_goes_up_and_comes_down_below_a_descent() -> None:
    reached = {"annealing": 0.0, "greedy": 0.0, "exchange": 0.0}
    for seed in range(3):
        problem, rng = made("rbf", "scalar", seed, k=3, horizon=20), np.random.default_rng(0)
        for optimiser in (Annealing(warmest=0.2), Greedy(), Exchange()):
            found = optimiser(problem.task.problem, problem.start, rng)
            assert min(found.objectives) == pytest.approx(problem.mean_cost(found.arranged), rel=1e-6)
            reached[optimiser.name] += min(found.objectives) / found.objectives[0]
            if optimiser.name == "annealing":
                assert found.passes == 30
                assert np.diff(found.objectives).max() > 0
    assert reached["annealing"] < reached["exchange"] < reached["greedy"]


def test_the_last_pass_descends() -> None:
    """With one pass it is all there is: a pass of exchange."""
    problem = made("rbf", "scalar", 1).task.problem
    start, rng = made("rbf", "scalar", 1).start, np.random.default_rng(0)
    one = Annealing(max_passes=1)(problem, start, rng)
    assert np.array_equal(one.arranged, Exchange(max_passes=1)(problem, start, rng).arranged)


def test_it_cools_by_passes_or_by_the_clock_whichever_is_faster() -> None:
    began = time.perf_counter()
    slow = Annealing(max_passes=11)
    assert [slow.progress(done, Clock(None)) for done in (0, 5, 10)] == [0.0, 0.5, 1.0]
    late = Clock(100.0, began - 30.0)  # 30 of 100 seconds used by 2 passes: 45 at the end of the next
    assert slow.progress(2, late) == pytest.approx(0.45, abs=0.05)
    assert slow.progress(2, Clock(1000.0, began - 30.0)) == pytest.approx(0.2, abs=1e-3)


@pytest.mark.parametrize(
    "settings", [{"warmest": 1.0}, {"warmest": 0.1, "coldest": 0.2}, {"coldest": 0.0}, {"coldest": float("nan")}]
)
def test_shares_that_are_none_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(SettingError, match="0 < coldest ≤ warmest < 1"):
        Annealing(**settings)
