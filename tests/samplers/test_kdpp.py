"""Exactness of k-DPP samples: enumeration for small n, inclusion probabilities and 60-digit arithmetic beyond."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from references import samplers as literal
from scipy import stats

from orda.errors import FeatureError
from orda.samplers import kdpp
from orda.samplers.kdpp import (
    Spectrum,
    choose_rows,
    choose_vectors,
    log_elementary,
    sample,
    spectrum_of_features,
    spectrum_of_gram,
)

ALARM = 1e-5
COUNT = 20_000


def pvalue(index: np.ndarray, law: dict[tuple[int, ...], float]) -> float:
    """Chi-square of drawn subsets against a law; subsets expected fewer than five times are counted together."""
    drawn = Counter(tuple(sorted(row)) for row in index.tolist())
    assert set(drawn) <= set(law)
    expected = np.array([law[b] * len(index) for b in law])
    observed = np.array([drawn[b] for b in law], dtype=float)
    rare = expected < 5
    if rare.any():
        expected = np.append(expected[~rare], expected[rare].sum())
        observed = np.append(observed[~rare], observed[rare].sum())
        if expected[-1] < 1e-6:
            assert observed[-1] == 0
            expected, observed = expected[:-1], observed[:-1]
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("d", [5, 9])  # the dual, and the primal
def test_law_by_enumeration(k: int, d: int) -> None:
    phi = np.random.default_rng(d).normal(size=(6, d)) * np.array([0.3, 1, 1, 2, 1, 0.7])[:, None]
    law = literal.kdpp_law(phi @ phi.T, k)
    index = sample(spectrum_of_features(torch.from_numpy(phi)), k, COUNT, np.random.default_rng(k))
    assert pvalue(index, law) > ALARM
    assert pvalue(index, {b: 1 / len(law) for b in law}) < ALARM  # the test can fail: the law is not uniform


def test_law_with_copies() -> None:
    """Two copies of one example never meet: det(L_B) is zero there."""
    phi = np.random.default_rng(0).normal(size=(6, 4))[[0, 0, 1, 2, 3, 4]]
    index = sample(spectrum_of_features(torch.from_numpy(phi)), 3, COUNT, np.random.default_rng(0))
    assert not any({0, 1} <= set(row) for row in index.tolist())
    assert pvalue(index, literal.kdpp_law(phi @ phi.T, 3)) > ALARM


@pytest.mark.parametrize(("rank", "k"), [(1, 2), (2, 3), (2, 4), (3, 4), (1, 6)])
def test_law_below_full_rank_is_the_limit_of_a_ridge(rank: int, k: int) -> None:
    phi = np.random.default_rng(rank).normal(size=(6, rank))
    kernel = phi @ phi.T
    law = literal.completed_kdpp_law(kernel, rank, k)
    ridge = literal.kdpp_law(kernel + 1e-5 * np.eye(6), k)
    assert max(abs(law[b] - ridge[b]) for b in law) < 1e-3  # the twin is the limit that it claims to be
    index = sample(spectrum_of_gram(torch.from_numpy(kernel)), k, COUNT, np.random.default_rng(0))
    assert all(len(set(row)) == k for row in index.tolist())
    if k < 6:
        assert pvalue(index, law) > ALARM


def test_zero_kernel_gives_uniform_subsets() -> None:
    index = sample(spectrum_of_gram(torch.zeros(5, 5, dtype=torch.float64)), 2, COUNT, np.random.default_rng(0))
    assert pvalue(index, dict.fromkeys(literal.kdpp_law(np.eye(5), 2), 0.1)) > ALARM


@pytest.mark.parametrize(("n", "d", "k"), [(40, 25, 16), (140, 20, 20), (70, 90, 30)])
def test_inclusion_probabilities(n: int, d: int, k: int) -> None:
    """P(i ∈ B) for every i, where enumeration is out of reach; k = d = rank included. n > ROWS: several blocks."""
    rng = np.random.default_rng(n)
    phi = rng.normal(size=(n, d)) * rng.gamma(1.0, size=(n, 1)) * np.arange(1, d + 1) ** -1.0
    expected = literal.kdpp_inclusion(phi @ phi.T, k)
    count = 4_000
    index = sample(spectrum_of_features(torch.from_numpy(phi)), k, count, np.random.default_rng(0))
    share = np.bincount(index.ravel(), minlength=n) / count
    error = np.sqrt(expected * (1 - expected) / count) + 1 / count
    assert np.abs((share - expected) / error).max() < stats.norm.isf(ALARM / (2 * n))
    assert np.abs((k / n - expected) / error).max() > stats.norm.isf(ALARM / (2 * n))  # uniform draws would fail


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 2**32))
def test_log_elementary_matches_exact_arithmetic(r: int, k: int, seed: int) -> None:
    values = np.random.default_rng(seed).gamma(0.3, size=r) + 1e-12
    k = min(r, k)
    table = log_elementary(np.log(values), k)
    for m in range(r + 1):
        exact = literal.elementary(values[:m], k)
        for size in range(min(k, m) + 1):
            assert table[size, m] == pytest.approx(float(exact[size].ln()), rel=1e-12, abs=1e-12)
        assert all(table[size, m] == -np.inf for size in range(m + 1, k + 1))


@pytest.mark.parametrize("decay", [0.0, 2.0, 4.0])
def test_log_elementary_is_stable_for_k_128_on_512_features(decay: float) -> None:
    values = np.arange(1, 513) ** -decay
    table = log_elementary(np.log(values), 128)
    exact = literal.elementary(values, 128)
    assert [table[size, 512] for size in range(129)] == pytest.approx(
        [float(e.ln()) for e in exact], rel=1e-12, abs=1e-11
    )


def test_vectors_are_chosen_with_their_exact_probability() -> None:
    values = np.array([4.0, 2.0, 1.0, 0.5, 0.1])
    logs, rng = np.log(values), np.random.default_rng(0)
    table, index = log_elementary(logs, 2), np.empty((COUNT, 2), dtype=np.int64)
    for row in index:
        choose_vectors(logs, table, rng, row)
    assert pvalue(index, literal.kdpp_law(np.diag(values), 2)) > ALARM


def test_rows_of_a_projection_are_drawn_by_its_determinants() -> None:
    basis = np.ascontiguousarray(np.linalg.qr(np.random.default_rng(0).normal(size=(7, 3)))[0])
    running, rng = kdpp._running_masses(basis), np.random.default_rng(0)
    index = np.empty((COUNT, 3), dtype=np.int64)
    for row in index:
        choose_rows(basis, running, np.arange(3), rng, row)
    assert pvalue(index, literal.kdpp_law(basis @ basis.T, 3)) > ALARM


@given(n=st.integers(2, 200), d=st.integers(1, 12), seed=st.integers(0, 2**32))
def test_spectrum_gives_the_kernel_back(n: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-5, 0, size=d)  # condition numbers of L up to 1e10
    spectrum = spectrum_of_features(torch.from_numpy(phi))
    again = spectrum.vectors * spectrum.values @ spectrum.vectors.T
    assert np.abs(again - phi @ phi.T).max() <= 1e-11 * spectrum.values[0]
    assert np.abs(spectrum.vectors.T @ spectrum.vectors - np.eye(len(spectrum.values))).max() < 1e-8
    assert (np.diff(spectrum.values) <= 0).all()


def test_rank_is_that_of_the_features() -> None:
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 20))
    assert spectrum_of_features(torch.from_numpy(phi)).vectors.shape == (50, 4)
    assert spectrum_of_features(torch.from_numpy(phi[:10])).vectors.shape == (10, 4)


def test_a_paper_sized_minibatch_of_128() -> None:
    rng = np.random.default_rng(0)
    phi = torch.from_numpy(rng.normal(size=(600, 512)) * np.arange(1, 513) ** -2.0)
    index = sample(spectrum_of_features(phi), 128, 5, rng)
    assert all(len(set(row)) == 128 for row in index.tolist())
    assert len({tuple(sorted(row)) for row in index.tolist()}) == 5


def test_a_hidden_candidate_is_drawn_again() -> None:
    """Where rounding lets the aim pass the whole mass of a column, no row is taken."""
    vectors = np.full((4, 1), 0.5)
    assert kdpp._candidate(vectors, np.array([[1.0 + 1e-9]]), 0, 1.0 - 1e-16) == -1
    assert sorted({kdpp._candidate(vectors, np.array([[1.0]]), 0, u) for u in (0.0, 0.3, 0.6, 0.9)}) == [0, 1, 2, 3]


def test_kernel_values_that_are_not_finite_are_refused() -> None:
    with pytest.raises(FeatureError, match="kernel values must be finite"):
        spectrum_of_gram(torch.tensor([[1.0, torch.inf], [torch.inf, 1.0]], dtype=torch.float64))


def test_samples_repeat_with_the_seed() -> None:
    spectrum = Spectrum(np.ones(3), np.ascontiguousarray(np.eye(5)[:, :3]))
    first, second = (sample(spectrum, 4, 50, np.random.default_rng(7)) for _ in range(2))
    assert (first == second).all()
