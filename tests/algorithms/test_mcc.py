"""MCC: the confusion matrix by hand, and what it wants."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from references import algorithms as literal
from references.tiny import minibatch, smooth_model

from orda.algorithms import build_algorithm
from orda.algorithms.mcc import class_confusion


@st.composite
def problems(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    n, c, seed = draw(st.integers(1, 6)), draw(st.integers(2, 5)), draw(st.integers(0, 1000))
    generator = torch.Generator().manual_seed(seed)
    logits = draw(st.sampled_from([0.1, 1.0, 5.0])) * torch.randn(n, c, generator=generator, dtype=torch.float64)
    w = torch.rand(n, generator=generator, dtype=torch.float64) + 0.01
    return logits, w / w.sum()


@given(problem=problems(), temperature=st.floats(0.5, 5))
def test_confusion_and_its_gradient_are_the_literal_ones(
    problem: tuple[torch.Tensor, torch.Tensor], temperature: float
) -> None:
    logits, w = problem
    ours, expected = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    a, b = class_confusion(ours, w, temperature), literal.mcc(expected, w, temperature)
    assert a.item() == pytest.approx(b.item(), rel=1e-10, abs=1e-14)
    torch.testing.assert_close(
        torch.autograd.grad(a, ours)[0], torch.autograd.grad(b, expected)[0], rtol=1e-8, atol=1e-12
    )


def test_sure_predictions_are_not_confused_and_even_ones_are_wholly() -> None:
    w = torch.full((3,), 1 / 3, dtype=torch.float64)
    sure = 200 * torch.eye(3, dtype=torch.float64)
    assert float(class_confusion(sure, w, 1.0)) == pytest.approx(0, abs=1e-12)
    assert float(class_confusion(torch.zeros(3, 3, dtype=torch.float64), w, 1.0)) == pytest.approx(2 / 3)


def test_a_class_that_nobody_could_be_gives_no_nan() -> None:
    logits = torch.tensor([[0.0, -1e4], [0.0, -1e4]], requires_grad=True)
    confusion = class_confusion(logits, torch.tensor([0.5, 0.5]), 1.0)
    assert math.isfinite(confusion.item())
    assert torch.isfinite(torch.autograd.grad(confusion, logits)[0]).all()


def test_the_loss_is_task_plus_penalty_times_confusion_of_the_target() -> None:
    algorithm = build_algorithm("mcc", smooth_model(), seed=0, penalty=0.3, temperature=1.7)
    b = minibatch(0, 4, 5, torch.float64, weighted=True)
    losses = algorithm.losses(b, 0)
    assert b.source.y is not None
    task = literal.weighted_task(algorithm.model(b.source.x), b.source.y, b.source.weight)
    confusion = literal.mcc(algorithm.model(b.target.x), b.target.weight, 1.7)
    assert losses["loss"].item() == pytest.approx((task + 0.3 * confusion).item(), rel=1e-6)
