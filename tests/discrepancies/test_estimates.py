"""MMD and CORAL against the paper's equations in loops, scales and bias; what both promise is in contracts."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from references import discrepancies as literal

import orda
from orda.errors import SettingError, UnknownName
from orda.kernels import PAPER_GAMMAS
from orda.records import Features

KINDS = {
    "linear": (orda.MMD("linear"), literal.linear),
    "rbf": (orda.MMD(), literal.rbf_mixture),
    "squared": (orda.MMD("squared-inner"), literal.squared_inner),
}
seeds = st.integers(0, 10**9)


def problem(seed: int, d: int | None = None):  # type: ignore[no-untyped-def]
    """Two domains with strata, one example drawn from each stratum; indices, sizes and weights of the minibatch."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 7)) if d is None else d
    k = int(rng.integers(1, 6))
    domains = []
    for n in rng.integers(k + 1, 14, size=2):
        z = rng.normal(size=(n, d)) * rng.uniform(0.3, 3) + rng.normal(size=d)
        labels = rng.permutation(np.concatenate([np.arange(k), rng.integers(k, size=n - k)]))
        sizes = np.bincount(labels, minlength=k)
        drawn = np.array([rng.choice(np.flatnonzero(labels == h)) for h in range(k)])
        indicator = np.zeros(n)
        indicator[drawn] = 1
        domains.append((z, drawn, indicator, sizes[labels].astype(float), sizes / n))
    return domains


def tensors(domains):  # type: ignore[no-untyped-def]
    (zs, s, *_, ws), (zt, t, *_, wt) = domains
    return tuple(torch.from_numpy(np.ascontiguousarray(a)) for a in (zs[s], zt[t], ws, wt))


@pytest.mark.parametrize("name", KINDS)
@given(seed=seeds)
def test_mmd_is_the_papers_equation(name: str, seed: int) -> None:
    mmd, kernel = KINDS[name]
    domains = problem(seed)
    (zs, _, alpha, sizes_s, _), (zt, _, beta, sizes_t, _) = domains
    expected = literal.mmd_estimate(kernel, zs, zt, alpha, beta, sizes_s, sizes_t)
    scale = max(1.0, float(np.abs(zs).max()) ** 4, float(np.abs(zt).max()) ** 4)
    assert float(mmd(*tensors(domains))) == pytest.approx(expected, rel=1e-10, abs=1e-12 * scale)


@given(seed=seeds)
def test_coral_is_the_papers_equation_in_both_of_its_forms(seed: int) -> None:
    for d in (2, 12):  # d × d matrices where they are smaller, inner products elsewhere
        domains = problem(seed, d)
        (zs, _, alpha, sizes_s, _), (zt, _, beta, sizes_t, _) = domains
        expected = literal.coral_estimate(zs, zt, alpha, beta, sizes_s, sizes_t)
        coral = orda.CORAL(population=(len(zs), len(zt)))
        scale = max(1.0, float(np.abs(zs).max()) ** 4, float(np.abs(zt).max()) ** 4)
        assert float(coral(*tensors(domains))) == pytest.approx(expected, rel=1e-9, abs=1e-11 * scale)


@given(seed=seeds)
@settings(max_examples=15)
def test_the_reference_is_the_value_over_all_pairs(seed: int) -> None:
    (zs, *_), (zt, *_) = problem(seed)
    features = Features(torch.from_numpy(zs), torch.from_numpy(zt))
    for mmd, kernel in KINDS.values():
        found = mmd.reference(features)
        assert found == pytest.approx(literal.mmd_reference(kernel, zs, zt), rel=1e-9, abs=1e-10)
    assert orda.CORAL().reference(features) == pytest.approx(literal.coral_reference(zs, zt), rel=1e-9, abs=1e-12)


def test_scales_of_coral_differ_by_known_factors() -> None:
    zs, zt, ws, wt = tensors(problem(3, 5))
    total, mean, deep = (float(orda.CORAL(scale)(zs, zt, ws, wt)) for scale in ("sum", "mean", "deep"))
    assert mean == pytest.approx(total / 25)
    assert deep == pytest.approx(total / 100)


