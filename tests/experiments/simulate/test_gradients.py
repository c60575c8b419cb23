"""Gradients with respect to a linear map against finite differences; errors against literal sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from references import simulate as twins

from orda.discrepancies import CORAL, MMD, Discrepancy
from orda.experiments.simulate.domains import clustered, features
from orda.experiments.simulate.gradients import full_gradient, gradient_errors, plan_gradients
from orda.planning import assess
from orda.records import Features
from orda.samplers import Sampler, Stratified, Uniform

STEP = 1e-6


def mapped(z: Features, a: np.ndarray) -> Features:
    return features(z.source.numpy() @ a.T, z.target.numpy() @ a.T)


@pytest.mark.parametrize(
    ("discrepancy", "literal"),
    [
        (MMD("linear"), lambda s, t: twins.mmd_linear(s, t, [1 / len(s)] * len(s), [1 / len(t)] * len(t))),
        (CORAL(), twins.coral),
    ],
    ids=["linear", "coral"],
)
def test_the_gradient_of_d0_is_that_of_its_literal_twin(discrepancy: Discrepancy, literal: object) -> None:
    z = clustered(np.random.default_rng(0), 40, 30, 3)
    found = full_gradient(replace(discrepancy, estimator="unbiased"), z).numpy()  # type: ignore[type-var]
    for row in range(3):
        for column in range(3):
            sides = []
            for sign in (1, -1):
                a = np.eye(3)
                a[row, column] += sign * STEP
                there = mapped(z, a)
                sides.append(literal(there.source.numpy(), there.target.numpy()))  # type: ignore[operator]
            wanted = (sides[0] - sides[1]) / (2 * STEP)
            assert found[row, column] == pytest.approx(wanted, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("estimator", ["plug-in", "unbiased"])
@pytest.mark.parametrize("plain", [MMD(gammas="median"), CORAL("mean")], ids=["mmd", "coral"])
def test_the_gradient_of_a_minibatch_is_that_of_its_estimate(plain: Discrepancy, estimator: str) -> None:
    z = clustered(np.random.default_rng(0), 60, 50, 3)
    discrepancy = replace(plain, estimator=estimator).resolved(z)  # type: ignore[type-var]
    samplers: list[Sampler] = [Uniform(), Stratified(discrepancy)]
    for sampler in samplers:
        plan = sampler.plan(z, 8, 4, np.random.default_rng(1))
        values, found = plan_gradients(discrepancy, plan, z)
        assert values == pytest.approx(assess(plan, z.source, z.target, discrepancy).values)
        direction = np.random.default_rng(2).normal(size=(3, 3))
        direction /= np.linalg.norm(direction)
        # CORAL's unbiased estimate from strata subtracts the plan's centres, which do not move: no symmetric matrix
        sides = [plan_gradients(discrepancy, plan, mapped(z, np.eye(3) + s * STEP * direction))[0] for s in (1, -1)]
        slopes = (sides[0] - sides[1]) / (2 * STEP)
        assert (found * torch.from_numpy(direction)).sum((-2, -1)).numpy() == pytest.approx(slopes, rel=1e-4)


def test_d0_is_the_estimate_of_a_minibatch_that_is_all_the_data() -> None:
    z = clustered(np.random.default_rng(0), 60, 50, 3)
    for discrepancy in (MMD(gammas="median"), MMD("linear"), CORAL("mean")):
        whole = discrepancy.resolved(z)(z.source[None], z.target[None])
        assert float(whole[0]) == pytest.approx(discrepancy.reference(z), rel=1e-9)


def test_the_errors_are_the_literal_ones() -> None:
    rng = np.random.default_rng(0)
    found, wanted = rng.normal(size=(5, 3, 3)), rng.normal(size=(3, 3))
    row = gradient_errors(torch.from_numpy(found), torch.from_numpy(wanted))
    norm = np.linalg.norm
    cosines = [(g * wanted).sum() / norm(g) / norm(wanted) for g in found]
    assert row["direction"] == pytest.approx(1 - np.mean(cosines))
    assert row["gradient_error"] == pytest.approx(np.mean([norm(g - wanted) ** 2 for g in found]) / norm(wanted) ** 2)
    mean = found.mean(0)
    assert row["plan_direction"] == pytest.approx(1 - (mean * wanted).sum() / norm(mean) / norm(wanted))
    assert row["plan_gradient_error"] == pytest.approx(norm(mean - wanted) ** 2 / norm(wanted) ** 2)


def test_a_gradient_without_error_has_none() -> None:
    wanted = torch.randn(3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    row = gradient_errors(wanted.expand(4, 3, 3), wanted)
    assert all(abs(float(value)) < 1e-12 for value in row.values())
    twice = gradient_errors(2 * wanted.expand(4, 3, 3), wanted)
    assert twice["direction"] == pytest.approx(0, abs=1e-12)  # the length is no matter of direction
    assert twice["gradient_error"] == pytest.approx(1)
