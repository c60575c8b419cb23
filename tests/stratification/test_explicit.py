"""S, distances and moves from explicit features, of few points and of many, against kernel values point by point."""

from __future__ import annotations

import numpy as np
import pytest
import references.stratification as literal
import torch

from orda.approximations import Approximate, nystroem_map
from orda.kernels import Kernel, Linear, RBFMixture, SquaredInner
from orda.stratification import Stratification, explicit, kernel_kmeans, passes, stratify
from orda.stratification.explicit import ExplicitSums
from orda.stratification.kernel_kmeans import Centroids, stratum_sums
from orda.stratification.passes import move_in_pieces

GAMMAS = (0.02, 0.2, 2.0)
KERNELS = [RBFMixture(GAMMAS), SquaredInner()]


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some hundred points are many."""
    monkeypatch.setattr(kernel_kmeans, "COARSE", 150)
    monkeypatch.setattr(explicit, "PIECE", 64)
    monkeypatch.setattr(explicit, "SPAN", 2)


def clusters(n: int, d: int = 3, count: int = 6, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    centres = 2 * rng.standard_normal((count, d))
    return torch.from_numpy(centres[rng.integers(0, count, n)] + 0.5 * rng.standard_normal((n, d))).to(dtype)


def approximate(kernel: Kernel, x: torch.Tensor, rank: int = 12) -> Approximate:
    centre = x.mean(0)
    return Approximate(kernel, nystroem_map(kernel, x - centre, rank, np.random.default_rng(0)), centre)


def gram_of(kernel: Approximate, x: torch.Tensor) -> np.ndarray:
    """κ̃ of different points, κ of a point with itself."""
    gram: np.ndarray = kernel.gram(x, x).numpy()
    np.fill_diagonal(gram, kernel.diagonal(x).numpy())
    return gram


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("exact", KERNELS)
def test_everything_is_that_of_the_approximate_gram_with_the_exact_diagonal(exact: Kernel) -> None:
    x, k = clusters(200), 4
    kernel = approximate(exact, x)
    gram, labels = gram_of(kernel, x), np.random.default_rng(1).permutation(np.arange(200) % k)
    sums = stratum_sums(x, kernel, k, 0)
    assert isinstance(sums, ExplicitSums)
    centroids = Centroids.of(sums, labels)
    np.testing.assert_allclose(centroids.distances(), literal.distances(gram, labels, k), rtol=1e-8, atol=1e-8)
    assert centroids.objective == pytest.approx(literal.objective(gram, labels, k), rel=1e-9)
    assert sums.mean_kernel() == pytest.approx(gram.mean(), rel=1e-9)
    for i in (0, 63, 64, 199):  # inner products are about the mean; distances are those of the Gram matrix
        squared = sums.diagonal + sums.diagonal[i] - 2 * sums.column(i)
        expected = np.diag(gram) + gram[i, i] - 2 * gram[i]
        np.testing.assert_allclose(squared, expected, rtol=1e-8, atol=1e-8)
    some = np.array([3, 199, 77, 64])
    among, diagonal = sums.among(some), sums.diagonal[some]
    np.testing.assert_allclose(
        diagonal[:, None] + diagonal - 2 * among,
        np.diag(gram)[some, None] + np.diag(gram)[some] - 2 * gram[np.ix_(some, some)],
        rtol=1e-8,
        atol=1e-8,
    )


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("kernel", [Linear(), *KERNELS])
def test_some_points_and_their_centroids_are_those_of_the_gram(kernel: Kernel) -> None:
    x, k = clusters(200), 4
    given = kernel if isinstance(kernel, Linear) else approximate(kernel, x)
    gram = x.numpy() @ x.numpy().T if isinstance(given, Linear) else gram_of(given, x)
    chosen, sums = np.arange(0, 200, 2), stratum_sums(x, given, k, 0)
    assert isinstance(sums, ExplicitSums)
    some, labels = sums.some(chosen), np.arange(100) % k
    part = gram[np.ix_(chosen, chosen)]
    assert Centroids.of(some, labels).objective == pytest.approx(literal.objective(part, labels, k), rel=1e-9)
    found = sums.as_strata_of(some, labels, chosen)
    expected = np.empty((200, k))
    for h in range(k):
        members = chosen[labels == h]
        expected[:, h] = np.diag(gram) - 2 * gram[:, members].mean(1) + gram[np.ix_(members, members)].mean()
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def run(x: torch.Tensor, kernel: Kernel, k: int = 5, **settings: int) -> Stratification:
    return stratify(x, kernel, k, rng=np.random.default_rng(3), **settings)  # type: ignore[arg-type]


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("kernel", [Linear(), *KERNELS])
@pytest.mark.parametrize("min_size", [1, 90, 120])
def test_many_points_end_about_as_low_as_few(kernel: Kernel, min_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started from some of the points and moved in pieces; 120 leaves no stratum any room."""
    x = clusters(600)
    given = kernel if isinstance(kernel, Linear) else approximate(kernel, x)
    many = run(x, given, min_size=min_size)
    assert many.strata.sizes.min() >= min_size
    assert many.objectives[-1] <= min(many.objectives[:-1]) * (1 + 1e-12)
    monkeypatch.setattr(kernel_kmeans, "COARSE", 10**6)
    few = run(x, given, min_size=min_size)
    assert many.objective < 1.1 * few.objective
    np.testing.assert_allclose(many.objective, Centroids.of(stratum_sums(x, given, 5, 0), many.strata.labels).objective)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_labels_of_many_points_do_not_depend_on_the_threads(dtype: torch.dtype) -> None:
    x = clusters(700, dtype=dtype)
    kernel, found = approximate(RBFMixture(GAMMAS), x), []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(run(x, kernel))
    for other in found[1:]:
        assert np.array_equal(other.strata.labels, found[0].strata.labels)
        assert other.objectives == found[0].objectives


@pytest.mark.usefixtures("many")
def test_moves_in_pieces_end_where_no_single_move_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "SETTLED_PASS", 0.0)
    monkeypatch.setattr(passes, "PASSES", 100)
    x, k = clusters(150), 4
    kernel = approximate(RBFMixture(GAMMAS), x)
    gram, start = gram_of(kernel, x), np.random.default_rng(0).permutation(np.arange(150) % k)
    sums = stratum_sums(x, kernel, k, 0)
    assert isinstance(sums, ExplicitSums)
    labels, count = move_in_pieces(sums, start, 20)
    assert count > 50
    assert literal.objective(gram, labels, k) < literal.objective(gram, start, k)
    assert np.bincount(labels).min() >= 20
    assert literal.best_single_move(gram, labels.tolist(), k, 20) <= 1e-8
    np.testing.assert_array_equal(start, np.random.default_rng(0).permutation(np.arange(150) % k))  # not written to


def test_a_linear_kernels_points_are_not_written_to() -> None:
    x = clusters(300)
    before = x.clone()
    run(x, Linear())
    run(x, approximate(RBFMixture(GAMMAS), x))
    assert torch.equal(x, before)
