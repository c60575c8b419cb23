from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import orda
from orda.errors import FeatureError, SettingError, StratumWarning, UnknownName

SAMPLERS = ["uniform", "kmeans++", "dpp", "anticlustering", "stratified", "ordered"]


def features(n: int = 120, m: int = 90, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(m, d)) + 0.5


def same(one: orda.Plan, two: orda.Plan) -> bool:
    return all(
        torch.equal(getattr(a, part), getattr(b, part))
        for a, b in ((one.source, two.source), (one.target, two.target))
        for part in ("index", "weight", "stratum")
    )


def test_a_plan_is_what_the_design_promises() -> None:
    zs, zt = features(4000, 3500, 16)
    plan = orda.plan(zs, zt, sampler=orda.Ordered(orda.MMD("linear")), batch_size=32, horizon=100, seed=0)
    for part, n in ((plan.source, 4000), (plan.target, 3500)):
        assert part.index.shape == part.weight.shape == part.stratum.shape == (100, 32)
        assert (part.index.dtype, part.weight.dtype) == (torch.int64, torch.float32)
        assert int(part.index.min()) >= 0
        assert int(part.index.max()) < n
        torch.testing.assert_close(part.weight.sum(1), torch.ones(100))
        assert part.strata is not None
        assert torch.equal(torch.from_numpy(part.strata.labels)[part.index], part.stratum)
    assert len(plan) == plan.horizon == 100
    assert plan.batch_size == 32
    json.dumps(plan.diagnostics)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_numpy_torch_and_half_precision_come_in(sampler: str) -> None:
    zs, zt = features()
    reference = orda.plan(zs, zt, sampler=sampler, batch_size=5, horizon=8)
    assert same(reference, orda.plan(torch.from_numpy(zs), zt, sampler=sampler, batch_size=5, horizon=8))
    half_s, half_t = zs.astype(np.float16), zt.astype(np.float16)
    in_half = orda.plan(half_s, half_t, sampler=sampler, batch_size=5, horizon=8)
    in_single = orda.plan(
        half_s.astype(np.float32), half_t.astype(np.float32), sampler=sampler, batch_size=5, horizon=8
    )
    assert same(in_half, in_single)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_seed_decides_and_threads_do_not(sampler: str) -> None:
    zs, zt = features(700, 500, 24)
    torch.set_num_threads(2)
    one = orda.plan(zs, zt, sampler=sampler, batch_size=8, horizon=20, seed=3)
    torch.set_num_threads(1)
    two = orda.plan(zs, zt, sampler=sampler, batch_size=8, horizon=20, seed=3)
    assert same(one, two)
    assert not same(one, orda.plan(zs, zt, sampler=sampler, batch_size=8, horizon=20, seed=4))


def test_a_generator_moves_on() -> None:
    zs, zt = features()
    rng = np.random.default_rng(0)
    one, two = (orda.plan(zs, zt, batch_size=4, horizon=5, seed=rng) for _ in range(2))
    assert not same(one, two)


def test_planning_leaves_global_randomness_alone() -> None:
    zs, zt = features()
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)
    before = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    for sampler in SAMPLERS:
        orda.plan(zs, zt, sampler=sampler, batch_size=4, horizon=5)
    assert np.array_equal(before[0], np.random.get_state()[1])  # noqa: NPY002
    assert torch.equal(before[1], torch.get_rng_state())


