from __future__ import annotations

import json

import pytest
import torch

import orda
from orda.samplers import SAMPLERS
from orda.training.plans import KEYS, plan_record, plan_seconds, summarise_plans


def planned(sampler: str, seed: int = 0) -> orda.Plan:
    generator = torch.Generator().manual_seed(seed)
    source, target = torch.randn(60, 3, generator=generator), torch.randn(50, 3, generator=generator) + 1
    return orda.plan(source, target, sampler=sampler, batch_size=4, horizon=5, seed=seed)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_record_is_json_and_says_what_is_known(sampler: str) -> None:
    plan = planned(sampler)
    record = plan_record(plan, 3, 15, {"plan": 0.25, "extract": 0.0}, None)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert (record["number"], record["step"], record["seconds"]) == (3, 15, {"plan": 0.25})
    assert record["diagnostics"]["sampler"] == sampler
    assert (record["assessment"] is not None) == (sampler == "ordered")  # who orders knows where D̂ lies around D0


def test_an_assessment_that_was_made_counts() -> None:
    generator = torch.Generator().manual_seed(0)
    source, target = torch.randn(60, 3, generator=generator), torch.randn(50, 3, generator=generator)
    plan = orda.plan(source, target, sampler="uniform", batch_size=4, horizon=5, seed=0)
    found = orda.assess(plan, source, target, orda.MMD("linear"))
    record = plan_record(plan, 0, 0, {}, found)
    assert record["assessment"] == {key: getattr(found, key) for key in KEYS}


@pytest.mark.parametrize(
    ("sampler", "parts"), [("uniform", set()), ("stratified", {"stratify"}), ("ordered", {"stratify", "order"})]
)
def test_seconds_are_told_apart_as_far_as_the_sampler_does(sampler: str, parts: set[str]) -> None:
    plan = planned(sampler)
    seconds = plan_seconds(plan)
    assert set(seconds) == parts
    assert all(spent > 0 for spent in seconds.values())


def test_the_summary_is_of_means_over_the_plans() -> None:
    plans = [planned("ordered", seed) for seed in range(3)]
    summary = summarise_plans([plan_record(plan, i, 5 * i, {}, None) for i, plan in enumerate(plans)])
    orderings = [plan.diagnostics["ordering"] for plan in plans]
    assert summary["count"] == 3
    for key in KEYS:
        assert summary[key] == pytest.approx(sum(o[key] for o in orderings) / 3)
    assert summary["objective_before"] == pytest.approx(sum(o["objectives"][0] for o in orderings) / 3)
    assert summary["objective_after"] == pytest.approx(sum(o["objectives"][-1] for o in orderings) / 3)
    assert summary["objective_after"] < summary["objective_before"]
    smallest = [plan.source.strata.sizes.min() for plan in plans if plan.source.strata is not None]
    assert summary["smallest_stratum_source"] == pytest.approx(sum(smallest) / 3)


def test_what_no_plan_has_is_left_out() -> None:
    assert summarise_plans([]) == {"count": 0}
    assert summarise_plans([plan_record(planned("uniform"), 0, 0, {}, None)]) == {"count": 1}
