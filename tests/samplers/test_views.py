"""Where samplers go from the exact kernel to a map, what that costs, and what plans say of it."""

from __future__ import annotations

import importlib
import json
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import orda
from orda.errors import SettingError, UnknownName
from orda.kernels import RBFMixture, SquaredInner, mean_kernel
from orda.records import Features, Plan
from orda.stratification import explicit, kernel_kmeans
from orda.stratification.stripes import gram_bytes
from orda.training import TrainConfig

MEDIAN = orda.MMD(gammas="median")
quality = importlib.import_module("orda.approximations.quality")


def domains(n: int = 300, d: int = 4, seed: int = 0) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(seed)
    centres = 2 * rng.standard_normal((5, d))
    made = (centres[rng.integers(0, 5, n)] + rng.standard_normal((n, d)) + shift for shift in (0.0, 0.4))
    source, target = (torch.from_numpy(z).float() for z in made)
    return source, target


def plan(sampler: orda.Sampler, n: int = 300, k: int = 6, horizon: int = 8) -> Plan:
    return orda.plan(*domains(n), sampler=sampler, batch_size=k, horizon=horizon)


@pytest.mark.parametrize("kind", [orda.Stratified, orda.Ordered])
def test_the_map_comes_in_when_the_gram_does_not_fit(kind: Any) -> None:
    needed = gram_bytes(domains()[0])
    exact, mapped = (plan(kind(MEDIAN, memory_budget=b, rank=40)) for b in (needed, needed - 1))
    assert exact.diagnostics["approximation"] is None
    assert exact.diagnostics["strata"]["source"]["method"] == "gram"
    said = mapped.diagnostics["approximation"]
    assert (said["method"], said["rank"]) == ("nystroem", 40)
    assert 0 < said["kernel_error"] < 0.2
    assert mapped.diagnostics["strata"]["target"]["method"] == "explicit"
    json.dumps(dict(mapped.diagnostics), allow_nan=False)
    never = plan(kind(MEDIAN, memory_budget=0, approximation="none"))
    assert never.diagnostics["strata"]["source"]["method"] == "blocks"
    assert never.diagnostics["approximation"] is None


@pytest.mark.parametrize("discrepancy", [MEDIAN, orda.CORAL(), orda.MMD("squared-inner")], ids=lambda d: d.name)
def test_d0_and_the_objective_are_nearly_those_of_the_exact_kernel(discrepancy: orda.Discrepancy) -> None:
    """300 points are all in the sample: D0 is exact, and the objective's error is what the plan says it is."""
    mapped = plan(orda.Ordered(discrepancy, approximation="nystroem", rank=20))
    exact = plan(orda.Ordered(discrepancy))
    d0 = exact.diagnostics["ordering"]["d0"]
    assert mapped.diagnostics["ordering"]["d0"] == pytest.approx(d0, rel=1e-3)
    features = Features(*domains())
    embedding = discrepancy.embedding(features)
    gram = embedding.kernel.gram(embedding.source, embedding.source).double().numpy()
    strata = mapped.source.strata
    assert strata is not None
    member = np.eye(strata.k)[strata.labels]
    exact_objective = float((strata.sizes * (member.T @ np.diag(gram)) - np.diag(member.T @ gram @ member)).sum())
    ratio = mapped.diagnostics["strata"]["source"]["objective"] / exact_objective - 1
    assert mapped.diagnostics["approximation"]["objective_error"]["source"] == pytest.approx(ratio, abs=2e-4)
    assert ("d0_error" in mapped.diagnostics["approximation"]) == (discrepancy.name == "mmd")


@pytest.mark.parametrize("discrepancy", [MEDIAN, orda.CORAL(), orda.MMD("linear")], ids=["mmd", "coral", "linear"])
def test_plans_of_many_points_do_not_depend_on_the_threads(
    discrepancy: orda.Discrepancy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_kmeans, "COARSE", 128)
    monkeypatch.setattr(explicit, "PIECE", 50)
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(plan(orda.Ordered(discrepancy, memory_budget=0, rank=30)))
    for other in found[1:]:
        assert torch.equal(other.source.index, found[0].source.index)
        assert torch.equal(other.target.index, found[0].target.index)
        assert other.diagnostics["ordering"]["objectives"] == found[0].diagnostics["ordering"]["objectives"]


