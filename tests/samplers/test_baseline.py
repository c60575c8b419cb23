"""What the baselines share."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from orda.discrepancies import CORAL
from orda.errors import KernelWarning
from orda.kernels import RBFMixture
from orda.records import Features
from orda.samplers.anticlustering import Anticlustering
from orda.samplers.baseline import standardised, view_by
from orda.samplers.kmeanspp import KMeansPlusPlus


def test_standardised_is_centred_and_of_magnitude_one() -> None:
    x = torch.from_numpy(np.random.default_rng(0).normal(3.0, 2.0, size=(50, 4)))
    y = standardised(x)
    assert torch.allclose(y * x.abs().max(), x - x.mean(0), rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_constant_features_are_exactly_zero(dtype: torch.dtype) -> None:
    """Whatever their value: the rounding of a mean must not look like data."""
    x = torch.cat([torch.full((7, 3), 0.1), torch.arange(7.0)[:, None]], 1).to(dtype)
    y = standardised(x)
    assert y.dtype == torch.float64
    assert (y[:, :3] == 0).all()
    assert y[:, 3].std() > 0
    assert (standardised(torch.zeros(4, 2, dtype=dtype)) == 0).all()


def test_standardised_leaves_its_argument_alone() -> None:
    x = torch.arange(6.0, dtype=torch.float64).reshape(3, 2).requires_grad_()
    assert not standardised(x).requires_grad
    assert x.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_one_domain_does_not_change_the_plan_of_the_other() -> None:
    rng = np.random.default_rng(0)
    source, target, other = (torch.from_numpy(rng.normal(size=(n, 3))) for n in (20, 30, 17))
    first = KMeansPlusPlus().plan(Features(source, target), 4, 5, np.random.default_rng(1))
    second = KMeansPlusPlus().plan(Features(source, other), 4, 5, np.random.default_rng(1))
    assert torch.equal(first.source.index, second.source.index)


def test_equal_domains_get_different_minibatches() -> None:
    z = torch.from_numpy(np.random.default_rng(0).normal(size=(50, 3)))
    plan = KMeansPlusPlus().plan(Features(z, z), 4, 5, np.random.default_rng(1))
    assert not torch.equal(plan.source.index, plan.target.index)


def test_view_by_a_discrepancy_is_its_embedding() -> None:
    features = Features(torch.rand(9, 2, generator=torch.Generator().manual_seed(0)), torch.ones(4, 2))
    view, embedding = view_by(CORAL(), features), CORAL().embedding(features)
    assert view.kernel == embedding.kernel
    assert torch.equal(view.source, embedding.source)
    assert torch.equal(view.target, embedding.target)


def test_a_blind_kernel_warns_once_and_not_when_replanning() -> None:
    sampler, features = Anticlustering(RBFMixture()), Features(torch.eye(5) * 1e4, torch.eye(5) * 2e4)
    with pytest.warns(KernelWarning, match="hardly sees the data"):
        first = sampler.plan(features, 2, 2, np.random.default_rng(0))
    sampler.plan(features, 2, 2, np.random.default_rng(0), previous=first)  # warnings are errors here
