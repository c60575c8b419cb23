"""What an unbiased estimate promises: D0 and its gradient on average, under every sampler whose draws are independent.

``tests/discrepancies/test_unbiased.py`` enumerates all minibatches of small designs; here are the samplers themselves,
by Monte Carlo. A new sampler with ``independent = True``, or a new discrepancy, joins by a line in the tables.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from orda.discrepancies import CORAL, MMD, Discrepancy
from orda.errors import OrdaWarning, SettingError
from orda.records import DomainPlan, Features
from orda.samplers import SAMPLERS as KINDS
from orda.samplers import Ordered, Sampler, Stratified, Uniform

DISCREPANCIES: dict[str, Discrepancy] = {
    "linear": MMD("linear", estimator="unbiased"),
    "rbf": MMD(gammas=(0.05, 0.5), estimator="unbiased"),
    "coral": CORAL("mean", estimator="unbiased"),
}
SAMPLERS = {
    "uniform": lambda discrepancy: Uniform(),
    "uniform, epochs": lambda discrepancy: Uniform(replacement=False),
    "stratified": Stratified,
}
PLANS, K, M = 200, 6, 3
DIRECTIONS = 8  # of features, along which gradients are looked at
FALSE_ALARM = 1e-6  # of one Monte Carlo test

every = pytest.mark.parametrize("name", DISCREPANCIES)
of_every_sampler = pytest.mark.parametrize("sampler", SAMPLERS)


def two_domains() -> tuple[Tensor, Tensor]:
    """Small enough for noise to matter: a tight cluster and a wide one, in other shares, moved."""
    rng = np.random.default_rng(3)

    def domain(tight: int, wide: int, shift: float) -> Tensor:
        z = np.concatenate([0.4 * rng.normal(size=(tight, 3)), 2 + rng.normal(size=(wide, 3))]) + shift
        return torch.from_numpy(z)

    return domain(40, 12, 0.0), domain(22, 20, 0.4)


def look(value: Tensor, points: tuple[Tensor, Tensor]) -> Tensor:
    """The value, and its derivatives in fixed random directions of all features (1 + DIRECTIONS,)."""
    gradients = torch.autograd.grad(value, points)
    rng = np.random.default_rng(11)
    along = [
        sum((g * torch.from_numpy(rng.normal(size=tuple(g.shape)))).sum() for g in gradients) for _ in range(DIRECTIONS)
    ]
    return torch.stack([value.detach(), *along])


def exact(discrepancy: Discrepancy, points: tuple[Tensor, Tensor]) -> Tensor:
    """D0 and its derivatives: the plug-in of all the data."""
    plug_in = CORAL(discrepancy.scale) if isinstance(discrepancy, CORAL) else MMD(discrepancy.kernel)  # type: ignore[attr-defined]
    return look(plug_in(*points), points)


def deviation(sampler: Sampler, discrepancy: Discrepancy) -> float:
    """The largest |z| of the value and the derivatives, the mean over plans against those of D0."""
    points = tuple(z.requires_grad_() for z in two_domains())
    features = Features(*(z.detach() for z in points))
    resolved, rng, seen = discrepancy.resolved(features), np.random.default_rng(5), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrdaWarning)
        for _ in range(PLANS):
            plan = sampler.plan(features, K, M, rng)
            value = resolved(points[0][plan.source.index], points[1][plan.target.index], plan.source, plan.target)
            seen.append(look(value.mean(), points))
    found = torch.stack(seen)
    error = found.std(0) / PLANS**0.5
    return float(((found.mean(0) - exact(discrepancy, points)) / error).abs().max())


LIMIT = float(stats.t.isf(FALSE_ALARM / (2 * (1 + DIRECTIONS)), df=PLANS - 1))


def test_the_table_holds_every_sampler_with_independent_draws() -> None:
    kinds = {type(make(DISCREPANCIES["rbf"])) for make in SAMPLERS.values()}
    assert kinds == {kind for kind in KINDS.values() if kind.independent}


@every
@of_every_sampler
def test_value_and_gradient_are_those_of_all_data_on_average(name: str, sampler: str) -> None:
    discrepancy = DISCREPANCIES[name]
    assert deviation(SAMPLERS[sampler](discrepancy), discrepancy) < LIMIT


@every
@of_every_sampler
def test_the_plug_in_is_found_out(name: str, sampler: str) -> None:
    """The same test, which the paper's estimate fails: so it can fail."""
    unbiased = DISCREPANCIES[name]
    plug_in = CORAL("mean") if isinstance(unbiased, CORAL) else MMD(unbiased.kernel)  # type: ignore[attr-defined]
    assert deviation(SAMPLERS[sampler](plug_in), plug_in) > LIMIT


