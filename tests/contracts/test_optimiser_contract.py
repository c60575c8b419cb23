"""What every ordering optimiser promises: one battery over optimisers, problems and objectives.

A new optimiser joins by its entry in ``OPTIMISERS``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache

import numpy as np
import pytest
import torch

import orda
from orda.errors import SettingError
from orda.ordering import OPTIMISERS, Optimiser, Ordering, OrderingTask, initial_arrangement, ordering_task
from orda.ordering.objective import measured, objective
from orda.ordering.problem import CovarianceProblem, MomentProblem
from orda.records import Features, IntArray, Strata
from orda.stratification import draw

PROBLEMS: dict[str, tuple[orda.Discrepancy, str, int]] = {  # discrepancy, objective, draws from a stratum
    "linear mmd": (orda.MMD("linear"), "scalar", 1),
    "rbf mmd": (orda.MMD(gammas="median"), "scalar", 1),
    "coral": (orda.CORAL(), "scalar", 1),
    "coral, moments": (orda.CORAL(), "scalar", 1),
    "linear mmd, unbiased": (orda.MMD("linear", estimator="unbiased"), "scalar", 2),
    "rbf mmd, unbiased": (orda.MMD(gammas="median", estimator="unbiased"), "scalar", 2),
    "coral, unbiased": (orda.CORAL("mean", estimator="unbiased"), "scalar", 2),
    "rbf mmd, embedding": (orda.MMD(gammas="median"), "embedding", 1),
    "coral, embedding": (orda.CORAL("deep"), "embedding", 1),
    "rbf mmd, unbiased, embedding": (orda.MMD(gammas="median", estimator="unbiased"), "embedding", 2),
}

every_optimiser = pytest.mark.parametrize("name", OPTIMISERS)
every_problem = pytest.mark.parametrize("problem", PROBLEMS)


def points(n: int, d: int, seed: int, dtype: type = np.float64) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) * rng.uniform(0.5, 2, size=d) + rng.normal(size=d)).astype(dtype)


def make(problem: str, zs: np.ndarray, zt: np.ndarray, k: int, horizon: int, seed: int = 0) -> OrderingTask:
    discrepancy, goal, draws = PROBLEMS[problem]
    rng, pools = np.random.default_rng(seed), []
    for n in (len(zs), len(zt)):
        labels = rng.permutation(np.concatenate([np.arange(k), rng.integers(k, size=n - k)]))
        pools.append(draw(Strata(labels, np.bincount(labels, minlength=k)), horizon, rng, draws))
    features = Features(torch.from_numpy(zs), torch.from_numpy(zt))
    budget = 0 if problem == "coral, moments" else None
    return ordering_task(discrepancy.resolved(features), features, *pools, objective=goal, memory_budget=budget)


@cache
def usual(problem: str, dtype: type = np.float64) -> OrderingTask:
    return make(problem, points(80, 3, 0, dtype), points(70, 3, 1, dtype), 4, 12)


def start_of(task: OrderingTask, horizon: int) -> IntArray:
    return initial_arrangement(task.problem.signed.size, horizon)


def run(name: str, task: OrderingTask, horizon: int, seed: int = 0, **settings: object) -> Ordering:
    optimiser = replace(OPTIMISERS[name](), **settings)  # type: ignore[arg-type]
    return optimiser(task.problem, start_of(task, horizon), np.random.default_rng(seed))


def rounding(task: OrderingTask) -> float:
    """What may be left of D̂ where its terms cancel."""
    if isinstance(task.problem, MomentProblem):
        return 1e-14 * float(np.square(task.problem.points, dtype=np.float64).sum(1).max()) ** 2
    largest = float(np.abs(task.problem.gram).max())
    return 1e-14 * (largest**2 if isinstance(task.problem, CovarianceProblem) else largest)


def check(found: Ordering, task: OrderingTask, horizon: int, most: int) -> None:
    """All that holds whatever the problem."""
    start = start_of(task, horizon)
    assert np.array_equal(np.sort(found.arranged, axis=1), start)  # a permutation within every row
    assert found.arranged.dtype == np.int64
    np.testing.assert_allclose(found.values, measured(task.problem, found.arranged), rtol=1e-12, atol=rounding(task))
    at_start = measured(task.problem, start)
    tiny = rounding(task) ** 2 if task.problem.scalar else rounding(task)
    assert found.objectives[0] == pytest.approx(objective(task.problem, at_start), rel=1e-9, abs=tiny)
    assert objective(task.problem, found.values) == min(found.objectives)  # the best one seen, never above the start
    assert found.passes == len(found.objectives) - 1 <= most
    assert found.seconds > 0
    if task.lower_bound is not None:
        assert min(found.objectives) >= task.lower_bound - 1e-9 * abs(found.objectives[0]) - tiny


@every_problem
@every_optimiser
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_permutation_within_rows_that_is_better_and_told_truly(name: str, problem: str, dtype: type) -> None:
    task = usual(problem, dtype)
    found = run(name, task, 12)
    check(found, task, 12, OPTIMISERS[name]().max_passes)
    assert min(found.objectives) < 0.95 * found.objectives[0]


@every_problem
@every_optimiser
def test_what_is_given_is_left_alone(name: str, problem: str) -> None:
    task = usual(problem)
    kept = [np.array(part, copy=True) for part in task.problem]
    start = start_of(task, 12)
    OPTIMISERS[name]()(task.problem, start, np.random.default_rng(0))
    assert np.array_equal(start, start_of(task, 12))
    for part, before in zip(task.problem, kept, strict=True):
        assert np.array_equal(part, before)


@every_problem
@every_optimiser
def test_the_generator_decides_and_nothing_else(name: str, problem: str) -> None:
    task = usual(problem)
    first = run(name, task, 12, seed=3)
    np.random.seed(1)  # noqa: NPY002
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    again = run(name, task, 12, seed=3)
    assert np.array_equal(first.arranged, again.arranged)
    assert first.objectives == again.objectives
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


@every_optimiser
def test_any_start_will_do_and_a_good_one_is_not_lost(name: str) -> None:
    task = usual("rbf mmd")
    good = run("assignment", task, 12, max_passes=20).arranged
    found = OPTIMISERS[name]()(task.problem, good, np.random.default_rng(0))
    assert found.objectives[0] == pytest.approx(objective(task.problem, measured(task.problem, good)), rel=1e-12)
    assert objective(task.problem, measured(task.problem, found.arranged)) <= found.objectives[0] * (1 + 1e-12)


@every_optimiser
@pytest.mark.parametrize("most", [1, 2, 5])
def test_passes_are_bounded(name: str, most: int) -> None:
    for problem in ("rbf mmd", "coral"):
        found = run(name, usual(problem), 12, max_passes=most)
        check(found, usual(problem), 12, most)
        assert found.passes >= 1


@every_optimiser
def test_time_is_bounded_between_passes(name: str) -> None:
    """A budget that is over at once leaves one pass; one that is never over changes nothing."""
    task = usual("rbf mmd")
    assert run(name, task, 12, time_budget=1e-9, max_passes=50).passes == 1
    plain = run(name, task, 12)
    assert run(name, task, 12, time_budget=1e9).objectives == plain.objectives
    assert plain.passes == OPTIMISERS[name]().max_passes or name in ("assignment", "exchange")


def awkward() -> dict[str, tuple[np.ndarray, np.ndarray, int, int]]:
    """Source, target, k, M of pools that must simply work."""
    same, two = np.full((20, 2), 0.3), points(2, 2, 0)
    return {
        "M = 1": (points(20, 2, 0), points(15, 2, 1), 3, 1),
        "M = 2": (points(20, 2, 0), points(15, 2, 1), 3, 2),
        "k = 1": (points(20, 2, 0), points(15, 2, 1), 1, 5),
        "k = 1, M = 1": (points(20, 2, 0), points(15, 2, 1), 1, 1),
        "all points identical": (same, same[:15] + 1, 3, 6),
        "all points zero": (np.zeros((20, 2)), np.zeros((15, 2)), 3, 6),
        "many duplicates": (two[np.arange(20) % 2], two[np.arange(15) % 2] + 1, 3, 6),
        "strata smaller than M": (points(8, 2, 0), points(7, 2, 1), 3, 9),
        "d = 1": (points(20, 1, 0), points(15, 1, 1), 3, 6),
        "d > n": (points(10, 30, 0), points(9, 30, 1), 3, 4),
        "large": (1e6 * points(20, 2, 0), 1e6 * points(15, 2, 1), 3, 6),
        "tiny": (1e-9 * points(20, 2, 0), 1e-9 * points(15, 2, 1), 3, 6),
    }


@every_optimiser
@pytest.mark.parametrize("case", awkward())
def test_awkward_pools_simply_work(name: str, case: str) -> None:
    zs, zt, k, horizon = awkward()[case]
    for problem in PROBLEMS:
        task = make(problem, zs, zt, k, horizon)
        check(run(name, task, horizon), task, horizon, OPTIMISERS[name]().max_passes)


@every_optimiser
def test_settings_are_plain_and_frozen(name: str) -> None:
    optimiser = OPTIMISERS[name]()
    settings = optimiser.settings()
    json.dumps(settings, allow_nan=False)
    assert settings == {"name": name, **asdict(optimiser)}
    assert type(optimiser)(**asdict(optimiser)) == optimiser
    with pytest.raises(AttributeError):
        optimiser.max_passes = 3  # type: ignore[misc]
    with pytest.raises(TypeError, match="positional"):
        type(optimiser)(3)  # type: ignore[misc]


FAULTS: list[tuple[dict[str, object], str]] = [
    ({"max_passes": 0}, "max_passes must be a whole number of at least 1, got 0"),
    ({"max_passes": 2.0}, "max_passes must be a whole number of at least 1, got 2.0"),
    ({"max_passes": True}, "max_passes must be a whole number of at least 1, got True"),
    ({"time_budget": 0}, "time_budget must be a positive number of seconds, or None for no limit, got 0"),
    ({"time_budget": float("nan")}, "time_budget must be .*, got nan"),
    ({"time_budget": "1 s"}, "time_budget must be .*, got '1 s'"),
    ({"max_passes": -1, "time_budget": -1.0}, "max_passes must be .*, got -1; time_budget must be .*, got -1.0"),
]


@every_optimiser
@pytest.mark.parametrize(("settings", "message"), FAULTS)
def test_settings_out_of_range_are_all_named(name: str, settings: dict[str, object], message: str) -> None:
    kind: Callable[..., Optimiser] = OPTIMISERS[name]
    with pytest.raises(SettingError, match=f"settings of {kind.__name__}: {message}"):  # type: ignore[attr-defined]
        kind(**settings)
