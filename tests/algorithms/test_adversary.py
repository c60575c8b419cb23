"""Reversal, its schedule, the domain loss, the discriminator."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from references import algorithms as literal
from torch import nn

from orda.algorithms.adversary import domain_loss, mlp, reversal_schedule, reverse_gradient


@given(step=st.integers(0, 20_000))
def test_schedule_is_that_of_cdans_authors(step: int) -> None:
    assert reversal_schedule(step, 1000.0) == pytest.approx(literal.reversal_coefficient(step), abs=1e-14)


def test_schedule_starts_at_nothing_grows_and_stays_below_one() -> None:
    values = [reversal_schedule(step, 1000.0) for step in range(0, 10_000, 100)]
    assert values[0] == 0.0
    assert all(a < b for a, b in pairwise(values))
    assert values[-1] < 1
    assert reversal_schedule(1000, 1000.0) == pytest.approx(math.tanh(0.5))  # 2σ(x) − 1 = tanh(x/2)


@given(coefficient=st.floats(0, 10), seed=st.integers(0, 1000))
def test_reversal_is_the_identity_forward_and_a_sign_backward(coefficient: float, seed: int) -> None:
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64, requires_grad=True)
    assert torch.equal(reverse_gradient(x, coefficient), x)
    (plain,) = torch.autograd.grad(x.pow(3).sum(), x)
    (turned,) = torch.autograd.grad(reverse_gradient(x, coefficient).pow(3).sum(), x)
    torch.testing.assert_close(turned, -coefficient * plain)


@given(n_s=st.integers(1, 5), n_t=st.integers(1, 5), eps=st.floats(0, 0.5), seed=st.integers(0, 1000))
def test_domain_loss_is_the_literal_one(n_s: int, n_t: int, eps: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    says_s, says_t = (3 * torch.randn(n, 1, generator=generator, dtype=torch.float64) for n in (n_s, n_t))
    a, b = (torch.rand(n, generator=generator, dtype=torch.float64) for n in (n_s, n_t))
    expected = sum(
        0.5 * float(w) * float(literal.binary_cross_entropy(logit[0], target))
        for says, weights, target in ((says_s, a, 1 - eps), (says_t, b, eps))
        for logit, w in zip(says, weights, strict=True)
    )
    assert float(domain_loss(says_s, says_t, a, b, (1 - eps, eps))) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_discriminator_has_as_many_linear_layers_as_asked(depth: int) -> None:
    layers = list(mlp(7, 1, width=16, depth=depth, dropout=0.5, norm=True))
    linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
    assert [(layer.in_features, layer.out_features) for layer in linear] == [(7, 16)] + [(16, 16)] * (depth - 2) + [
        (16, 1)
    ]
    for kind in (nn.ReLU, nn.BatchNorm1d, nn.Dropout):
        assert sum(isinstance(layer, kind) for layer in layers) == depth - 1
    assert isinstance(layers[-1], nn.Linear)
    plain = mlp(7, 1, width=16, depth=depth, dropout=0.0, norm=False)
    assert {type(layer) for layer in plain} == {nn.Linear, nn.ReLU}