@every
def test_ordering_brings_the_estimate_to_d0_and_its_weights_stay_unbiased(name: str) -> None:
    """Ordered examples are not independent, and no claim is made; a plan's estimates end nearer to D0."""
    features, discrepancy = Features(*two_domains()), DISCREPANCIES[name]
    assert not Ordered.independent
    ends = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrdaWarning)
        for _ in range(5):
            plan = Ordered(discrepancy).plan(features, K, 8, np.random.default_rng(len(ends)))
            objectives = plan.diagnostics["ordering"]["objectives"]
            ends.append(min(objectives) / objectives[0])
            assert plan.source.weight.sum(1) == pytest.approx(1)
    assert max(ends) < 0.2


# ── awkward data ──


def awkward() -> dict[str, tuple[Tensor, Tensor]]:
    zs, zt = two_domains()
    return {
        "all points identical": (torch.ones(20, 3).double(), torch.ones(18, 3).double()),
        "many duplicates": (zs[:4].repeat(6, 1), zt[:3].repeat(6, 1)),
        "a constant feature": (zs.clone().index_fill_(1, torch.tensor([1]), 2.0), zt),
        "one feature": (zs[:, :1], zt[:, :1]),
        "huge": (1e4 * zs, 1e4 * zt),
        "tiny": (1e-4 * zs, 1e-4 * zt),
    }


@every
@of_every_sampler
@pytest.mark.parametrize("case", awkward())
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_never_nan(name: str, sampler: str, case: str, dtype: torch.dtype) -> None:
    points = tuple(z.to(dtype).requires_grad_() for z in awkward()[case])
    features, discrepancy = Features(*(z.detach() for z in points)), DISCREPANCIES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrdaWarning)
        plan = SAMPLERS[sampler](discrepancy).plan(features, K, M, np.random.default_rng(0))
    loss = discrepancy.resolved(features)
    value = loss(points[0][plan.source.index], points[1][plan.target.index], plan.source, plan.target)
    assert value.isfinite().all()
    assert all(g.isfinite().all() for g in torch.autograd.grad(value.sum(), points))


@every
@of_every_sampler
def test_between_equal_domains_it_is_negative_as_often_as_positive(name: str, sampler: str) -> None:
    """Nothing is clamped: an estimate without bias must be able to fall below zero where D0 is zero."""
    (z, _), discrepancy = two_domains(), DISCREPANCIES[name]
    features = Features(z, z)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrdaWarning)
        plan = SAMPLERS[sampler](discrepancy).plan(features, K, 400, np.random.default_rng(2))
    values = discrepancy.resolved(features)(z[plan.source.index], z[plan.target.index], plan.source, plan.target)
    assert 0.2 < float((values < 0).double().mean()) < 0.9


# ── arguments ──


@every
@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if "draws" in kind.__init__.__code__.co_varnames])
def test_one_draw_from_a_stratum_is_refused_before_anything_is_planned(name: str, kind: type[Sampler]) -> None:
    with pytest.raises(SettingError, match=r"two draws from every stratum; got draws=1 .*Leave draws out"):
        kind(DISCREPANCIES[name], draws=1)  # type: ignore[call-arg]


@every
def test_weights_alone_are_refused(name: str) -> None:
    zs, zt = two_domains()
    with pytest.raises(SettingError, match=r"share a stratum; got weights alone\. Pass batch\.source"):
        DISCREPANCIES[name](zs[:4], zt[:4], torch.full((4,), 0.25), None)


@every
def test_a_plan_of_single_draws_is_refused(name: str) -> None:
    zs, zt = two_domains()
    plan = Stratified(MMD("linear")).plan(Features(zs, zt), K, 1, np.random.default_rng(0))
    halves: tuple[DomainPlan, DomainPlan] = (plan.source, plan.target)
    with pytest.raises(SettingError, match="two draws or more from every source stratum"):
        DISCREPANCIES[name](zs[plan.source.index], zt[plan.target.index], *halves)