@pytest.mark.parametrize(
    "discrepancy", [orda.MMD("linear"), orda.MMD(gammas="median"), orda.CORAL(), orda.CORAL("mean")]
)
@pytest.mark.parametrize("optimiser", ["greedy", "assignment", "exchange"])
def test_diagnostics_agree_with_an_assessment(discrepancy: orda.Discrepancy, optimiser: str) -> None:
    zs, zt = features()
    plan = orda.plan(zs, zt, sampler=orda.Ordered(discrepancy, optimiser=optimiser), batch_size=5, horizon=12)
    told, found = plan.diagnostics["ordering"], orda.assess(plan, zs, zt, discrepancy)
    assert found.d0 == pytest.approx(told["d0"], rel=1e-9)
    assert found.mean_squared_error == pytest.approx(told["mean_squared_error"], rel=1e-8)
    assert found.variance == pytest.approx(told["variance"], rel=1e-7)
    assert found.mean_squared_error == pytest.approx(found.bias**2 + found.variance, rel=1e-9)
    assert told["objectives"][-1] <= told["objectives"][0]
    if told["lower_bound"] is not None:
        assert told["lower_bound"] <= told["mean_squared_error"] * (1 + 1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_the_reference_is_the_estimate_of_one_minibatch_that_holds_everything(seed: int) -> None:
    zs, zt = features(13, 9, 3, seed)
    for discrepancy in (orda.MMD("linear"), orda.MMD(), orda.CORAL()):
        all_s, all_t = torch.from_numpy(zs), torch.from_numpy(zt)
        plan = orda.plan(zs, zt, sampler="uniform", batch_size=2, horizon=1, seed=seed)
        d0 = orda.assess(plan, zs, zt, discrepancy).d0
        assert float(discrepancy(all_s, all_t)) == pytest.approx(d0, rel=1e-9, abs=1e-12)


def test_planning_again_starts_from_the_last_strata() -> None:
    zs, zt = features(600, 500, 8)
    sampler = orda.Ordered(orda.MMD(gammas="median"))
    first = orda.plan(zs, zt, sampler=sampler, batch_size=6, horizon=10)
    again = orda.plan(zs, zt, sampler=sampler, batch_size=6, horizon=10, seed=1, previous=first)
    cold = orda.plan(zs, zt, sampler=sampler, batch_size=6, horizon=10, seed=1)
    for domain in ("source", "target"):
        before, after = (p.diagnostics["strata"][domain]["objective"] for p in (first, again))
        assert after <= before * (1 + 1e-9)
    assert not same(again, cold)
    other_k = orda.plan(
        zs, zt, sampler=sampler, batch_size=7, horizon=10, previous=first
    )  # does not fit: starts afresh
    assert other_k.batch_size == 7


@pytest.mark.parametrize("n", [(60, 55), (300, 55), (60, 300)])
def test_small_strata_are_said_once_and_in_the_diagnostics(n: tuple[int, int]) -> None:
    """Once for both domains, and not again when the next plan starts from this one."""
    zs, zt = features(*n, 2)
    sampler = orda.Ordered(orda.MMD("linear"))
    with pytest.warns(StratumWarning) as caught:
        plan = orda.plan(zs, zt, sampler=sampler, batch_size=8, horizon=20)
    (warning,) = caught
    lowered = [min(20, size // 8) for size in n]
    for part in ("batch_size=8, min_size=20", f"n={n[0]} in the source, {n[1]} in the target", "{} and {}", "smaller"):
        assert part.format(*lowered) in str(warning.message)
    orda.plan(zs, zt, sampler=sampler, batch_size=8, horizon=20, seed=1, previous=plan)  # warnings are errors here
    for domain, size in zip(("source", "target"), lowered, strict=True):
        assert plan.diagnostics["strata"][domain]["min_size"] == size
        assert plan.diagnostics["strata"][domain]["smallest"] >= size


def test_kernels_that_see_nothing_are_named_once() -> None:
    zs, zt = (100 * z for z in features(80, 80, 30))
    with pytest.warns(orda.OrdaWarning, match=re.escape('RBFMixture(gammas="median")')):
        plan = orda.plan(zs, zt, sampler=orda.Ordered(orda.MMD(), min_size=1), batch_size=4, horizon=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        orda.plan(zs, zt, sampler=orda.Ordered(orda.MMD(), min_size=1), batch_size=4, horizon=5, previous=plan)
        orda.plan(zs, zt, sampler=orda.Ordered(orda.MMD(gammas="median"), min_size=1), batch_size=4, horizon=5)


WRONG = [
    (lambda z: orda.plan(z, z, sampler="orderd"), UnknownName, "Did you mean 'ordered'"),
    (lambda z: orda.plan(z, z, sampler=3), SettingError, "sampler must be a Sampler or its name; got int"),
    (lambda z: orda.plan(z, z, seed="x"), SettingError, "seed must be an int or"),
    (lambda z: orda.plan(z, z, batch_size=1000), SettingError, "batch_size must not exceed"),
    (lambda z: orda.plan(z, z[:, :2]), FeatureError, "same d, got 4 and 2"),
    (lambda z: orda.Ordered(orda.MMD(), optimiser="greddy"), UnknownName, "Did you mean 'greedy'"),
    (lambda z: orda.Ordered(orda.MMD(), optimiser=3), SettingError, "optimiser must be a name or an Optimiser"),
    (lambda z: orda.Ordered(orda.MMD(), objective="skalar"), UnknownName, "Did you mean 'scalar'"),
    (lambda z: orda.Ordered("mmd"), SettingError, "discrepancy must be an orda.MMD or an orda.CORAL; got str"),
    (lambda z: orda.Ordered(orda.MMD(), min_size=0), SettingError, "min_size must be an integer of at least 1"),
    (lambda z: orda.MMD("lineer"), UnknownName, "Did you mean 'linear'"),
    (lambda z: orda.CORAL(scale="men"), UnknownName, "Did you mean 'mean'"),
    (lambda z: orda.MMD(gammas=(0.1, -1)), SettingError, "gammas must be one or more positive numbers"),
    (lambda z: orda.MMD("linear", gammas=(0.1,)), SettingError, "gammas goes with kernel"),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_bad_input_gets_one_clear_error(call: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        call(features(40, 40)[0])  # type: ignore[operator]


def test_an_assessment_needs_the_same_examples() -> None:
    zs, zt = features()
    plan = orda.plan(zs, zt, sampler="uniform", batch_size=8, horizon=50)
    with pytest.raises(FeatureError, match="the plan speaks of source example"):
        orda.assess(plan, zs[:50], zt, orda.CORAL())
