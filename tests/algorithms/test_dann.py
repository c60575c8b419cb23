"""DANN in both forms against trajectories worked out by hand."""

from __future__ import annotations

import copy

import pytest
import torch
from references import algorithms as literal
from references.tiny import minibatch, smooth_model

from orda.algorithms import DANN, build_algorithm
from orda.errors import SettingError

BATCHES = [minibatch(seed, 4, 5, torch.float64, weighted=True) for seed in range(4)]


def built(**settings: object) -> DANN:
    algorithm = build_algorithm("dann", smooth_model(), seed=3, mlp_width=6, lr=1e-3, lr_d=3e-3, **settings)
    assert isinstance(algorithm, DANN)
    return algorithm.double()


def assert_same(algorithm: DANN, model: torch.nn.Module, discriminator: torch.nn.Module) -> None:
    for ours, expected in ((algorithm.model, model), (algorithm.discriminator, discriminator)):
        for p, q in zip(ours.parameters(), expected.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-7, atol=1e-9)


def test_reversal_goes_up_the_domain_loss_with_the_features_and_down_with_the_discriminator() -> None:
    algorithm = built(penalty=0.7, ramp=2.0, weight_decay=0.01, weight_decay_d=0.02)
    model, discriminator = copy.deepcopy(algorithm.model), copy.deepcopy(algorithm.discriminator)
    of_model, of_discriminator = literal.Adam(1e-3, 0.01), literal.Adam(3e-3, 0.02)
    thetas, deltas = list(model.parameters()), list(discriminator.parameters())
    for step, b in enumerate(BATCHES):
        losses = algorithm.update(b, step)
        players = literal.Players(
            model.features, model.head, discriminator, b.source.x, b.source.y, b.source.weight, b.target.x,
            b.target.weight,
        )  # fmt: skip
        task, domain = players.task(), players.domain()
        coefficient = 0.7 * literal.reversal_coefficient(step, max_iter=20.0)
        g_model = literal.combine(literal.gradients(task, thetas), -coefficient, literal.gradients(domain, thetas))
        g_discriminator = literal.gradients(domain, deltas)
        of_model.step(thetas, g_model)
        of_discriminator.step(deltas, g_discriminator)
        assert losses["task"].item() == pytest.approx(task.item(), rel=1e-6)
        assert losses["domain"].item() == pytest.approx(domain.item(), rel=1e-6)
    assert_same(algorithm, model, discriminator)


@pytest.mark.parametrize("grad_penalty", [0.0, 0.3])
def test_alternating_moves_one_player_at_a_time(grad_penalty: float) -> None:
    algorithm = built(form="alternating", penalty=0.7, d_steps=2, grad_penalty=grad_penalty, beta1=0.4)
    model, discriminator = copy.deepcopy(algorithm.model), copy.deepcopy(algorithm.discriminator)
    of_model, of_discriminator = literal.Adam(1e-3, betas=(0.4, 0.9)), literal.Adam(3e-3, betas=(0.4, 0.9))
    thetas, deltas = list(model.parameters()), list(discriminator.parameters())
    for step in range(7):
        b = BATCHES[step % 4]
        losses = algorithm.update(b, step)
        zs, zt = model.features(b.source.x), model.features(b.target.x)
        domain = literal.alternating_domain(discriminator, zs, zt, b.source.weight, b.target.weight, grad_penalty)
        assert losses["domain"].item() == pytest.approx(domain.item(), rel=1e-6)
        if step % 3 < 2:
            of_discriminator.step(deltas, literal.gradients(domain, deltas))
            assert "task" not in losses
            assert torch.equal(losses["loss"], losses["domain"])
        else:
            assert b.source.y is not None
            task = literal.weighted_task(model.head(zs), b.source.y, b.source.weight)
            of_model.step(
                thetas, literal.combine(literal.gradients(task, thetas), -0.7, literal.gradients(domain, thetas))
            )
            assert losses["task"].item() == pytest.approx(task.item(), rel=1e-6)
    assert_same(algorithm, model, discriminator)


@pytest.mark.parametrize("d_steps", [1, 2, 7])
def test_alternating_trains_the_classifier_in_one_step_of_d_steps_plus_one(d_steps: int) -> None:
    algorithm = built(form="alternating", d_steps=d_steps)
    moves = [algorithm.moves_discriminator(step) for step in range(8 * (d_steps + 1))]
    assert moves.count(False) == 8
    assert moves[0]


def test_a_penalty_of_zero_gives_the_task_alone() -> None:
    """λ scales what reaches the featuriser, not what the discriminator learns from."""
    silent, erm = built(penalty=0.0), build_algorithm("erm", smooth_model(), seed=3, lr=1e-3)
    before = copy.deepcopy(silent.discriminator)
    for step, b in enumerate(BATCHES):
        silent.update(b, step + 500)
        erm.update(b, step)
    for p, q in zip(silent.model.parameters(), erm.model.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-9, atol=1e-12)
    moved = zip(silent.discriminator.parameters(), before.parameters(), strict=True)
    assert all((p - q).abs().max().item() > 1e-3 for p, q in moved)


def test_settings_of_the_other_form_are_refused() -> None:
    with pytest.raises(SettingError, match=r"d_steps does nothing with form='reversal'.*grad_penalty does nothing"):
        built(d_steps=3, grad_penalty=0.5)
    with pytest.raises(SettingError, match="ramp does nothing with form='alternating'"):
        built(form="alternating", ramp=10.0)
