"""Exact moves: their cost, that they never go up, and where they end."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import references.stratification as literal
import torch
from hypothesis import given
from hypothesis import strategies as st

from orda.kernels import Kernel, Linear, RBFMixture
from orda.stratification import moves, stratify
from orda.stratification.kernel_kmeans import Centroids, stratum_sums
from orda.stratification.moves import move_points, sizes_and_traces, stratum_costs

GAMMAS = (0.02, 0.2, 2.0)


def clusters(n: int, d: int, count: int, seed: int = 0, spread: float = 0.5) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((count, d))
    return torch.from_numpy(centres[rng.integers(0, count, n)] + spread * rng.standard_normal((n, d)))


@pytest.fixture
def thorough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds until nothing moves."""
    monkeypatch.setattr(moves, "SETTLED", 0.0)
    monkeypatch.setattr(moves, "ROUNDS", 1000)


@pytest.mark.parametrize("kernel", [Linear(), RBFMixture(GAMMAS)])
def test_the_cost_of_a_move_is_what_it_does_to_the_objective(kernel: Kernel) -> None:
    points, k = clusters(20, 2, 3), 3
    labels = np.arange(20) % k
    gram = kernel.gram(points, points).numpy()
    sums = stratum_sums(points, kernel, k, 2**30)
    costs = stratum_costs(sums.at(labels), sums.diagonal, *sizes_and_traces(sums, labels))
    now = literal.objective(gram, labels, k)
    for i, b in itertools.product(range(20), range(k)):
        if b != labels[i]:
            moved = labels.copy()
            moved[i] = b
            change = literal.objective(gram, moved, k) - now
            assert costs[b, i] - costs[labels[i], i] == pytest.approx(change, abs=1e-9)


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(12, 40), st.booleans())
def test_moves_never_raise_the_objective_nor_take_from_a_stratum_at_its_minimum(
    seed: int, k: int, n: int, linear: bool
) -> None:
    kernel: Kernel = Linear() if linear else RBFMixture(GAMMAS)
    rng = np.random.default_rng(seed)
    points = clusters(n, 2, 4, seed)
    labels = rng.permutation(np.arange(n) % k)
    least = int(rng.integers(1, n // k + 1))
    gram = kernel.gram(points, points).numpy()
    moved, count = move_points(stratum_sums(points, kernel, k, 2**30), labels, least)
    assert literal.objective(gram, moved, k) <= literal.objective(gram, labels, k) * (1 + 1e-12)
    assert np.bincount(moved, minlength=k).min() >= least
    assert (count == 0) == np.array_equal(moved, labels)


@pytest.mark.usefixtures("thorough")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("least", [1, 6, 8])
def test_at_the_end_no_move_helps_and_no_swap_of_a_point_held_back(seed: int, least: int) -> None:
    points, k = clusters(32, 2, 4, seed), 4
    gram = RBFMixture(GAMMAS).gram(points, points).numpy()
    start = np.random.default_rng(seed).permutation(np.arange(32) % k)
    helps = literal.best_swap if least == 8 else literal.best_single_move  # eights of 32: nothing but swaps is open
    assert helps(gram, start.tolist(), k, least) > 0.1
    labels, _ = move_points(stratum_sums(points, RBFMixture(GAMMAS), k, 2**30), start, least)
    assert literal.best_single_move(gram, labels.tolist(), k, least) <= 1e-9
    if least == 8:
        wants = literal.best_single_move(gram, labels.tolist(), k, 0) > 0
        assert not wants or literal.best_swap(gram, labels.tolist(), k, least) <= 1e-9


def test_swaps_make_up_for_sizes_that_are_all_fixed() -> None:
    """Labels of far clusters of equal size, a tenth of them exchanged at random: only swaps can put them right."""
    truth = np.arange(200) % 4
    points = torch.from_numpy(30 * np.eye(4)[truth] + np.random.default_rng(0).standard_normal((200, 4)))
    some = np.random.default_rng(1).permutation(200)[:20]
    wrong = truth.copy()
    wrong[some] = truth[np.random.default_rng(2).permutation(some)]
    assert (wrong != truth).sum() > 10
    labels, count = move_points(stratum_sums(points, Linear(), 4, 0), wrong, 50)
    np.testing.assert_array_equal(labels, truth)
    assert count >= (wrong != truth).sum()


@pytest.mark.usefixtures("thorough")
@pytest.mark.parametrize("budget", [2**30, 0])
@pytest.mark.parametrize("candidates", [1, 7, 50])
def test_few_candidates_at_a_time_end_as_low(candidates: int, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many points a round looks at: single moves help no more, and S is that of the labels."""
    monkeypatch.setattr(moves, "CANDIDATES", candidates)
    points, k = clusters(120, 3, 5), 5
    sums = stratum_sums(points, RBFMixture(GAMMAS), k, budget)
    start = np.random.default_rng(0).permutation(np.arange(120) % k)
    labels, count = move_points(sums, start, 4)
    costs = stratum_costs(sums.at(labels), sums.diagonal, *sizes_and_traces(sums, labels))
    own = costs[labels, np.arange(120)]
    free = np.bincount(labels)[labels] > 4
    assert count > 20
    assert (own - costs.min(0))[free].max() <= 1e-9
    fresh = stratum_sums(points, RBFMixture(GAMMAS), k, 2**30).at(labels)
    np.testing.assert_allclose(sums.at(labels), fresh, rtol=1e-10)


def test_the_labels_given_are_not_written_to() -> None:
    start = np.arange(40) % 4
    move_points(stratum_sums(clusters(40, 2, 4), Linear(), 4, 0), start, 1)
    np.testing.assert_array_equal(start, np.arange(40) % 4)


def test_rounding_feigns_no_gains() -> None:
    """All points identical up to float32 rounding: whatever the labels, nothing is worth a move."""
    points = torch.full((200, 8), 0.1, dtype=torch.float32)
    for kernel in (RBFMixture(GAMMAS), Linear()):
        sums = stratum_sums(points, kernel, 4, 2**30)
        assert move_points(sums, np.arange(200) % 4, 1)[1] == 0


@pytest.mark.parametrize("kernel", [Linear(), RBFMixture("median")])
def test_few_sweeps_and_moves_end_lower_than_thirty_sweeps(kernel: Kernel) -> None:
    """On average over ten data sets, by half a percent at least."""
    ratios = []
    for seed in range(10):
        points = clusters(500, 4, 12, seed)
        sweeps, both = (
            stratify(points, kernel, 12, min_size=20, rng=np.random.default_rng(0), **settings)
            for settings in ({"patience": 31, "moves": False}, {})
        )
        ratios.append(both.objective / sweeps.objective)
        assert both.objectives[-1] <= min(both.objectives[:-1])
    assert np.mean(ratios) < 0.995


def test_the_gain_that_is_counted_is_the_objectives_fall() -> None:
    points, k = clusters(60, 2, 4), 4
    sums = stratum_sums(points, RBFMixture(GAMMAS), k, 2**30)
    labels = np.arange(60) % k
    before = Centroids.of(sums, labels).objective
    sizes, traces = sizes_and_traces(sums, labels)
    everyone = np.arange(60)
    new, count, gained = moves.move_chosen(
        sums.among(everyone), np.ascontiguousarray(sums.at(labels).T), sums.diagonal, labels, sizes, traces, 3, 0.0, 20
    )
    after = Centroids.of(sums, new).objective
    assert count > 10
    assert before - after == pytest.approx(gained, rel=1e-9)
    np.testing.assert_array_equal(sizes, np.bincount(new))
