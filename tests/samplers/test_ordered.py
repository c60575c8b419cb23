"""The ordered sampler's own: pools without replacement, an order that no optimiser may spoil, complete diagnostics."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import orda
from orda.ordering import OPTIMISERS
from orda.planning import assess
from orda.records import Features, Plan
from orda.samplers import Ordered
from orda.stratification.stripes import gram_bytes

LOSSES = {
    "linear": orda.MMD("linear"),
    "rbf": orda.MMD(gammas="median"),
    "coral": orda.CORAL(),
    "coral, mean": orda.CORAL("mean"),
    "rbf, unbiased": orda.MMD(gammas="median", estimator="unbiased"),
    "coral, unbiased": orda.CORAL("deep", estimator="unbiased"),
}
Z = Features(
    *(torch.from_numpy(np.random.default_rng(i).normal(size=(n, 3)) + 0.4 * i) for i, n in enumerate((160, 140)))
)


def planned(sampler: Ordered, seed: int = 0, k: int = 6, horizon: int = 10) -> Plan:
    return sampler.plan(Z, k, horizon, np.random.default_rng(seed))


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("loss", ["rbf", "coral", "rbf, unbiased"])
def test_no_example_comes_twice_in_a_plan(loss: str, optimiser: str) -> None:
    """Strata have at least M members: M draws of each, without replacement."""
    plan = planned(Ordered(LOSSES[loss], optimiser=optimiser))
    for part in (plan.source, plan.target):
        assert len(part.index.unique()) == 60


def test_small_strata_give_each_member_as_often_as_the_others() -> None:
    plan = planned(Ordered(LOSSES["linear"], min_size=1), horizon=60)
    for part in (plan.source, plan.target):
        assert part.strata is not None
        counts = torch.bincount(part.index.ravel(), minlength=part.strata.n)
        for h in range(6):
            inside = counts[part.strata.labels == h]
            assert int(inside.max() - inside.min()) <= 1


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_the_optimiser_decides_only_who_meets_whom(optimiser: str) -> None:
    """The same seed gives the same strata and the same pool; of every stratum the same members."""
    base, other = planned(Ordered(LOSSES["rbf"])), planned(Ordered(LOSSES["rbf"], optimiser=optimiser))
    for one, two in ((base.source, other.source), (base.target, other.target)):
        assert torch.equal(one.index.sort(0).values, two.index.sort(0).values)
        assert torch.equal(one.stratum, two.stratum)
        assert torch.equal(one.weight, two.weight)


@pytest.mark.parametrize("objective", ["scalar", "embedding"])
@pytest.mark.parametrize("loss", LOSSES)
def test_diagnostics_are_complete_and_true(loss: str, objective: str) -> None:
    plan = planned(Ordered(LOSSES[loss], objective=objective))
    json.dumps(dict(plan.diagnostics), allow_nan=False)
    told, seconds = plan.diagnostics["ordering"], plan.diagnostics["seconds"]
    assert told["optimiser"] == "assignment"
    assert told["objective"] == objective
    assert told["passes"] == len(told["objectives"]) - 1 >= 1
    assert told["objectives"][-1] <= told["objectives"][0]
    assert {"stratify", "prepare", "order", "total"} <= set(seconds)
    assert sum(seconds[part] for part in ("stratify", "prepare", "order")) <= seconds["total"] * (1 + 1e-6)
    assert all(value >= 0 for value in seconds.values())
    assert told["mean_squared_error"] == pytest.approx(told["bias"] ** 2 + told["variance"], rel=1e-9)
    if objective == "scalar":
        found = assess(plan, Z.source, Z.target, LOSSES[loss])
        assert told["d0"] == pytest.approx(found.d0, rel=1e-9)
        assert told["mean"] == pytest.approx(found.mean, rel=1e-9)
        assert told["variance"] == pytest.approx(found.variance, rel=1e-6, abs=1e-18)
        assert min(told["objectives"]) == pytest.approx(found.mean_squared_error, rel=1e-6, abs=1e-18)
    if told["lower_bound"] is not None:
        assert told["lower_bound"] <= min(told["objectives"]) * (1 + 1e-9)
    assert (told["lower_bound"] is None) == (objective == "scalar" and loss not in ("linear", "rbf"))


def test_the_start_that_is_told_is_the_pool_as_drawn() -> None:
    """The first objective: what an ordering that does nothing would be assessed at."""

    class AsDrawn(orda.Greedy):
        name = "as drawn"

        def passes(self, *args: object):  # type: ignore[no-untyped-def, override]
            return iter(())

    for loss in (LOSSES["rbf"], LOSSES["coral"]):
        untouched = planned(Ordered(loss, optimiser=AsDrawn()))
        start = assess(untouched, Z.source, Z.target, loss).mean_squared_error
        assert untouched.diagnostics["ordering"]["objectives"] == pytest.approx([start], rel=1e-8)
        assert planned(Ordered(loss)).diagnostics["ordering"]["objectives"][0] == pytest.approx(start, rel=1e-8)


def test_an_optimiser_with_settings_of_its_own() -> None:
    sampler = Ordered(LOSSES["rbf"], optimiser=orda.Assignment(max_passes=7, tolerance=0.0))
    assert sampler.settings()["optimiser"] == {
        "name": "assignment",
        "max_passes": 7,
        "time_budget": None,
        "tolerance": 0.0,
    }
    assert planned(sampler).diagnostics["ordering"]["passes"] > 3


def test_ordering_beats_independent_draws_and_greedy_is_beaten() -> None:
    """Mean squared error of D̂, on average over seeds: the point of it all."""
    errors = {
        sampler.settings().get("optimiser", {}).get("name", sampler.name): np.mean([
            assess(planned_by(sampler, seed), Z.source, Z.target, loss).mean_squared_error for seed in range(4)
        ])
        for loss in (LOSSES["linear"],)
        for sampler in (orda.Uniform(), orda.Stratified(loss), Ordered(loss, optimiser="greedy"), Ordered(loss))
    }  # fmt: skip
    assert errors["assignment"] < 0.5 * errors["greedy"]
    assert errors["greedy"] < 0.5 * errors["stratified"]
    assert errors["stratified"] < 0.5 * errors["uniform"]


def planned_by(sampler: orda.Sampler, seed: int) -> Plan:
    return sampler.plan(Z, 6, 10, np.random.default_rng(seed))


@pytest.mark.parametrize("optimiser", ["assignment", "greedy"])
def test_coral_past_the_budget_gives_the_same_plan(optimiser: str) -> None:
    """A pool of 240 examples, whose Gram matrix is larger than that of all 160: both plans have the same strata."""
    budget = gram_bytes(Z.source)
    exact, without = (
        planned(Ordered(LOSSES["coral"], optimiser=optimiser, memory_budget=b), horizon=20) for b in (2**30, budget)
    )
    assert exact.diagnostics["ordering"]["problem"] == "CovarianceProblem"
    assert without.diagnostics["ordering"]["problem"] == "MomentProblem"
    assert without.diagnostics["approximation"] is None
    assert torch.equal(exact.source.index, without.source.index)
    assert torch.equal(exact.target.index, without.target.index)
    told = [plan.diagnostics["ordering"]["objectives"] for plan in (exact, without)]
    assert told[1] == pytest.approx(told[0], rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_coral_past_the_budget_does_not_depend_on_the_threads(dtype: torch.dtype) -> None:
    features = Features(Z.source.to(dtype), Z.target.to(dtype))
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(Ordered(LOSSES["coral"], memory_budget=0).plan(features, 6, 10, np.random.default_rng(0)))
    for other in found[1:]:
        assert torch.equal(other.source.index, found[0].source.index)
        assert torch.equal(other.target.index, found[0].target.index)
        assert other.diagnostics["ordering"] == found[0].diagnostics["ordering"]
    assert found[0].diagnostics["ordering"]["problem"] == "MomentProblem"
