"""What every sampler promises: one table, one battery.

A new sampler joins by a line in ``SAMPLERS``.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from orda.discrepancies import CORAL, MMD
from orda.errors import OrdaWarning
from orda.records import DomainPlan, Features, Plan
from orda.samplers import DPP, Anticlustering, KMeansPlusPlus, Ordered, Sampler, Stratified, Uniform

SAMPLERS: dict[str, Sampler] = {
    "uniform": Uniform(),
    "uniform, epochs": Uniform(replacement=False),
    "kmeans++": KMeansPlusPlus(),
    "dpp": DPP(),
    "dpp, rbf": DPP("rbf-mixture"),
    "dpp, candidates": DPP("rbf-mixture", candidates=20),
    "anticlustering": Anticlustering(),
    "anticlustering, mmd": Anticlustering(MMD()),
    "anticlustering, coral": Anticlustering(CORAL()),
    "stratified, mmd": Stratified(MMD()),
    "stratified, coral": Stratified(CORAL()),
    "ordered, mmd": Ordered(MMD()),
    "ordered, linear mmd": Ordered(MMD("linear")),
    "ordered, coral": Ordered(CORAL()),
    "ordered, greedy": Ordered(MMD(), optimiser="greedy"),
    "ordered, embedding": Ordered(MMD(), objective="embedding"),
}
UNBIASED = [name for name, sampler in SAMPLERS.items() if sampler.unbiased]
BIASED = [name for name, sampler in SAMPLERS.items() if not sampler.unbiased]
FALSE_ALARM = 1e-6  # of one Monte Carlo test

every_sampler = pytest.mark.parametrize("name", SAMPLERS)


def normal(n: int, d: int, seed: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, d))).to(dtype)


def plan(name: str, features: Features, k: int, horizon: int, seed: int = 0, previous: Plan | None = None) -> Plan:
    """A plan; orda's own warnings (a stratum size lowered, a blind kernel) are allowed, as inputs are awkward."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrdaWarning)
        return SAMPLERS[name].plan(features, k, horizon, np.random.default_rng(seed), previous)


def check_domain(domain: DomainPlan, n: int, k: int, horizon: int) -> None:
    for part, dtype in ((domain.index, torch.int64), (domain.weight, torch.float32), (domain.stratum, torch.int64)):
        assert part.shape == (horizon, k)
        assert part.dtype == dtype
        assert part.is_contiguous()
        assert part.device.type == "cpu"
    assert domain.index.min() >= 0
    assert domain.index.max() < n
    assert (domain.weight > 0).all()
    assert (domain.weight.double().sum(1) - 1).abs().max() < 1e-6
    assert domain.stratum.min() >= 0
    assert domain.stratum.max() < k


def same(a: Plan, b: Plan) -> bool:
    return all(
        torch.equal(getattr(x, part), getattr(y, part))
        for x, y in ((a.source, b.source), (a.target, b.target))
        for part in ("index", "weight", "stratum")
    )


@every_sampler
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shapes_types_and_ranges(name: str, dtype: torch.dtype) -> None:
    features = Features(normal(60, 3, 0, dtype), normal(45, 3, 1, dtype))
    made = plan(name, features, k=6, horizon=5)
    check_domain(made.source, 60, 6, 5)
    check_domain(made.target, 45, 6, 5)
    assert (len(made), made.batch_size) == (5, 6)


@every_sampler
def test_same_seed_same_plan_and_other_seed_other_plan(name: str) -> None:
    features = Features(normal(60, 3, 0), normal(45, 3, 1))
    first = plan(name, features, 4, 8, seed=0)
    assert same(first, plan(name, features, 4, 8, seed=0))
    assert not same(first, plan(name, features, 4, 8, seed=1))


@every_sampler
def test_one_generator_gives_one_plan_after_another(name: str) -> None:
    """Plans of one generator differ, and its state alone decides them: a checkpoint of it repeats them."""
    features, rng = Features(normal(60, 3, 0), normal(45, 3, 1)), np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrdaWarning)
        first = SAMPLERS[name].plan(features, 4, 8, rng)
        state = rng.bit_generator.state
        second = SAMPLERS[name].plan(features, 4, 8, rng)
        again = np.random.default_rng()
        again.bit_generator.state = state
        third = SAMPLERS[name].plan(features, 4, 8, again)
    assert not same(first, second)
    assert same(second, third)


