"""Which swaps are admissible, and what they lead to."""

from __future__ import annotations

import numpy as np
import pytest
from ordering.made import made

from orda.errors import SettingError
from orda.ordering import Exchange, Tabu
from orda.ordering.tabu import best_partner, move, search_row


def row(seed: int, horizon: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A table of costs, an order, and an empty memory."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(horizon, horizon)), rng.permutation(horizon), np.full(horizon, -1), np.zeros(horizon, int)


def total(costs: np.ndarray, chosen: np.ndarray) -> float:
    return float(costs[np.arange(len(chosen)), chosen].sum())


def every_swap(costs: np.ndarray, chosen: np.ndarray, m: int) -> dict[int, float]:
    """What swapping minibatch m's element adds, by partner."""
    found = {}
    for other in range(len(chosen)):
        swapped = chosen.copy()
        swapped[m], swapped[other] = chosen[other], chosen[m]
        if other != m:
            found[other] = total(costs, swapped) - total(costs, chosen)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_the_best_partner_is_that_of_all_swaps_that_do_not_go_back(seed: int) -> None:
    costs, chosen, left, until = row(seed)
    swaps = every_swap(costs, chosen, 2)
    first, second = sorted(swaps, key=swaps.__getitem__)[:2]
    assert best_partner(costs, chosen, 2, left, until, 0, -np.inf) == (first, pytest.approx(swaps[first]))
    left[chosen[2]], until[chosen[2]] = first, 3  # it was there, and may not return until pass 3
    assert best_partner(costs, chosen, 2, left, until, 2, -np.inf)[0] == second
    assert best_partner(costs, chosen, 2, left, until, 3, -np.inf)[0] == first
    assert best_partner(costs, chosen, 2, left, until, 2, np.inf)[0] == first  # aspiration: it would be a record
    left[chosen[2]] = -1
    left[chosen[first]], until[chosen[first]] = 2, 3  # the partner may not go back either
    assert best_partner(costs, chosen, 2, left, until, 2, -np.inf)[0] == second


def test_a_move_is_remembered() -> None:
    _, chosen, left, until = row(0)
    a, b = chosen[1], chosen[4]
    move(chosen, 1, 4, left, until, 7)
    assert (chosen[1], chosen[4]) == (b, a)
    assert (left[a], left[b], until[a], until[b]) == (1, 4, 7, 7)


@pytest.mark.parametrize("seed", range(5))
def test_a_row_descends_and_leaves_its_minimum_by_the_least_bad_swap(seed: int) -> None:
    costs, chosen, left, until = row(seed)
    start = total(costs, chosen)
    added = search_row(costs, chosen, False, left, until, 0, 0, -np.inf)
    assert total(costs, chosen) == pytest.approx(start + added)
    rises = [change for m in range(6) for change in every_swap(costs, chosen, m).values()]
    assert min(rises) > 0  # without tenure nothing is forbidden: a local minimum
    bottom = total(costs, chosen)
    assert search_row(costs, chosen, True, left, until, 5, 3, -np.inf) == pytest.approx(min(rises))
    assert total(costs, chosen) == pytest.approx(bottom + min(rises))
    climbed = chosen.copy()
    search_row(costs, chosen, False, left, until, 6, 3, -np.inf)  # back it may not go
    assert total(costs, chosen) <= total(costs, climbed)
    assert total(costs, chosen) != pytest.approx(bottom, rel=1e-12)


def test_escapes_lead_below_a_descent() -> None:
    reached = np.zeros(3)
    for seed in range(3):
        problem = made("rbf", "scalar", seed, k=3, horizon=20)
        ways = Tabu(), Tabu(escapes=0.0), Exchange()
        found = [way(problem.task.problem, problem.start, np.random.default_rng(0)) for way in ways]
        assert np.diff(found[0].objectives).max() > 0  # they climb
        reached += [min(ordering.objectives) / ordering.objectives[0] for ordering in found]
    assert reached[0] < min(reached[1:])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"escapes": 1.5}, "escapes must be a share of the rows from 0 to 1, got 1.5"),
        ({"escapes": float("nan")}, "escapes must be a share"),
        ({"tenure": -1}, "tenure must be a whole number of passes, 0 or more, got -1"),
        ({"tenure": 1.5}, "tenure must be a whole number"),
        ({"tenure": -1, "escapes": -1.0, "max_passes": 0}, "max_passes must be .*; escapes must be .*; tenure must"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Tabu(**settings)  # type: ignore[arg-type]
