"""SDAT: the two passes by hand, the way back, and batch normalisation's running statistics."""

from __future__ import annotations

import copy

import pytest
import torch
from references import algorithms as literal
from references.tiny import conv_model, minibatch, smooth_model
from torch import nn

from orda.algorithms import SDAT, build_algorithm
from orda.algorithms.sdat import ascent, moved, still_statistics

BATCHES = [minibatch(seed, 4, 5, torch.float64, weighted=True) for seed in range(4)]


def built(**settings: object) -> SDAT:
    algorithm = build_algorithm("cdan-sdat", smooth_model(), seed=3, mlp_width=6, lr=1e-3, lr_d=3e-3, **settings)
    assert isinstance(algorithm, SDAT)
    return algorithm.double()


@pytest.mark.parametrize("rho", [0.02, 0.5])
def test_trajectory_is_the_literal_two_step(rho: float) -> None:
    algorithm = built(rho=rho, penalty=0.7, ramp=2.0)
    model, discriminator = copy.deepcopy(algorithm.model), copy.deepcopy(algorithm.discriminator)
    of_model, of_discriminator = literal.Adam(1e-3), literal.Adam(3e-3)
    thetas, deltas = list(model.parameters()), list(discriminator.parameters())
    for step, b in enumerate(BATCHES):
        losses = algorithm.update(b, step)
        # first step: up the task loss, featuriser and head alone
        start = literal.Players(
            model.features, model.head, discriminator, b.source.x, b.source.y, b.source.weight, b.target.x,
            b.target.weight, conditional=True,
        )  # fmt: skip
        g = literal.gradients(start.task(), thetas)
        norm = sum(float((x * x).sum()) for x in g) ** 0.5
        there = copy.deepcopy(model)
        with torch.no_grad():
            for p, x in zip(there.parameters(), g, strict=True):
                p.add_(rho * x / (norm + 1e-12))
        # second step: both losses there, the move made here
        players = literal.Players(
            there.features, there.head, discriminator, b.source.x, b.source.y, b.source.weight, b.target.x,
            b.target.weight, conditional=True,
        )  # fmt: skip
        task, domain = players.task(), players.domain()
        coefficient = 0.7 * literal.reversal_coefficient(step, max_iter=20.0)
        at = list(there.parameters())
        g_model = literal.combine(literal.gradients(task, at), -coefficient, literal.gradients(domain, at))
        g_discriminator = literal.gradients(domain, deltas)
        of_model.step(thetas, g_model)
        of_discriminator.step(deltas, g_discriminator)
        assert losses["task"].item() == pytest.approx(task.item(), rel=1e-6)
    for ours, expected in ((algorithm.model, model), (algorithm.discriminator, discriminator)):
        for p, q in zip(ours.parameters(), expected.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-6, atol=1e-9)


def test_with_rho_zero_it_is_cdan() -> None:
    flat, plain = built(rho=0.0), build_algorithm(
        "cdan", smooth_model(), seed=3, mlp_width=6, lr=1e-3, lr_d=3e-3
    ).double()  # fmt: skip
    for step, b in enumerate(BATCHES):
        flat.update(b, step + 500)
        plain.update(b, step + 500)
    for p, q in zip(flat.parameters(), plain.parameters(), strict=True):
        assert torch.equal(p, q)


def test_ascent_has_length_rho_and_rises_to_first_order() -> None:
    gradient = [torch.tensor([3.0, 0.0]), None, torch.tensor([[4.0]])]
    moves = ascent(gradient, 0.5)
    assert moves[1] is None
    assert torch.equal(moves[0], torch.tensor([0.3, 0.0]))  # type: ignore[arg-type]
    assert torch.equal(moves[2], torch.tensor([[0.4]]))  # type: ignore[arg-type]


def test_the_way_back_is_exact_even_after_an_error() -> None:
    """θ + ρg − ρg is not θ in floating point: the weights themselves are kept."""
    theta = nn.Parameter(torch.tensor([1.0, 1e8]))
    kept = theta.detach().clone()
    move = torch.tensor([1e8, 1e-3])
    assert not torch.equal(kept + move - move, kept)
    with pytest.raises(ZeroDivisionError), moved([theta], [move]):
        _fail_unless(torch.equal(theta, kept + move))
    assert torch.equal(theta, kept)


def _fail_unless(there: bool) -> None:
    assert there
    raise ZeroDivisionError


def test_running_statistics_move_once_at_the_kept_weights() -> None:
    """Momentum 0.1: one move from the statistics of the first pass, none from the second."""
    algorithm = build_algorithm("cdan-sdat", conv_model(), seed=0, rho=5.0)
    b = minibatch(0)
    expected = copy.deepcopy(algorithm.model).train()
    expected(torch.cat([b.source.x, b.target.x]))
    algorithm.update(b, 0)
    norm, once = algorithm.model.featurizer[1], expected.featurizer[1]
    assert int(norm.num_batches_tracked) == 1
    assert torch.equal(norm.running_mean, once.running_mean)
    assert torch.equal(norm.running_var, once.running_var)
    assert norm.track_running_stats


def test_still_statistics_still_normalise_by_the_minibatch() -> None:
    norm, x = nn.BatchNorm1d(2).train(), torch.tensor([[0.0, 4.0], [2.0, 0.0]])
    with still_statistics(norm):
        inside = norm(x)
    assert int(norm.num_batches_tracked) == 0
    assert torch.equal(norm.running_mean, torch.zeros(2))  # type: ignore[arg-type]
    assert torch.equal(inside, norm(x))
    assert int(norm.num_batches_tracked) == 1


def test_frozen_batch_norm_needs_the_source_alone_in_the_first_pass() -> None:
    algorithm = build_algorithm("cdan-sdat", conv_model(freeze_bn=True), seed=0)
    seen: list[int] = []
    algorithm.model.featurizer.register_forward_pre_hook(lambda _, inputs: seen.append(len(inputs[0])))
    algorithm.update(minibatch(0, 4, 5), 0)
    free = build_algorithm("cdan-sdat", conv_model(), seed=0)
    free.model.featurizer.register_forward_pre_hook(lambda _, inputs: seen.append(len(inputs[0])))
    free.update(minibatch(0, 4, 5), 0)
    assert seen == [4, 9, 9, 9]