@pytest.mark.parametrize(("discrepancy", "kind"), [(MEDIAN, RBFMixture), (orda.CORAL(), SquaredInner)])
def test_kernel_values_grow_in_proportion_to_n(
    discrepancy: orda.Discrepancy, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, original = [0], kind.gram  # type: ignore[attr-defined]

    def counted(self: Any, x: Tensor, y: Tensor) -> Tensor:
        counts[-1] += x.shape[-2] * y.shape[-2]
        found: Tensor = original(self, x, y)
        return found

    monkeypatch.setattr(kind, "gram", counted)
    monkeypatch.setattr(quality, "SAMPLE", 100)
    sizes = (1000, 2000, 4000)
    for n in sizes:
        counts.append(0)
        plan(orda.Stratified(discrepancy, memory_budget=0, rank=32), n)
    first, second, third = counts[1:]
    assert third - second == 2 * (second - first) == 2 * sizes[0] * 2 * 32  # rank values a point, of both domains
    assert third < sizes[-1] ** 2 / 4


def test_no_map_serves_where_phi_is_known() -> None:
    for name in ("auto", "nystroem", "fourier"):
        made = plan(orda.Ordered(orda.MMD("linear"), approximation=name, memory_budget=0))
        assert made.diagnostics["approximation"] is None
        assert made.diagnostics["ordering"]["problem"] == "ExplicitProblem"
    exact = plan(orda.Ordered(orda.MMD("linear")))
    assert exact.diagnostics["ordering"]["problem"] == "QuadraticProblem"
    assert exact.diagnostics["ordering"]["d0"] == made.diagnostics["ordering"]["d0"]


def test_the_pools_gram_gives_way_by_itself() -> None:
    """Few examples and a large pool: strata by the exact kernel, the order by a map."""
    features = domains()
    budget = gram_bytes(features[0])
    made = plan(orda.Ordered(MEDIAN, memory_budget=budget, rank=64), horizon=40)
    assert made.diagnostics["strata"]["source"]["method"] == "gram"
    assert made.diagnostics["ordering"]["problem"] == "ExplicitProblem"
    exact = plan(orda.Ordered(MEDIAN), horizon=40)
    assert exact.diagnostics["ordering"]["problem"] == "QuadraticProblem"
    checked = [orda.assess(p, *features, MEDIAN) for p in (made, exact, plan(orda.Stratified(MEDIAN), horizon=40))]
    variances = [a.variance for a in checked]
    assert variances[1] < variances[0] < 0.5 * variances[2]  # by the exact kernel; what the map misses stays
    plain = plan(orda.Ordered(MEDIAN, memory_budget=budget, approximation="none"), horizon=40)
    assert plain.diagnostics["ordering"]["problem"] == "QuadraticProblem"


def test_d0_past_the_budget_is_near_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "SAMPLE", 300)
    features = Features(*domains(1500))
    resolved = MEDIAN.resolved(features)
    kernel = resolved.embedding(features).kernel
    ss, tt = (mean_kernel(kernel, z, z) for z in (features.source, features.target))
    exact = ss + tt - 2 * mean_kernel(kernel, features.source, features.target)
    made = plan(orda.Ordered(MEDIAN, approximation="nystroem", rank=16), 1500)
    error = made.diagnostics["approximation"]["d0_error"]
    assert abs(made.diagnostics["ordering"]["d0"] - exact) < 4 * error
    assert error < 0.1 * exact


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UnknownName, match="approximation"):
        orda.Ordered(MEDIAN, approximation="nystrom")
    with pytest.raises(SettingError, match="rank must be an integer of at least 1"):
        orda.Stratified(MEDIAN, rank=0)
    with pytest.raises(SettingError, match="memory_budget"):
        orda.Stratified(MEDIAN, memory_budget=-1)
    with pytest.raises(SettingError, match=r'RBF mixture.*Use "nystroem"'):
        plan(orda.Ordered(orda.CORAL(), approximation="fourier"))
    assert plan(orda.Stratified(MEDIAN, approximation="fourier", rank=50)).diagnostics["approximation"]["rank"] == 50
    assert plan(orda.Stratified(orda.CORAL(), approximation="sketch", rank=50)).diagnostics["approximation"]


def test_the_choice_is_recorded_and_a_configuration_takes_it() -> None:
    sampler = orda.Ordered(MEDIAN, approximation="nystroem", rank=100, memory_budget=10**9)
    chosen = {"approximation": "nystroem", "rank": 100, "memory_budget": 10**9}
    assert chosen.items() <= sampler.settings().items()
    config = TrainConfig().updated({"sampler": {"name": "ordered", "settings": chosen}}).resolved()
    assert chosen.items() <= dict(config.sampler.settings).items()
    assert config.digest() != TrainConfig().resolved().digest()
