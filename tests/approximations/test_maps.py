"""The feature maps against their definitions, and the rates of their errors."""

from __future__ import annotations

import numpy as np
import pytest
import references.approximations as literal
import references.discrepancies as kernels
import torch
from hypothesis import given
from hypothesis import strategies as st

from orda.approximations import Approximate, FeatureMap, fourier_map, nystroem_map, sketch_map
from orda.errors import SettingError, UnknownName
from orda.kernels import Kernel, Linear, RBFMixture, SquaredInner

GAMMAS = (0.02, 0.2, 2.0)
RBF = RBFMixture(GAMMAS)
seeds = st.integers(0, 10**6)


def normal(n: int, d: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, d)))


def products(found: FeatureMap, x: torch.Tensor) -> np.ndarray:
    psi = found(x)
    return (psi @ psi.mT).numpy()


def rbf(x: np.ndarray, y: np.ndarray) -> float:
    return kernels.rbf_mixture(x, y, GAMMAS)


@pytest.mark.parametrize(("kernel", "function"), [(RBF, rbf), (SquaredInner(), kernels.squared_inner)])
@pytest.mark.parametrize("landmarks", ["uniform", "kmeans++"])
@given(seed=seeds)
def test_nystroem_is_its_definition(kernel: Kernel, function, landmarks: str, seed: int) -> None:  # type: ignore[no-untyped-def]
    x = normal(12, 3, seed)
    found = nystroem_map(kernel, x, 5, np.random.default_rng(seed), landmarks)
    gram, points = products(found, x), x.numpy()
    for i, j in ((0, 1), (2, 2), (7, 11)):
        expected = literal.nystroem(function, found.landmarks.numpy(), points[i], points[j])
        assert gram[i, j] == pytest.approx(expected, rel=1e-6, abs=1e-7)
        assert gram[i, i] <= float(kernel.diagonal(x)[i]) * (1 + 1e-9)  # a projection is no longer


@pytest.mark.parametrize("kernel", [RBF, SquaredInner()])
def test_nystroem_by_all_points_is_exact(kernel: Kernel) -> None:
    x = normal(30, 4)
    found = nystroem_map(kernel, x, 50, np.random.default_rng(0))
    np.testing.assert_allclose(products(found, x), kernel.gram(x, x).numpy(), rtol=1e-8, atol=1e-8)


def test_nystroem_leaves_out_what_is_rounding_only() -> None:
    """Squared inner products in two dimensions span three: more landmarks bring nothing."""
    found = nystroem_map(SquaredInner(), normal(40, 2), 20, np.random.default_rng(0))
    assert found.rank == 3
    assert found.landmarks.shape == (20, 2)


def test_kmeanspp_landmarks_are_spread_out_and_never_copies() -> None:
    """Two far clusters, one of 2 points among 400; and copies."""
    x = torch.cat([normal(398, 2), normal(2, 2) + 30])
    found = [nystroem_map(Linear(), x, 2, np.random.default_rng(s), "kmeans++").landmarks for s in range(20)]
    assert sum(bool((landmarks > 20).any()) for landmarks in found) >= 15  # uniformly 1 in 100
    copies = torch.ones(50, 2, dtype=torch.float64)
    assert len(nystroem_map(RBF, copies, 10, np.random.default_rng(0), "kmeans++").landmarks) == 1


def test_fourier_features_are_their_definition_and_right_on_the_diagonal() -> None:
    x = normal(6, 3)
    found = fourier_map(RBF, x, 42, np.random.default_rng(0))
    gram, points = products(found, x), x.numpy()
    shares = found.amplitude.square().numpy()
    assert found.rank == 42
    np.testing.assert_allclose(shares, np.repeat(1 / 7, 21))  # each γ its share
    for i, j in ((0, 1), (2, 5)):
        expected = literal.fourier(found.frequencies.mT.numpy(), shares, points[i], points[j])
        assert gram[i, j] == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(np.diag(gram), 3.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "kernel"), [(fourier_map, RBF), (sketch_map, SquaredInner())], ids=["fourier", "sketch"]
)
def test_random_maps_are_unbiased_and_their_error_falls_with_the_root_of_the_rank(make, kernel: Kernel) -> None:  # type: ignore[no-untyped-def]
    x = normal(8, 3)
    exact, spread = kernel.gram(x, x).numpy(), {}
    for rank in (30, 480):
        rng = np.random.default_rng(rank)
        errors = np.stack([products(make(kernel, x, rank, rng), x) - exact for _ in range(400)])
        deviation = errors.std(0, ddof=1)
        scores = errors.mean(0) / np.maximum(deviation, 1e-12) * 400**0.5
        assert np.abs(scores[deviation > 1e-9]).max() < 4.5  # 36 different entries: 1 in 4,000 by chance
        spread[rank] = float(np.sqrt((deviation**2).mean()))
    assert spread[30] / spread[480] == pytest.approx(4.0, rel=0.15)


@given(seed=seeds)
def test_the_sketch_is_its_definition(seed: int) -> None:
    x = normal(4, 3, seed)
    found = sketch_map(SquaredInner(), x, 6, np.random.default_rng(seed))
    expected = literal.sketch(found.left.mT.numpy(), found.right.mT.numpy(), x[0].numpy(), x[3].numpy())
    assert products(found, x)[0, 3] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_an_approximate_kernel_takes_the_centre_off_and_has_the_exact_diagonal() -> None:
    x, centre = normal(20, 3) + 5, torch.full((3,), 5.0, dtype=torch.float64)
    found = nystroem_map(RBF, x - centre, 8, np.random.default_rng(0))
    kernel = Approximate(RBF, found, centre)
    np.testing.assert_allclose(kernel.gram(x, x).numpy(), products(found, x - centre), rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(x).numpy(), 3.0)
    assert not torch.allclose(kernel.explicit(x).square().sum(1), kernel.diagonal(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_maps_keep_the_dtype(dtype: torch.dtype) -> None:
    x = normal(10, 3).to(dtype)
    for found in (
        nystroem_map(RBF, x, 4, np.random.default_rng(0)),
        fourier_map(RBF, x, 12, np.random.default_rng(0)),
        sketch_map(SquaredInner(), x, 4, np.random.default_rng(0)),
    ):
        assert found(x).dtype == dtype
        assert found(x).shape == (10, found.rank)


def test_what_a_map_cannot_serve_is_refused() -> None:
    x, rng = normal(10, 3), np.random.default_rng(0)
    with pytest.raises(SettingError, match="RBF mixture"):
        fourier_map(SquaredInner(), x, 64, rng)
    with pytest.raises(SettingError, match="gammas fixed"):
        fourier_map(RBFMixture("median"), x, 64, rng)
    with pytest.raises(SettingError, match="rank of 6 or more; got 5"):
        fourier_map(RBF, x, 5, rng)
    with pytest.raises(SettingError, match="squared inner product"):
        sketch_map(RBF, x, 64, rng)
    with pytest.raises(UnknownName, match="landmarks"):
        nystroem_map(RBF, x, 4, rng, "farthest")
    with pytest.raises(SettingError, match="at least 1"):
        nystroem_map(RBF, x, 0, rng)
