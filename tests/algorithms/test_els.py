"""ELS: smoothed domain targets, and CDAN in all else."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from references import algorithms as literal
from references.tiny import minibatch, smooth_model

from orda.algorithms import ELS, build_algorithm

BATCHES = [minibatch(seed, 4, 5, torch.float64, weighted=True) for seed in range(3)]


def built(name: str = "cdan-els", **settings: object) -> ELS:
    algorithm = build_algorithm(name, smooth_model(), seed=3, mlp_width=6, lr=1e-3, lr_d=3e-3, **settings)
    return algorithm.double()  # type: ignore[return-value]


@pytest.mark.parametrize("eps", [0.05, 0.2, 0.45])
def test_trajectory_is_the_literal_one(eps: float) -> None:
    algorithm = built(eps=eps, ramp=2.0)
    model, discriminator = copy.deepcopy(algorithm.model), copy.deepcopy(algorithm.discriminator)
    of_model, of_discriminator = literal.Adam(1e-3), literal.Adam(3e-3)
    thetas, deltas = list(model.parameters()), list(discriminator.parameters())
    for step, b in enumerate(BATCHES):
        algorithm.update(b, step)
        players = literal.Players(
            model.features, model.head, discriminator, b.source.x, b.source.y, b.source.weight, b.target.x,
            b.target.weight, conditional=True, eps=eps,
        )  # fmt: skip
        task, domain = players.task(), players.domain()
        coefficient = literal.reversal_coefficient(step, max_iter=20.0)
        g_model = literal.combine(literal.gradients(task, thetas), -coefficient, literal.gradients(domain, thetas))
        g_discriminator = literal.gradients(domain, deltas)
        of_model.step(thetas, g_model)
        of_discriminator.step(deltas, g_discriminator)
    for ours, expected in ((algorithm.model, model), (algorithm.discriminator, discriminator)):
        for p, q in zip(ours.parameters(), expected.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-6, atol=1e-9)


def test_without_smoothing_it_is_cdan() -> None:
    smoothed, plain = built(eps=0.0), built("cdan")
    for step, b in enumerate(BATCHES):
        smoothed.update(b, step + 500)
        plain.update(b, step + 500)
    for p, q in zip(smoothed.parameters(), plain.parameters(), strict=True):
        assert torch.equal(p, q)


@pytest.mark.parametrize("eps", [0.1, 0.4])
def test_the_loss_of_a_discriminator_cannot_fall_below_the_entropy_of_its_targets(eps: float) -> None:
    """With still features the best discriminator says 1 − ε and ε: the loss ends at H(ε), not at zero."""
    algorithm = built(eps=eps, penalty=0.0)
    for p in algorithm.model.parameters():
        p.requires_grad_(False)
    far = minibatch(0, 8, 8, torch.float64, shift=3.0)
    optimiser = torch.optim.LBFGS(algorithm.discriminator.parameters(), max_iter=300, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        loss = algorithm.losses(far, 0)["domain"]
        loss.backward()
        return loss

    optimiser.step(closure)
    floor = -(eps * math.log(eps) + (1 - eps) * math.log(1 - eps))
    assert (algorithm.losses(far, 0)["domain"]).item() == pytest.approx(floor, abs=1e-3)
    assert (algorithm.losses(far, 0)["domain"]).item() >= floor
