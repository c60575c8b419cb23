"""The assignment problem of Figure 2 against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import simulate as twins
from scipy.optimize import check_grad

from orda.experiments.simulate.min_size import (
    MinSize,
    best_known,
    interior_point,
    nearest_assignment,
    objective,
    one_hot,
    start,
    transport,
)

seeds = st.integers(0, 10**9)


def problem(seed: int, n: int, k: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.linalg.norm(rng.normal(size=(n, 1, 2)) - rng.normal(size=(k, 2)), axis=2)


@given(seeds, st.integers(1, 9), st.integers(1, 4))
def test_the_objective_is_the_literal_one(seed: int, n: int, k: int) -> None:
    distances, labels = problem(seed, n, k), np.random.default_rng(seed).integers(k, size=n)
    wanted = twins.assignment_objective(distances, labels.tolist(), k)
    assert objective(distances, one_hot(labels, k)) == pytest.approx(wanted)


@settings(max_examples=10)
@given(seeds, st.integers(0, 2))
def test_the_linear_program_is_solved_exactly_and_in_whole_numbers(seed: int, min_size: int) -> None:
    distances = problem(seed, 7, 3)
    u = transport(distances, min_size)
    assert set(np.unique(u)) <= {0.0, 1.0}
    assert np.all(u.sum(1) == 1)
    assert u.sum(0).min() >= min_size
    best = min(distances[np.arange(7), labels].sum() for labels in map(list, twins.assignments(7, 3, min_size)))
    assert (u * distances).sum() == pytest.approx(best)


def test_the_interior_point_is_a_feasible_local_minimum() -> None:
    distances, rng = problem(0, 8, 2), np.random.default_rng(1)
    found = [interior_point(distances, 3, start(rng, 8, 2)) for _ in range(3)]
    whole = min(twins.assignment_objective(distances, labels, 2) for labels in twins.assignments(8, 2, 3))
    for u in found:
        assert u.min() > -1e-6
        assert np.allclose(u.sum(1), 1, atol=1e-6)
        assert u.sum(0).min() > 3 - 1e-4
        rounded = nearest_assignment(u, 3)
        assert rounded.sum(0).min() >= 3
        assert objective(distances, rounded) >= whole - 1e-9
    assert min(objective(distances, u) for u in found) <= whole * (1 + 1e-4)  # the relaxed problem is the easier one
    value = lambda x: objective(distances, x.reshape(8, 2))  # noqa: E731
    slope = lambda x: (  # noqa: E731
        distances * x.reshape(8, 2).sum(0) + (x.reshape(8, 2) * distances).sum(0)
    ).ravel()
    assert check_grad(value, slope, found[0].ravel()) < 1e-4


def test_rows_never_lie_below_the_best_known_and_larger_minima_cost_no_less() -> None:
    study = MinSize(n=30, k=3, min_sizes=(1, 6, 10), orders=5, starts=1, repeats=1)
    rows = [row for cell in study.cells() for row in study.compute(cell.config, study.seed_of(cell, 0))]
    best = best_known(rows)
    for row in rows:
        if row["series"] != "interior point":  # which may cut points into parts
            assert float(row["objective"]) >= float(row["best"]) >= best[row["repeat"], row["min_size"]] - 1e-9
    assert best[0, 1] <= best[0, 6] <= best[0, 10]