@every_sampler
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_threads_do_not_matter(name: str, dtype: torch.dtype) -> None:
    features = Features(normal(501, 17, 0, dtype), normal(403, 17, 1, dtype))
    plans = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        plans.append(plan(name, features, 7, 10))
    assert same(*plans)
    assert torch.get_num_threads() == 2


@every_sampler
def test_the_features_are_left_alone(name: str) -> None:
    features = Features(normal(30, 3, 0, torch.float64), normal(25, 3, 1, torch.float64))
    before = features.source.clone(), features.target.clone()
    plan(name, features, 3, 4)
    assert torch.equal(features.source, before[0])
    assert torch.equal(features.target, before[1])


@every_sampler
def test_a_plan_may_follow_another(name: str) -> None:
    """Over the same examples, and over features that have drifted since."""
    first = plan(name, Features(normal(60, 3, 0), normal(45, 3, 1)), 4, 6)
    drifted = Features(normal(60, 3, 0) * 1.1, normal(45, 3, 1) + 0.1)
    second = plan(name, drifted, 4, 6, seed=1, previous=first)
    check_domain(second.source, 60, 4, 6)
    check_domain(second.target, 45, 4, 6)


@every_sampler
def test_settings_and_diagnostics_are_plain(name: str) -> None:
    sampler = SAMPLERS[name]
    settings = sampler.settings()
    json.dumps(settings, allow_nan=False)
    assert settings["name"] == sampler.name
    diagnostics = plan(name, Features(normal(30, 3, 0), normal(25, 3, 1)), 3, 4).diagnostics
    json.dumps(dict(diagnostics), allow_nan=False)
    assert diagnostics["sampler"] == sampler.name
    assert diagnostics["unbiased"] is sampler.unbiased
    seconds = diagnostics["seconds"]
    assert (seconds["total"] if isinstance(seconds, dict) else seconds) > 0


def awkward() -> dict[str, tuple[torch.Tensor, torch.Tensor, int, int]]:
    """Source, target, k, M of inputs that must simply work."""
    two = normal(2, 3, 5)
    constant = torch.cat([normal(30, 2, 0), torch.full((30, 1), 0.1)], 1)
    return {
        "all points identical": (torch.full((30, 3), 0.1), torch.full((24, 3), 0.7), 4, 5),
        "all points zero": (torch.zeros(30, 3), torch.zeros(24, 3), 4, 5),
        "many duplicates": (two[torch.arange(30) % 2], two[(torch.arange(24) > 2).long()], 4, 5),
        "duplicates of an outlier": (torch.cat([normal(20, 3, 0), torch.full((10, 3), 1e4)]), normal(24, 3, 1), 4, 5),
        "a constant feature": (constant, constant[:24] + 1, 4, 5),
        "n exactly k·M": (normal(20, 3, 0), normal(20, 3, 1), 4, 5),
        "n below k·M": (normal(19, 3, 0), normal(9, 3, 1), 4, 5),
        "M = 1": (normal(20, 3, 0), normal(15, 3, 1), 4, 1),
        "k = 1": (normal(20, 3, 0), normal(15, 3, 1), 1, 5),
        "k = 1, M = 1": (normal(20, 3, 0), normal(15, 3, 1), 1, 1),
        "k = n": (normal(6, 3, 0), normal(6, 3, 1), 6, 5),
        "n = 1": (normal(1, 3, 0), normal(1, 3, 1), 1, 3),
        "n_s far from n_t": (normal(300, 3, 0), normal(7, 3, 1), 5, 4),
        "d = 1": (normal(30, 1, 0), normal(24, 1, 1), 4, 5),
        "d > n": (normal(12, 40, 0), normal(10, 40, 1), 4, 5),
        "large mean": (normal(30, 3, 0) + 1e4, normal(24, 3, 1) + 1e4, 4, 5),
        "tiny": (normal(30, 3, 0) * 1e-12, normal(24, 3, 1) * 1e-12, 4, 5),
    }


