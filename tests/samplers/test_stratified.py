"""Stratified sampling's own: weights, one of each stratum, independence, warm starts, what it tells."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from scipy import stats

import orda
from orda.errors import KernelWarning, SettingError, StratumWarning
from orda.records import DomainPlan, Features, Plan
from orda.samplers import Ordered, Stratified

ALIGNED = pytest.mark.parametrize("kind", [Stratified, Ordered])


def features(n_s: int = 90, n_t: int = 70, d: int = 3, seed: int = 0) -> Features:
    rng = np.random.default_rng(seed)
    return Features(*(torch.from_numpy(rng.normal(size=(n, d)) + rng.normal(size=d)) for n in (n_s, n_t)))


def planned(sampler: orda.Sampler, z: Features, k: int, horizon: int, seed: int = 0, **more: Plan | None) -> Plan:
    return sampler.plan(z, k, horizon, np.random.default_rng(seed), **more)


def domains(plan: Plan) -> tuple[DomainPlan, DomainPlan]:
    return plan.source, plan.target


@ALIGNED
@pytest.mark.parametrize("loss", [orda.MMD("linear"), orda.MMD(gammas="median"), orda.CORAL()])
def test_one_example_of_each_stratum_weighs_its_share(kind: type[Stratified | Ordered], loss: orda.Discrepancy) -> None:
    plan = planned(kind(loss, min_size=2), features(), 6, 9)
    for part in domains(plan):
        assert part.strata is not None
        labels, sizes = torch.from_numpy(part.strata.labels), torch.from_numpy(part.strata.sizes)
        assert torch.equal(sizes, torch.bincount(labels, minlength=6))
        assert torch.equal(labels[part.index], part.stratum)
        assert torch.equal(part.stratum.sort(1).values, torch.arange(6).repeat(9, 1))
        torch.testing.assert_close(part.weight, (sizes[part.stratum] / len(labels)).float())
        torch.testing.assert_close(part.weight.sum(1), torch.ones(9))
        assert part.draws == 1
        assert sizes.min() >= 2


@ALIGNED
def test_two_draws_share_a_stratums_weight_and_are_different(kind: type[Stratified | Ordered]) -> None:
    plan = planned(kind(orda.MMD("linear", estimator="unbiased"), min_size=2), features(), 6, 9)
    for part in domains(plan):
        assert part.strata is not None
        assert part.own is not None
        assert part.strata.k == 3
        sizes = torch.from_numpy(part.strata.sizes)
        assert torch.equal(part.stratum.sort(1).values, torch.tensor([0, 0, 1, 1, 2, 2]).repeat(9, 1))
        torch.testing.assert_close(part.weight, (sizes[part.stratum] / part.strata.n / 2).float())
        torch.testing.assert_close(part.own, (1 / sizes[part.stratum]).float())
        assert all(len(set(batch)) == 6 for batch in part.index.tolist())
        assert part.draws == 2


@ALIGNED
@pytest.mark.parametrize(
    ("settings", "k", "message"),
    [
        ({"draws": 2}, 5, "batch_size must be a multiple of 2; got 5. Pass batch_size=6"),
        ({"draws": 3}, 6, "draws from a stratum must be 1 or 2; got 3"),
        ({"draws": True}, 6, "draws from a stratum must be 1 or 2; got True"),
        ({"min_size": 0}, 6, "min_size must be an integer of at least 1; got 0"),
        ({"min_size": 2.5}, 6, "min_size must be an integer of at least 1; got 2.5"),
        ({"discrepancy": orda.MMD(estimator="unbiased"), "draws": 1}, 6, "needs two draws from every stratum"),
        ({"discrepancy": orda.MMD}, 6, "discrepancy must be an orda.MMD or an orda.CORAL"),
    ],
)
def test_settings_that_cannot_be_used(
    kind: type[Stratified | Ordered], settings: dict[str, object], k: int, message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        planned(kind(**settings), features(), k, 3)  # type: ignore[arg-type]


def test_draws_are_independent_and_uniform_in_a_stratum() -> None:
    """Each slot anew: repeats within a plan occur as often as chance has it."""
    plan = planned(Stratified(orda.MMD("linear"), min_size=5), features(40, 40), 4, 4000)
    for part in domains(plan):
        assert part.strata is not None
        for h in range(4):
            column = part.index[part.stratum == h].numpy()
            members = np.flatnonzero(part.strata.labels == h)
            counts = np.array([(column == i).sum() for i in members])
            assert counts.sum() == 4000
            assert stats.chisquare(counts).pvalue > 1e-4
            repeats = float(np.mean(column[1:] == column[:-1]))
            assert repeats == pytest.approx(1 / len(members), abs=5 * (len(members) * 4000) ** -0.5)


@ALIGNED
def test_the_last_plan_is_where_stratification_starts(kind: type[Stratified | Ordered]) -> None:
    z, sampler = features(300, 200), kind(orda.MMD("linear"), min_size=5)
    first = planned(sampler, z, 8, 5)
    again = planned(sampler, z, 8, 5, seed=9, previous=first)
    for domain in ("source", "target"):
        before, after = (p.diagnostics["strata"][domain] for p in (first, again))
        assert after["objective"] <= before["objective"] * (1 + 1e-9)
        assert after["sweeps"] <= before["sweeps"]
    assert any(not torch.equal(a.index, b.index) for a, b in zip(domains(first), domains(again), strict=True))
    other = planned(sampler, features(299, 200), 8, 5, previous=first)  # other examples: afresh where n differs
    assert other.source.strata is not None
    assert other.source.strata.n == 299


@ALIGNED
def test_what_stratification_tells(kind: type[Stratified | Ordered]) -> None:
    z = features()
    plan = planned(kind(orda.MMD("linear"), min_size=4), z, 6, 9)
    for domain, part, x in (("source", plan.source, z.source), ("target", plan.target, z.target)):
        told, strata = plan.diagnostics["strata"][domain], part.strata
        assert strata is not None
        groups = [x[strata.labels == h] for h in range(6)]
        objective = sum(len(g) * float((g - g.mean(0)).square().sum()) for g in groups)
        assert told["objective"] == pytest.approx(objective, rel=1e-9)
        assert told["embedding_variance"] == pytest.approx(objective / len(x) ** 2, rel=1e-9)
        assert (told["smallest"], told["largest"]) == (min(map(len, groups)), max(map(len, groups)))
        assert told["min_size"] == 4 <= told["smallest"]
        assert told["sweeps"] >= 1


@ALIGNED
def test_the_variance_of_the_mean_embedding_is_the_one_told(kind: type[Stratified | Ordered]) -> None:
    """Over independent draws, of which the pool's rows are uniform too: E‖Σ w z − z̄‖² = objective/n²."""
    z = features(60, 60, 2)
    sampler, seen, told = kind(orda.MMD("linear"), min_size=1), [], []
    first = planned(sampler, z, 5, 1)
    for seed in range(400):
        plan = planned(sampler, z, 5, 1, seed=seed, previous=first)
        mean = (plan.source.weight[0].double()[:, None] * z.source[plan.source.index[0]]).sum(0)
        seen.append(float((mean - z.source.mean(0)).square().sum()))
        told.append(plan.diagnostics["strata"]["source"]["embedding_variance"])
    error = np.std(seen) / 400**0.5
    assert np.mean(seen) == pytest.approx(np.mean(told), abs=5 * error)


