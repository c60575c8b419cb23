"""The DPP sampler: which kernel it samples from, and where."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from references import samplers as literal
from scipy import stats

from orda.discrepancies import CORAL, MMD
from orda.errors import KernelWarning, SettingError, UnknownName
from orda.kernels import RBFMixture, SquaredInner
from orda.records import Features
from orda.samplers.dpp import DPP

ALARM = 1e-5
COUNT = 20_000
Z = np.random.default_rng(5).normal(size=(6, 3)) * np.array([0.4, 1, 1, 2, 1, 0.6])[:, None]


def features(z: np.ndarray = Z, dtype: torch.dtype = torch.float64) -> Features:
    return Features(torch.tensor(z, dtype=dtype), torch.tensor(z[::-1].copy(), dtype=dtype))


def pvalue(index: torch.Tensor, law: dict[tuple[int, ...], float]) -> float:
    drawn = Counter(tuple(sorted(row)) for row in index.tolist())
    assert set(drawn) <= set(law)
    return float(stats.chisquare([drawn[b] for b in law], [law[b] * len(index) for b in law]).pvalue)


def rbf(z: np.ndarray, gammas: tuple[float, ...]) -> np.ndarray:
    squared = ((z[:, None] - z[None]) ** 2).sum(-1)
    return sum(np.exp(-gamma * squared) for gamma in gammas)


CENTRED = Z - Z.mean(0)
LAWS = {
    "linear": (DPP(), CENTRED @ CENTRED.T),
    "linear MMD": (DPP(MMD("linear")), CENTRED @ CENTRED.T),
    "rbf-mixture": (DPP("rbf-mixture"), rbf(Z, (0.001, 0.01, 0.1, 1, 10))),
    "Kernel": (DPP(RBFMixture((0.5,))), rbf(Z, (0.5,))),
    "squared-inner": (DPP(SquaredInner()), (Z @ Z.T) ** 2),
    "CORAL": (DPP(CORAL()), (CENTRED @ CENTRED.T) ** 2),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", LAWS)
def test_law_of_every_kernel(name: str, dtype: torch.dtype) -> None:
    """Of six points by enumeration; the target is the source backwards, and so is its law."""
    sampler, kernel = LAWS[name]
    plan = sampler.plan(features(dtype=dtype), 3, COUNT, np.random.default_rng(0))
    law = literal.kdpp_law(kernel, 3)
    assert pvalue(plan.source.index, law) > ALARM
    assert pvalue(5 - plan.target.index, law) > ALARM
    assert pvalue(plan.source.index, {b: 1 / len(law) for b in law}) < ALARM


def test_a_shift_of_the_features_changes_nothing() -> None:
    plans = [DPP().plan(features(z), 3, 50, np.random.default_rng(0)) for z in (Z, Z + 100.0)]
    assert torch.equal(plans[0].source.index, plans[1].source.index)


@pytest.mark.parametrize("factor", [1e-180, 1e180])
def test_any_scale_gives_the_same_plan(factor: float) -> None:
    plans = [DPP().plan(features(z), 3, 50, np.random.default_rng(0)) for z in (Z, Z * factor)]
    assert torch.equal(plans[0].source.index, plans[1].source.index)


def test_median_gammas_are_those_of_both_domains() -> None:
    """The target lies ten times wider: gammas from one domain alone would give another kernel."""
    both = Features(torch.from_numpy(Z), torch.from_numpy(10 * Z))
    fixed = RBFMixture("median").resolved(torch.cat([both.source, both.target]))
    plans = [DPP(kernel).plan(both, 3, 30, np.random.default_rng(0)) for kernel in (RBFMixture("median"), fixed)]
    assert torch.equal(plans[0].source.index, plans[1].source.index)
    assert torch.equal(plans[0].target.index, plans[1].target.index)


def test_above_the_limit_a_fresh_subset_of_candidates_is_taken_for_every_plan() -> None:
    """The law is the k-DPP of a uniform subset, averaged over subsets, and no other."""
    kernel, rng = RBFMixture((0.1,)), np.random.default_rng(0)
    law = literal.subset_kdpp_law(rbf(Z, (0.1,)), 2, candidates=4)
    sampler = DPP(kernel, candidates=4)
    assert sampler.plan(features(), 2, 1, rng).diagnostics["candidates"] == [4, 4]
    draws = [sampler.draw(kernel, torch.from_numpy(Z), 2, 1, rng)[0] for _ in range(1_500)]
    index = torch.from_numpy(np.concatenate(draws))
    assert pvalue(index, law) > ALARM
    assert pvalue(index, {b: 1 / len(law) for b in law}) < ALARM


@pytest.mark.parametrize(("gamma", "bounds"), [(0.1, (0.2, 0.1, 0.05)), (0.5, (0.05, 0.02, 0.01))])
def test_the_law_of_subsets_approaches_that_of_all_examples(gamma: float, bounds: tuple[float, ...]) -> None:
    """In total variation, as the candidates grow from 3 to 5 of 6 examples."""
    exact = literal.kdpp_law(rbf(Z, (gamma,)), 2)
    laws = [literal.subset_kdpp_law(rbf(Z, (gamma,)), 2, candidates) for candidates in (3, 4, 5)]
    distances = [0.5 * sum(abs(law[b] - exact[b]) for b in exact) for law in laws]
    assert all(distance < bound for distance, bound in zip(distances, bounds, strict=True))
    assert distances[0] > distances[1] > distances[2]


def test_one_plan_stays_inside_its_candidates() -> None:
    z = np.random.default_rng(0).normal(size=(60, 3))
    plan = DPP("rbf-mixture", candidates=12).plan(features(z), 5, 40, np.random.default_rng(0))
    assert len(plan.source.index.unique()) == 12
    assert DPP("rbf-mixture", candidates=3).plan(features(z), 5, 2, np.random.default_rng(0)).diagnostics["rank"] == [
        5,
        5,
    ]


def test_the_linear_kernel_needs_no_subset() -> None:
    z = np.random.default_rng(0).normal(size=(60, 3))
    diagnostics = DPP(candidates=10).plan(features(z), 3, 2, np.random.default_rng(0)).diagnostics
    assert diagnostics["candidates"] == [60, 60]
    assert diagnostics["rank"] == [3, 3]


def test_a_blind_kernel_is_warned_about() -> None:
    far = Features(torch.from_numpy(1e4 * Z), torch.from_numpy(2e4 * Z))
    with pytest.warns(KernelWarning, match="hardly sees the data"):
        DPP("rbf-mixture").plan(far, 2, 2, np.random.default_rng(0))


def test_settings_are_checked() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'rbf-mixture'"):
        DPP("rbf-mixtur")
    with pytest.raises(SettingError, match="kernel must be a name"):
        DPP(3)  # type: ignore[arg-type]
    for wrong in (0, 2.0, True):
        with pytest.raises(SettingError, match="candidates must be an integer of at least 1"):
            DPP(candidates=wrong)  # type: ignore[arg-type]


def test_settings_are_plain() -> None:
    assert DPP().settings() == {"name": "dpp", "kernel": {"name": "linear"}, "candidates": 2000}
    assert DPP(RBFMixture((1, 2))).settings()["kernel"] == {"name": "rbf-mixture", "gammas": (1.0, 2.0)}
    assert DPP(CORAL()).settings()["kernel"]["name"] == "coral"
