"""What every discrepancy promises: one table, one battery.

A new discrepancy joins by a line in ``DISCREPANCIES``. That each is the paper's equation is tested beside it.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from orda.discrepancies import CORAL, MMD, Discrepancy
from orda.errors import FeatureError, SettingError
from orda.records import Features, Strata
from orda.stratification import draw_independent

DISCREPANCIES: dict[str, Discrepancy] = {
    "mmd, linear": MMD("linear"),
    "mmd, rbf": MMD(),
    "mmd, median": MMD(gammas="median"),
    "mmd, squared": MMD("squared-inner"),
    "coral": CORAL(),
    "coral, mean": CORAL("mean"),
    "coral, deep": CORAL("deep"),
}
DEGREES = {"mmd, linear": 2, "mmd, median": 0, "mmd, squared": 4, "coral": 4, "coral, mean": 4, "coral, deep": 4}
ANYWHERE = [name for name in DISCREPANCIES if name != "mmd, squared"]  # a shift of both domains changes nothing
FALSE_ALARM = 1e-6  # of one Monte Carlo test

every = pytest.mark.parametrize("name", DISCREPANCIES)
seeds = st.integers(0, 10**9)

Batch = tuple[Tensor, Tensor, Tensor, Tensor]


def normal(rng: np.random.Generator, *shape: int) -> Tensor:
    return torch.from_numpy(rng.normal(size=shape))


def minibatch(seed: int = 0, *leading: int, b: tuple[int, int] = (5, 4), d: int = 3) -> Batch:
    """Features of two different domains and weights that sum to 1, in float64."""
    rng = np.random.default_rng(seed)
    zs, zt = normal(rng, *leading, b[0], d), 1.5 * normal(rng, *leading, b[1], d) + 0.5
    ws, wt = (torch.from_numpy(rng.dirichlet(np.ones(n), leading or None)) for n in b)
    return zs, zt, ws, wt


def fixed(name: str, zs: Tensor, zt: Tensor) -> Discrepancy:
    """With everything that depends on the data fixed."""
    return DISCREPANCIES[name].resolved(Features(zs.flatten(0, -2).detach(), zt.flatten(0, -2).detach()))


def close(zs: Tensor, zt: Tensor) -> dict[str, float]:
    """What rounding may do, in float64: CORAL sums fourth powers."""
    return {"rel": 1e-9, "abs": 1e-11 * max(1.0, float(zs.abs().max()), float(zt.abs().max())) ** 4}


# ── laws ──


@every
@given(seed=seeds, b=st.tuples(st.integers(1, 6), st.integers(1, 6)), d=st.integers(1, 9))
@settings(max_examples=20)
def test_laws(name: str, seed: int, b: tuple[int, int], d: int) -> None:
    zs, zt, ws, wt = minibatch(seed, b=b, d=d)
    loss, tolerance = fixed(name, zs, zt), close(zs, zt)
    value = float(loss(zs, zt, ws, wt))
    assert value >= -tolerance["abs"]
    order_s, order_t = (torch.from_numpy(np.random.default_rng(seed).permutation(n)) for n in b)
    shuffled = loss(zs[order_s], zt[order_t], ws[order_s], wt[order_t])
    assert float(shuffled) == pytest.approx(value, **tolerance)  # the order of examples says nothing
    twice = loss(torch.cat([zs, zs]), zt, torch.cat([ws, ws]) / 2, wt)
    assert float(twice) == pytest.approx(value, **tolerance)  # nor does an example that is split into halves
    weightless = loss(torch.cat([zs, 9 * zs[:1]]), zt, torch.cat([ws, torch.zeros(1)]), wt)
    assert float(weightless) == pytest.approx(value, **tolerance)  # nor one without weight
    assert float(fixed(name, zs, zs)(zs, zs, ws, ws)) == pytest.approx(0, **tolerance)  # nothing between equals
    assert float(fixed(name, zt, zs)(zt, zs, wt, ws)) == pytest.approx(value, **tolerance)  # symmetric


@pytest.mark.parametrize("name", ANYWHERE)
@given(seed=seeds)
@settings(max_examples=10)
def test_only_differences_between_examples_count(name: str, seed: int) -> None:
    zs, zt, ws, wt = minibatch(seed)
    value = float(fixed(name, zs, zt)(zs, zt, ws, wt))
    moved = float(fixed(name, zs + 3, zt + 3)(zs + 3, zt + 3, ws, wt))
    assert moved == pytest.approx(value, **close(zs + 3, zt + 3))


@pytest.mark.parametrize(("name", "degree"), DEGREES.items())
def test_a_common_factor_of_the_features_comes_out(name: str, degree: int) -> None:
    zs, zt, ws, wt = minibatch()
    value = float(fixed(name, zs, zt)(zs, zt, ws, wt))
    assert float(fixed(name, 7 * zs, 7 * zt)(7 * zs, 7 * zt, ws, wt)) == pytest.approx(7**degree * value, rel=1e-9)


@every
@given(seed=seeds, n=st.tuples(st.integers(2, 30), st.integers(2, 30)), d=st.integers(1, 70))
@settings(max_examples=10)
def test_the_reference_is_the_estimate_of_a_minibatch_that_holds_all_data(
    name: str, seed: int, n: tuple[int, int], d: int
) -> None:
    zs, zt, *_ = minibatch(seed, b=n, d=d)
    loss, features = fixed(name, zs, zt), Features(zs, zt)
    ws, wt = (torch.full((len(z),), 1 / len(z), dtype=z.dtype) for z in (zs, zt))
    d0, tolerance = loss.reference(features), close(zs, zt)
    tolerance["abs"] *= d**2
    assert d0 == pytest.approx(DISCREPANCIES[name].reference(features), rel=1e-12)  # resolved or not
    assert float(loss(zs, zt, ws, wt)) == pytest.approx(d0, **tolerance)
    assert float(loss(zs, zt)) == pytest.approx(d0, **tolerance)
    assert float(DISCREPANCIES[name](zs, zt)) == pytest.approx(d0, **tolerance)  # without weights: taken for all data


@every
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("n", "d"), [(900, 40), (300, 600)])  # several tiles; several blocks of columns
def test_the_reference_does_not_depend_on_the_threads(name: str, dtype: torch.dtype, n: int, d: int) -> None:
    zs, zt, *_ = (z.to(dtype) for z in minibatch(b=(n, n - 99), d=d))
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        embedding = DISCREPANCIES[name].embedding(Features(zs, zt))
        found.append((DISCREPANCIES[name].reference(Features(zs, zt)), embedding))
    for d0, embedding in found[1:]:
        assert d0 == found[0][0]
        assert embedding.kernel == found[0][1].kernel
        assert torch.equal(embedding.source, found[0][1].source)
        assert torch.equal(embedding.target, found[0][1].target)


# ── many minibatches ──


@every
@pytest.mark.parametrize("d", [3, 12])  # CORAL works on d × d matrices, or on b × b
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("resolved", [True, False])
def test_many_minibatches_are_worked_on_one_by_one(name: str, d: int, weighted: bool, resolved: bool) -> None:
    """Values and gradients."""
    zs, zt, ws, wt = minibatch(0, 3, 2, d=d)
    loss = fixed(name, zs, zt) if resolved else DISCREPANCIES[name]
    zs, zt = zs.requires_grad_(), zt.requires_grad_()
    values = loss(zs, zt, ws, wt) if weighted else loss(zs, zt)
    assert values.shape == (3, 2)
    gradients = torch.autograd.grad(values.sum(), (zs, zt))
    for a in np.ndindex(3, 2):
        one = loss(zs[a], zt[a], ws[a], wt[a]) if weighted else loss(zs[a], zt[a])
        torch.testing.assert_close(values[a], one, rtol=1e-10, atol=1e-12)
        for all_of_them, own in zip(gradients, torch.autograd.grad(one, (zs, zt)), strict=True):
            torch.testing.assert_close(all_of_them[a], own[a], rtol=1e-9, atol=1e-11)


# ── a loss to train with ──


@every
@pytest.mark.parametrize("d", [2, 9])
@pytest.mark.parametrize("leading", [(), (2,)])
def test_gradients_are_right(name: str, d: int, leading: tuple[int, ...]) -> None:
    zs, zt, ws, wt = minibatch(1, *leading, d=d)
    loss = fixed(name, zs, zt)
    for weights in ((), (ws, wt)):
        inputs = (zs.requires_grad_(), zt.requires_grad_())
        assert torch.autograd.gradcheck(lambda a, b, weights=weights: loss(a, b, *weights), inputs)


@every
def test_minimising_it_brings_the_domains_together(name: str) -> None:
    zs, zt, ws, wt = minibatch(2, b=(8, 8))
    loss, step, values = fixed(name, zs, zt), 1.0, []
    for _ in range(60):  # gradient descent; a step is halved until it helps
        value = loss(zs.requires_grad_(), zt, ws, wt)
        (gradient,) = torch.autograd.grad(value, zs)
        zs, value = zs.detach(), value.detach()
        while loss(zs - step * gradient, zt, ws, wt) >= value:
            step /= 2
        zs, step = zs - step * gradient, 2 * step
        values.append(float(value))
    assert values[-1] < 0.15 * values[0]


COINCIDING = {
    "all in one place": (torch.ones(4, 3), torch.ones(5, 3)),
    "each domain in a place": (torch.zeros(4, 3), torch.ones(5, 3)),
    "some twice": (torch.eye(3)[[0, 0, 1, 2]], torch.eye(3)[[0, 1, 1]]),
    "one example each": (torch.ones(1, 3), torch.ones(1, 3)),
    "one example each, apart": (torch.zeros(1, 3), torch.ones(1, 3)),
    "far from the origin": (torch.full((4, 3), 1e4), torch.full((4, 3), 1e4)),
}


@every
@pytest.mark.parametrize("case", COINCIDING)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_coinciding_points_have_finite_gradients(name: str, case: str, dtype: torch.dtype) -> None:
    zs, zt = (z.to(dtype).requires_grad_() for z in COINCIDING[case])
    value = DISCREPANCIES[name](zs, zt)
    gradients, value = torch.autograd.grad(value, (zs, zt)), value.detach()
    assert torch.isfinite(value)
    assert all(torch.isfinite(gradient).all() for gradient in gradients)
    if torch.equal(zs[:1].expand_as(zt), zt):
        size = max(1.0, float(zs.detach().abs().max())) ** (4 if "squared" in name else 2)
        assert abs(float(value)) <= 1e-5 * size
        assert all(float(gradient.abs().max()) <= 1e-4 * size for gradient in gradients)


@every
def test_single_precision_is_double_precision_rounded(name: str) -> None:
    batch = minibatch(3, b=(32, 32), d=20)
    single = [part.float() for part in batch]
    exact = fixed(name, *(part.double() for part in single[:2]))(*(part.double() for part in single))
    found = fixed(name, *batch[:2])(*single)
    assert (found.dtype, exact.dtype) == (torch.float32, torch.float64)
    assert float(found) == pytest.approx(float(exact), rel=1e-4)


@every
@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_half_precision_is_lifted_even_under_autocast(name: str, half: torch.dtype) -> None:
    zs, zt, ws, wt = (part.to(half) for part in minibatch(4, b=(8, 8)))
    zs.requires_grad_()
    exact = DISCREPANCIES[name](zs.float(), zt.float())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = DISCREPANCIES[name](zs, zt)
        weighted = DISCREPANCIES[name](zs.float(), zt, ws.float() / ws.float().sum(), wt.float() / wt.float().sum())
    assert found.dtype == weighted.dtype == torch.float32
    torch.testing.assert_close(found, exact, rtol=1e-6, atol=0)
    (gradient,) = torch.autograd.grad(found, zs)
    assert gradient.dtype == half
    assert gradient.abs().max() > 0


class Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that any operation gives."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.elements = max([self.elements, *(t.numel() for t in tensors_in(out))])
        return out


def tensors_in(out: Any) -> Iterator[Tensor]:
    for part in out if isinstance(out, (tuple, list)) else [out]:
        if isinstance(part, Tensor):
            yield part


@every
@pytest.mark.parametrize(("b", "d"), [(16, 600), (64, 64), (100, 7)])
def test_memory_is_that_of_the_minibatch_and_of_its_pairs(name: str, b: int, d: int) -> None:
    """Forward and backward: nothing of b × b × d or, for large d, of d × d elements."""
    zs, zt, ws, wt = minibatch(b=(b, b), d=d)
    loss = fixed(name, zs, zt)
    zs, zt = zs.requires_grad_(), zt.requires_grad_()
    with Largest() as largest:
        loss(zs, zt, ws, wt).backward()
    assert largest.elements <= max(2 * b * d, (2 * b) ** 2)


# ── unbiased weights ──


@every
def test_weights_of_strata_make_the_mean_embedding_unbiased(name: str) -> None:
    """One draw from each stratum, weighted by its share: on average Σ_h p_h φ(z_h) is the mean of φ over all data.

    Looked at by its inner products with φ of twenty points, and compared with equal weights, which are wrong.
    """
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(4), [60, 25, 10, 5])
    centres = 2 * normal(rng, 4, 3)
    z = centres[torch.from_numpy(labels)] + normal(rng, 100, 3)
    embedding = DISCREPANCIES[name].embedding(Features(z, normal(rng, 20, 3)))
    probes = embedding.kernel.gram(embedding.source, embedding.target)  # (100, 20)
    pool = draw_independent(Strata(labels, np.bincount(labels)), 4000, rng)

    def deviation(weight: np.ndarray) -> float:
        draws = torch.einsum("h,hmp->mp", torch.from_numpy(weight), probes[torch.from_numpy(pool.index)])
        error = draws.std(0) / len(draws) ** 0.5
        return float(((draws.mean(0) - probes.mean(0)) / error).abs().max())

    limit = stats.t.isf(FALSE_ALARM / (2 * probes.shape[1]), df=3999)
    assert deviation(pool.weight) < limit
    assert deviation(np.full(4, 0.25)) > limit


# ── arguments ──

GOOD = torch.zeros(4, 3)
WRONG = [
    ((np.zeros((4, 3)), GOOD), FeatureError, "source features must be a torch tensor; got ndarray"),
    ((GOOD, torch.zeros(3)), FeatureError, r"target features must be \(\.\.\., b, d\)"),
    ((GOOD, torch.zeros(0, 3)), FeatureError, "b ≥ 1"),
    ((GOOD, GOOD.long()), FeatureError, "target features must be floating point; got torch.int64"),
    ((GOOD, torch.zeros(4, 2)), FeatureError, r"must agree in d .*\(4, 3\) and \(4, 2\)"),
    ((GOOD, torch.zeros(2, 4, 3)), FeatureError, "leading dimensions"),
    ((GOOD, GOOD.to("meta")), FeatureError, "on one device; got cpu and meta"),
    ((GOOD, GOOD, torch.full((4,), 0.3)), SettingError, r"source weights must sum to 1 .*off by 0\.2"),
    ((GOOD, GOOD, None, torch.full((4,), float("nan"))), SettingError, "target weights must sum to 1"),
    ((GOOD, GOOD, torch.ones(3) / 3), SettingError, r"source weights must be \(4,\); got \(3,\)"),
    ((GOOD, GOOD, [0.25] * 4), SettingError, "source weights must be a torch tensor; got list"),
    ((torch.zeros(2, 4, 3), torch.zeros(2, 4, 3), torch.ones(4) / 4), SettingError, r"must be \(2, 4\); got \(4,\)"),
]


@every
@pytest.mark.parametrize(("arguments", "error", "message"), WRONG)
def test_what_cannot_be_used_gets_one_clear_error(
    name: str, arguments: tuple[object, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        DISCREPANCIES[name](*arguments)  # type: ignore[arg-type]


@every
def test_the_weights_of_a_plan_are_taken_as_they_are(name: str) -> None:
    """float32, and off by its rounding."""
    zs, zt, ws, wt = minibatch()
    exact, rounded = DISCREPANCIES[name](zs, zt, ws, wt), DISCREPANCIES[name](zs, zt, ws.float(), wt.float())
    assert rounded.dtype == torch.float64
    assert float(rounded) == pytest.approx(float(exact), rel=1e-5)


@every
def test_settings_are_frozen_and_plain_and_travel(name: str) -> None:
    loss = DISCREPANCIES[name]
    assert json.loads(json.dumps(loss.settings(), allow_nan=False))["name"] == loss.name
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert hash(loss) == hash(pickle.loads(pickle.dumps(loss)))
    with pytest.raises(FrozenInstanceError):
        loss.estimator = "other"  # type: ignore[misc]


# ── on a GPU ──


@pytest.mark.gpu
@every
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_on_a_gpu_values_and_gradients_are_the_same(name: str, dtype: torch.dtype) -> None:
    zs, zt, ws, wt = (part.to(dtype) for part in minibatch(6, 2, b=(32, 24), d=50))
    loss, found = fixed(name, zs, zt), []
    for device in ("cpu", "cuda"):
        a, b = (z.detach().to(device).requires_grad_() for z in (zs, zt))
        values = loss(a, b, ws.to(device), wt)  # weights may stay behind
        found.append([values.cpu(), *(g.cpu() for g in torch.autograd.grad(values.sum(), (a, b)))])
    relative = 1e-3 if dtype == torch.float32 else 1e-9
    for here, there in zip(*found, strict=True):
        torch.testing.assert_close(there, here, rtol=relative, atol=relative * float(here.abs().max()))
    on_gpu = Features(zs[0].cuda(), zt[0].cuda())
    assert loss.reference(on_gpu) == pytest.approx(loss.reference(Features(zs[0], zt[0])), rel=relative)


@pytest.mark.gpu
@every
def test_a_training_step_does_not_wait_for_the_gpu(name: str) -> None:
    zs, zt, ws, wt = (part.float().cuda() for part in minibatch(6, b=(32, 24), d=50))
    zs.requires_grad_()
    DISCREPANCIES[name](zs, zt, ws, wt).backward()  # libraries are loaded here
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        DISCREPANCIES[name](zs, zt, ws, wt).backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")