@ALIGNED
def test_warnings_come_once_and_not_with_the_next_plan(kind: type[Stratified | Ordered]) -> None:
    """D2's and D13's: of both together each once."""
    z = features(30, 28)
    far = Features(z.source * 1000, z.target * 1000)
    sampler = kind(orda.MMD(), min_size=10)
    with pytest.warns(orda.OrdaWarning) as caught:
        plan = planned(sampler, far, 4, 6)
    assert sorted(w.category.__name__ for w in caught) == [KernelWarning.__name__, StratumWarning.__name__]
    assert [plan.diagnostics["strata"][domain]["min_size"] for domain in ("source", "target")] == [7, 7]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        planned(sampler, far, 4, 6, seed=1, previous=plan)


@pytest.mark.parametrize(("kind", "expected"), [(Stratified, 1), (Ordered, 9)])
def test_the_least_size_by_default(kind: type[Stratified | Ordered], expected: int) -> None:
    """VaRDASS has none; the paper's n_min is the horizon, twice that with two draws."""
    plan = planned(kind(orda.MMD("linear")), features(200, 180), 6, 9)
    assert plan.diagnostics["strata"]["source"]["min_size"] == expected
    two = planned(kind(orda.MMD("linear"), draws=2), features(200, 180), 6, 9)
    assert two.diagnostics["strata"]["source"]["min_size"] == (1 if kind is Stratified else 18)