def test_corals_factor_follows_the_population() -> None:
    zs, zt, ws, wt = tensors(problem(4, 3))
    plain = float(orda.CORAL()(zs, zt, ws, wt))
    assert float(orda.CORAL(population=(5, 5))(zs, zt, ws, wt)) == pytest.approx(plain * (5 / 4) ** 2)
    data = torch.randn(9, 3, generator=torch.Generator().manual_seed(0)).double()
    unweighted = float(orda.CORAL()(data, data * 2))  # without weights a batch is taken for the whole data
    assert unweighted == pytest.approx(literal.coral_reference(data.numpy(), 2 * data.numpy()))
    features = Features(data, data[:4])
    assert orda.CORAL().resolved(features).population == (9, 4)


def test_median_gammas_are_those_of_both_domains_together() -> None:
    (zs, *_), (zt, *_) = problem(5, 4)
    features = Features(torch.from_numpy(zs), torch.from_numpy(zt))
    both = np.concatenate([zs, zt])
    distances = [float(np.square(a - b).sum()) for i, a in enumerate(both) for b in both[:i]]
    lower_median = sorted(distances)[(len(distances) - 1) // 2]
    fixed = orda.MMD(gammas="median").resolved(features)
    assert fixed.gammas == pytest.approx([gamma / lower_median for gamma in PAPER_GAMMAS], rel=1e-9)
    assert fixed.resolved(features) is fixed
    zs, zt, *weights = tensors(problem(5, 4))  # of a minibatch by itself, until then
    alone = orda.MMD(gammas="median")(zs, zt, *weights)
    assert float(alone) == pytest.approx(float(orda.MMD(gammas="median").resolved(Features(zs, zt))(zs, zt, *weights)))


def two_strata(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    z = np.concatenate([rng.normal(size=(6, 2)), rng.normal(size=(3, 2)) + 4])
    return z, np.repeat([0, 1], [6, 3])


@pytest.mark.parametrize("name", ["linear", "rbf"])
def test_the_estimate_is_biased_by_the_embedding_variances_exactly(name: str) -> None:
    """E D̂ = D0 + V_s + V_t over all draws of one example per stratum, enumerated; V = Σ p_h² σ_h²."""
    mmd, kernel = KINDS[name]
    rng = np.random.default_rng(0)
    (zs, ls), (zt, lt) = two_strata(rng), two_strata(rng)
    p = torch.tensor([6 / 9, 3 / 9], dtype=torch.float64)
    values = [
        float(mmd(torch.from_numpy(zs[[a, b]]), torch.from_numpy(zt[[c, e]]), p, p))
        for a in range(6)
        for b in range(6, 9)
        for c in range(6)
        for e in range(6, 9)
    ]
    variances = 0.0
    for z, labels in ((zs, ls), (zt, lt)):
        for h, weight in ((0, 6 / 9), (1, 3 / 9)):
            members = z[labels == h]
            own = np.mean([kernel(x, x) for x in members])
            variances += weight**2 * (own - np.mean([[kernel(x, y) for y in members] for x in members]))
    d0 = mmd.reference(Features(torch.from_numpy(zs), torch.from_numpy(zt)))
    assert variances > 0.01
    assert math.fsum(values) / len(values) == pytest.approx(d0 + variances, rel=1e-10)


def test_corals_covariance_is_biased_downward_exactly() -> None:
    """E Ĉ = n/(n−1) (Σ_0 − Σ_h p_h² Σ_h) over all draws, Σ with 1/n."""
    z, labels = two_strata(np.random.default_rng(1))
    sizes = np.array([6.0, 3.0])[labels]
    mean = np.zeros((2, 2))
    draws = [(a, b) for a in range(6) for b in range(6, 9)]
    for draw in draws:
        indicator = np.zeros(9)
        indicator[list(draw)] = 1
        mean += literal.coral_covariance(z, indicator, sizes) / len(draws)
    inside = sum((n / 9) ** 2 * np.cov(z[labels == h].T, ddof=0) for h, n in ((0, 6), (1, 3)))
    np.testing.assert_allclose(mean, 9 / 8 * (np.cov(z.T, ddof=0) - inside), rtol=1e-10)
    assert np.trace(mean) < np.trace(np.cov(z.T, ddof=1))


def test_unknown_names() -> None:
    for make, near in (
        (lambda: orda.MMD("rbf-mixtur"), "rbf-mixture"),
        (lambda: orda.CORAL("dep"), "deep"),
        (lambda: orda.MMD(estimator="plugin"), "plug-in"),
        (lambda: orda.RBFMixture("medium"), "median"),  # type: ignore[arg-type]
    ):
        with pytest.raises(UnknownName, match=f"Did you mean '{near}'"):
            make()
    with pytest.raises(SettingError, match="positive numbers"):
        orda.RBFMixture(())
