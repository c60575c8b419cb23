"""What the adversarial methods share: the discriminator, the reversal of its gradient, its loss.

    domain loss  ½ Σ_i a_i BCE(D(h_s,i), t_s) + ½ Σ_j b_j BCE(D(h_t,j), t_t)

D says whether h is of the source (1) or of the target (0); a and b sum to 1 over a minibatch (the plan's weights).
The discriminator goes down this loss while the featuriser, behind the reversal, goes up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from orda.algorithms.base import ADAM_SPACE, Algorithm
from orda.algorithms.settings import Settings, setting
from orda.algorithms.space import Choice, LogUniform, PowerOfTwo, Space


@dataclass(frozen=True)
class AdversarialSettings(Settings):
    """The trade-off λ and the discriminator, with DomainBed's defaults for its DANN.

    (The discriminator of TLlib, and of CDAN's authors, is mlp_width=1024 with mlp_norm=True or mlp_dropout=0.5.)
    """

    penalty: float = setting(1.0, least=0)  # λ
    lr_d: float = setting(5e-5, above=0)
    weight_decay_d: float = setting(0.0, least=0)
    mlp_width: int = setting(256, least=1)
    mlp_depth: int = setting(3, least=2)
    mlp_dropout: float = setting(0.0, least=0, below=1)
    mlp_norm: bool = setting(False)
    ramp: float = setting(1000.0, above=0)  # steps over which the reversal sets in


# DomainBed's search for DANN. CDAN, SDAT and ELS are not in DomainBed; the same discriminator gets the same search.
ADVERSARIAL_SPACE: Space = {
    **ADAM_SPACE,
    "penalty": LogUniform(-2, 2),
    "lr_d": LogUniform(-5, -3.5),
    "weight_decay_d": LogUniform(-6, -2),
    "mlp_width": PowerOfTwo(6, 10),
    "mlp_depth": Choice((3, 4, 5)),
    "mlp_dropout": Choice((0.0, 0.1, 0.5)),
}


class Adversarial(Algorithm):
    """An algorithm with a discriminator that has its own Adam."""

    alignment = "domain"
    discriminator: nn.Module

    settings: AdversarialSettings

    def make_discriminator(self, inputs: int, outputs: int) -> nn.Sequential:
        s = self.settings
        return mlp(inputs, outputs, s.mlp_width, s.mlp_depth, s.mlp_dropout, s.mlp_norm)

    def build_optimisers(self) -> tuple[torch.optim.Optimizer, ...]:
        return self.adam(self.model.parameters()), self.adam_of_discriminator()

    def adam_of_discriminator(self, **changes: Any) -> torch.optim.Adam:
        own = {"lr": self.settings.lr_d, "weight_decay": self.settings.weight_decay_d}
        return self.adam(self.discriminator.parameters(), **own, **changes)

    def judge(self, h: Tensor) -> Tensor:
        """The discriminator's logits, computed in ``amp`` and returned in full precision."""
        return self.in_precision(self.discriminator, h)

    def reversal(self, step: int) -> float:
        """What the featuriser's gradient from the domain loss is multiplied with, but for its sign: λ · schedule.

        λ stands here and not before the loss, so that the discriminator learns at full strength whatever λ is.
        """
        return self.settings.penalty * reversal_schedule(step, self.settings.ramp)


def mlp(inputs: int, outputs: int, width: int, depth: int, dropout: float, norm: bool) -> nn.Sequential:
    """``depth`` linear layers, the inner ones ``width`` wide and followed by (BatchNorm,) ReLU (and dropout)."""
    sizes = [inputs] + [width] * (depth - 1)
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers.append(nn.Linear(before, after))
        layers += [nn.BatchNorm1d(after)] if norm else []
        layers.append(nn.ReLU())
        layers += [nn.Dropout(dropout)] if dropout > 0 else []
    return nn.Sequential(*layers, nn.Linear(width, outputs))


def reversal_schedule(step: int, ramp: float) -> float:
    """2 / (1 + exp(−step/ramp)) − 1: from 0 towards 1."""
    return 2 / (1 + math.exp(-step / ramp)) - 1


class _Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, coefficient: float) -> Tensor:
        ctx.coefficient = coefficient
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return -ctx.coefficient * gradients[0], None


def reverse_gradient(x: Tensor, coefficient: float) -> Tensor:
    """x itself on the way forward; −coefficient times the gradient on the way back."""
    reversed_x: Tensor = _Reverse.apply(x, coefficient)  # type: ignore[no-untyped-call]
    return reversed_x


def domain_loss(
    source_logits: Tensor, target_logits: Tensor, a: Tensor, b: Tensor, targets: tuple[float, float] = (1.0, 0.0)
) -> Tensor:
    """½ Σ a BCE(source_logits, targets[0]) + ½ Σ b BCE(target_logits, targets[1]); logits (n, 1), weights (n,)."""
    halves = []
    for logits, weight, value in ((source_logits, a, targets[0]), (target_logits, b, targets[1])):
        logits = logits.squeeze(-1)
        each = F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, value), reduction="none")
        halves.append((weight.to(each.dtype) * each).sum())
    return (halves[0] + halves[1]) / 2
