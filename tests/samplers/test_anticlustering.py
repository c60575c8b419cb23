"""Assignment-based anticlustering against its literal twin, and the laws of its plans."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from references import samplers as literal
from scipy import stats

from orda.discrepancies import CORAL, MMD
from orda.errors import SettingError, UnknownName
from orda.kernels import Kernel, Linear, RBFMixture, SquaredInner
from orda.records import Features
from orda.samplers import anticlustering
from orda.samplers.anticlustering import Anticlustering, KernelSums, PointSums, anticlusters
from orda.samplers.uniform import Uniform

ALARM = 1e-5


@given(groups=st.integers(1, 5), size=st.integers(1, 6), d=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_same_groups_as_the_literal_steps(groups: int, size: int, d: int, seed: int) -> None:
    z = np.random.default_rng(seed).normal(size=(groups * size, d))
    fast = anticlusters(PointSums(torch.from_numpy(z)), groups)
    assert sorted(map(sorted, fast.tolist())) == literal.anticlusters(z, groups)


@given(groups=st.integers(1, 4), size=st.integers(1, 6), d=st.integers(1, 4), seed=st.integers(0, 2**32))
def test_same_groups_through_a_kernel(groups: int, size: int, d: int, seed: int) -> None:
    """⟨z, z'⟩² has the explicit map zzᵀ: the literal steps on it give the groups of the kernel trick."""
    z = np.random.default_rng(seed).normal(size=(groups * size, d))
    outer = (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anticlustering, "tile_size", lambda points: 3)  # several tiles, uneven
        fast = anticlusters(KernelSums(SquaredInner(), torch.from_numpy(z)), groups)
    assert sorted(map(sorted, fast.tolist())) == literal.anticlusters(outer, groups)
    whole = anticlusters(KernelSums(SquaredInner(), torch.from_numpy(z)), groups)
    assert sorted(map(sorted, whole.tolist())) == literal.anticlusters(outer, groups)


@pytest.mark.parametrize("kernel", [Linear(), RBFMixture(), SquaredInner()])
def test_inner_products_are_those_of_the_kernel(kernel: Kernel) -> None:
    points = torch.from_numpy(np.random.default_rng(0).normal(size=(12, 3)))
    sums = KernelSums(kernel, points)
    sums.grow(np.array([0, 1, 2]))
    sums.grow(np.array([5, 4, 3]))
    expected = [
        [sum(float(kernel.gram(points[[i]], points[[j]])) for j in g) for g in ((0, 5), (1, 4), (2, 3))]
        for i in (7, 6, 8)
    ]
    assert sums.inner(np.array([7, 6, 8])) == pytest.approx(np.array(expected), rel=1e-12)


def test_copies_have_equal_inner_products_bit_for_bit() -> None:
    z = np.random.default_rng(0).normal(size=(7, 37)).repeat(9, axis=0)
    sums = PointSums(torch.from_numpy(z))
    sums.grow(np.arange(0, 63, 3))
    products = sums.inner(np.arange(63)).reshape(7, 9, -1)
    assert (products == products[:, :1]).all()


@pytest.mark.parametrize(
    "sampler", [Anticlustering(), Anticlustering(MMD("linear")), Anticlustering(MMD()), Anticlustering(CORAL())]
)
def test_the_pool_is_drawn_without_replacement_and_copied_only_when_it_must(sampler: Anticlustering) -> None:
    rng = np.random.default_rng(0)
    features = Features(torch.from_numpy(rng.normal(size=(40, 2))), torch.from_numpy(rng.normal(size=(11, 2))))
    plan = sampler.plan(features, 4, 8, rng)
    assert len(plan.source.index.unique()) == 32
    seen = np.bincount(plan.target.index.numpy().ravel(), minlength=11)
    assert sorted(seen.tolist()) == [2] + [3] * 10


def test_every_example_is_equally_likely_in_every_slot() -> None:
    """Of every minibatch, though the pool is sorted by eccentricity on the way."""
    z, rng = torch.tensor([[0.0], [0.1], [0.3], [1.0], [5.0]]), np.random.default_rng(0)
    index = np.stack([Anticlustering().draw(Linear(), z, 2, 2, rng)[0] for _ in range(4_000)])
    for m in range(2):
        for slot in range(2):
            assert stats.chisquare(np.bincount(index[:, m, slot], minlength=5)).pvalue > ALARM


def test_minibatch_means_are_far_more_alike_than_at_random() -> None:
    """On the map that is balanced, against plain epochs; and each map needs its own sampler."""
    z = torch.from_numpy(np.random.default_rng(0).normal(size=(400, 2)))
    centred = z - z.mean(0)
    outer = (centred[:, :, None] * centred[:, None, :]).flatten(1)

    def spread(sampler: Anticlustering | Uniform, phi: torch.Tensor) -> float:
        rng = np.random.default_rng(1)
        plans = [sampler.plan(Features(z, z), 8, 40, rng) for _ in range(5)]
        return float(np.mean([phi[plan.source.index].mean(1).var(0).sum() for plan in plans]))

    random = Uniform(replacement=False)
    assert spread(Anticlustering(), z) < 0.02 * spread(random, z)
    assert spread(Anticlustering(CORAL()), outer) < 0.1 * spread(random, outer)
    assert spread(Anticlustering(CORAL()), outer) < 0.2 * spread(Anticlustering(), outer)


def test_settings() -> None:
    assert Anticlustering().settings() == {"name": "anticlustering", "features": {"name": "linear"}}
    assert Anticlustering("linear") == Anticlustering()
    with pytest.raises(UnknownName, match="Did you mean 'linear'"):
        Anticlustering("lineer")
    with pytest.raises(SettingError, match="kernel must be a name"):
        Anticlustering(3)  # type: ignore[arg-type]
