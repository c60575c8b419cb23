"""CDAN: the outer product, the random map, entropy weights, and whole trajectories."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from references import algorithms as literal
from references.tiny import CLASSES, minibatch, smooth_model

from orda.algorithms import CDAN, build_algorithm
from orda.algorithms.cdan import entropy_weights, outer

BATCHES = [minibatch(seed, 4, 5, torch.float64, weighted=True) for seed in range(4)]


@st.composite
def probabilities(draw: st.DrawFn) -> torch.Tensor:
    n, c, seed = draw(st.integers(1, 6)), draw(st.integers(2, 5)), draw(st.integers(0, 1000))
    sharpness = draw(st.sampled_from([0.0, 1.0, 30.0]))
    logits = torch.randn(n, c, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (sharpness * logits).softmax(1)


@given(p=probabilities(), d=st.integers(1, 4))
def test_outer_product_is_the_literal_one(p: torch.Tensor, d: int) -> None:
    z = torch.randn(len(p), d, generator=torch.Generator().manual_seed(d), dtype=torch.float64)
    assert torch.equal(outer(z, p), literal.outer_product(z, p))


@given(p=probabilities(), seed=st.integers(0, 1000))
def test_entropy_weights_are_the_literal_ones(p: torch.Tensor, seed: int) -> None:
    w = torch.rand(len(p), generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.01
    expected = torch.tensor(literal.entropy_weights(w, p), dtype=torch.float64)
    torch.testing.assert_close(entropy_weights(w, p), expected)


def test_sure_examples_weigh_twice_as_much_as_infinitely_unsure_ones_at_most() -> None:
    p = torch.tensor([[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]], dtype=torch.float64)
    weights = entropy_weights(torch.tensor([0.5, 0.5]), p)
    assert float(weights[0] / weights[1]) == pytest.approx(2 / (1 + 1 / 3))  # exp(−log 3) = 1/3
    assert float(weights.sum()) == pytest.approx(1)


def built(**settings: object) -> CDAN:
    algorithm = build_algorithm("cdan", smooth_model(), seed=3, mlp_width=6, lr=1e-3, lr_d=3e-3, **settings)
    assert isinstance(algorithm, CDAN)
    return algorithm.double()


@pytest.mark.parametrize("entropy", [False, True])
def test_trajectory_is_the_literal_one(entropy: bool) -> None:
    algorithm = built(penalty=0.7, ramp=2.0, entropy=entropy)
    model, discriminator = copy.deepcopy(algorithm.model), copy.deepcopy(algorithm.discriminator)
    of_model, of_discriminator = literal.Adam(1e-3), literal.Adam(3e-3)
    thetas, deltas = list(model.parameters()), list(discriminator.parameters())
    for step, b in enumerate(BATCHES):
        losses = algorithm.update(b, step)
        players = literal.Players(
            model.features, model.head, discriminator, b.source.x, b.source.y, b.source.weight, b.target.x,
            b.target.weight, conditional=True, entropy=entropy,
        )  # fmt: skip
        task, domain = players.task(), players.domain()
        coefficient = 0.7 * literal.reversal_coefficient(step, max_iter=20.0)
        g_model = literal.combine(literal.gradients(task, thetas), -coefficient, literal.gradients(domain, thetas))
        g_discriminator = literal.gradients(domain, deltas)
        of_model.step(thetas, g_model)
        of_discriminator.step(deltas, g_discriminator)
        assert losses["domain"].item() == pytest.approx(domain.item(), rel=1e-6)
    for ours, expected in ((algorithm.model, model), (algorithm.discriminator, discriminator)):
        for p, q in zip(ours.parameters(), expected.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-6, atol=1e-9)


def test_the_domain_loss_does_not_reach_the_head() -> None:
    algorithm = built()
    domain = algorithm.losses(BATCHES[0], 500)["domain"]
    found = torch.autograd.grad(domain, list(algorithm.model.head.parameters()), allow_unused=True)
    assert all(gradient is None for gradient in found)


def test_random_map_keeps_inner_products_on_average() -> None:
    """E⟨h(z, p), h(z', p')⟩ = ⟨z, z'⟩⟨p, p'⟩ over the random maps, with an error of 1/√r."""
    algorithm = built(random_map=200_000)
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    p = torch.randn(3, CLASSES, generator=generator, dtype=torch.float64).softmax(1)
    h = algorithm.joint(z, p)
    expected = (z @ z.T) * (p @ p.T)
    torch.testing.assert_close(h @ h.T, expected, rtol=0, atol=0.03 * float(expected.max()))
    assert h.shape == (3, 200_000)


def test_random_map_is_fixed_and_kept_with_the_state() -> None:
    algorithm = built(random_map=7)
    before = algorithm.random_z.clone()
    algorithm.update(BATCHES[0], 0)
    assert torch.equal(algorithm.random_z, before)
    assert {"random_z", "random_p"} <= set(algorithm.state_dict())
    assert algorithm.discriminator[0].in_features == 7  # type: ignore[index]
