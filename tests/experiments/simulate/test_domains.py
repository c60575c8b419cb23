"""Made-up domains: what their docstrings say of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from orda.experiments.simulate.domains import clustered, labelled, normal, smooth_field


def test_normal_domains_are_standard_normal() -> None:
    found = normal(np.random.default_rng(0), 20_000, 2)
    for z in (found.source, found.target):
        assert z.shape == (20_000, 2)
        assert z.dtype == torch.float64
        assert z.mean(0).abs().max() < 0.05
        assert (torch.cov(z.T) - torch.eye(2)).abs().max() < 0.05
    assert not torch.equal(found.source, found.target)


def test_clusters_have_the_shares_the_noise_and_the_shift_that_they_should() -> None:
    found = labelled(np.random.default_rng(0), 20_000, 16_000, 200, clusters=4, noise=0.5, shift=0.3)
    wanted = np.array([12, 6, 4, 3]) / 25
    assert np.bincount(found.source) / 20_000 == pytest.approx(wanted, abs=0.015)
    assert np.bincount(found.target) / 16_000 == pytest.approx(wanted[::-1], abs=0.015)
    moves = []
    for c in range(4):
        z_s, z_t = found.features.source[found.source == c], found.features.target[found.target == c]
        assert float(z_s.std(0).mean()) == pytest.approx(0.5, abs=0.02)
        moves.append(z_t.mean(0) - z_s.mean(0))
    assert float(moves[0].norm()) == pytest.approx(0.3 * np.sqrt(200), rel=0.15)
    for move in moves[1:]:  # all clusters by the same vector
        assert float((move - moves[0]).norm()) < 0.3 * float(moves[0].norm())


def test_clusters_of_equal_sizes() -> None:
    found = labelled(np.random.default_rng(0), 20_000, 20_000, 2, clusters=5, skew=0.0)
    assert np.bincount(found.source) / 20_000 == pytest.approx(np.full(5, 0.2), abs=0.015)


def test_labels_change_nothing() -> None:
    a, b = clustered(np.random.default_rng(3), 50, 40, 6), labelled(np.random.default_rng(3), 50, 40, 6).features
    assert torch.equal(a.source, b.source)
    assert torch.equal(a.target, b.target)


def test_a_field_has_the_spread_of_the_data_and_is_smooth() -> None:
    rng = np.random.default_rng(0)
    z = 7 + 2 * rng.normal(size=(3000, 5))
    g = smooth_field(rng, z)
    spread = np.square(z - z.mean(0)).sum(1).mean()
    assert np.square(g(z)).sum(1).mean() == pytest.approx(spread)
    step = 1e-3 * rng.normal(size=z.shape)
    slopes = np.linalg.norm(g(z + step) - g(z), axis=1) / np.linalg.norm(step, axis=1)
    assert slopes.max() < 10  # a map of random points that is not smooth would give about 10³
    assert np.array_equal(g(z), g(z))