@every_sampler
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("case", awkward())
def test_awkward_inputs_simply_work(name: str, case: str, dtype: torch.dtype) -> None:
    source, target, k, horizon = awkward()[case]
    made = plan(name, Features(source.to(dtype), target.to(dtype)), k, horizon)
    check_domain(made.source, len(source), k, horizon)
    check_domain(made.target, len(target), k, horizon)


# --- D5: declared unbiased or not -------------------------------------------------------------------------------


def imbalanced(n: int, seed: int) -> torch.Tensor:
    """Nine tenths in one tight cluster, the rest far and wide: where a preference for far examples shows."""
    rng = np.random.default_rng(seed)
    rare = n // 10
    near, far = 0.3 * rng.normal(size=(n - rare, 3)), 2 + rng.normal(size=(rare, 3))
    return torch.from_numpy(np.concatenate([near, far])).double()


def random_map(z: torch.Tensor, size: int = 12) -> torch.Tensor:
    """φ(z): random cosines and the features themselves."""
    rng = np.random.default_rng(99)
    frequencies, phases = (
        torch.from_numpy(rng.normal(size=(z.shape[1], size))),
        torch.from_numpy(6.3 * rng.random(size)),
    )
    return torch.cat([torch.cos(z @ frequencies + phases), z], 1)


def deviation(sampler: Sampler, plans: int = 250) -> float:
    """The largest |z| over both domains' coordinates of φ: mean over the plans against the full-data mean.

    Of each plan: the average over its minibatches of Σ_h w_h φ(z_h). Plans are independent, so the z-test is valid
    whatever the dependence between minibatches.
    """
    features = Features(imbalanced(60, 0), imbalanced(50, 1))
    rng, averages = np.random.default_rng(7), []
    maps = random_map(features.source), random_map(features.target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrdaWarning)
        for _ in range(plans):
            made = sampler.plan(features, 5, 4, rng)
            domains = (made.source, made.target)
            batches = [
                (d.weight.double()[..., None] * phi[d.index]).sum(1) for d, phi in zip(domains, maps, strict=True)
            ]
            averages.append(torch.cat([batch.mean(0) for batch in batches]))
    average = torch.stack(averages)
    truth = torch.cat([phi.mean(0) for phi in maps])
    error = average.std(0) / plans**0.5 + 1e-7  # float32 weights
    return float(((average.mean(0) - truth) / error).abs().max())


def critical(coordinates: int = 30) -> float:
    """|z| that the largest of the coordinates exceeds with a probability of at most FALSE_ALARM (Bonferroni)."""
    return float(stats.t.isf(FALSE_ALARM / (2 * coordinates), df=249))


@pytest.mark.parametrize("name", UNBIASED)
def test_declared_unbiased_and_is(name: str) -> None:
    assert deviation(SAMPLERS[name]) < critical()


@pytest.mark.parametrize("name", BIASED)
def test_declared_biased_and_is(name: str) -> None:
    """The same test on the same data fails for these: so it can fail."""
    assert deviation(SAMPLERS[name]) > critical()


class EqualWeights(Sampler):
    """Stratified minibatches without the strata's weights."""

    name = "wrong"
    unbiased = True

    def plan(
        self,
        features: Features,
        batch_size: int,
        horizon: int,
        rng: np.random.Generator,
        previous: Plan | None = None,
    ) -> Plan:
        right = Stratified(MMD()).plan(features, batch_size, horizon, rng, previous)
        equal = torch.full_like(right.source.weight, 1 / batch_size)
        return replace(right, source=replace(right.source, weight=equal), target=replace(right.target, weight=equal))


def test_wrong_weights_are_found_out() -> None:
    assert deviation(EqualWeights()) > critical()


@pytest.mark.gpu
@every_sampler
def test_features_on_a_gpu(name: str) -> None:
    """The plan is on the CPU, and the same every time."""
    features = Features(normal(60, 3, 0).cuda(), normal(45, 3, 1).cuda())
    made = plan(name, features, 6, 5)
    check_domain(made.source, 60, 6, 5)
    check_domain(made.target, 45, 6, 5)
    assert same(made, plan(name, features, 6, 5))
