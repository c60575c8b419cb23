"""CDAN: a discriminator that sees the features together with what the classifier makes of them.

    h = vec(p ⊗ z),  p = softmax(g(z)), held constant;   loss = task + domain loss of D(R(h)),  R as in DANN

``random_map = r > 0`` replaces the d·C numbers of the outer product by r: h = (A z) ∘ (B p) / √r, with A and B standard
normal and fixed, whose inner products are those of p ⊗ z on average.

``entropy`` weighs the examples of which the classifier is sure more (CDAN+E): a_i ∝ w_i (1 + exp(−H(p_i))), normalised
to 1 in each domain, held constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from orda.algorithms.adversary import (
    ADVERSARIAL_SPACE,
    Adversarial,
    AdversarialSettings,
    domain_loss,
    reverse_gradient,
)
from orda.algorithms.base import Losses, task_loss
from orda.algorithms.settings import setting
from orda.algorithms.space import Space
from orda.records import Batch

SPACE: Space = ADVERSARIAL_SPACE


@dataclass(frozen=True)
class CDANSettings(AdversarialSettings):
    """CDAN without a random map and without entropy weights, as in TLlib."""

    random_map: int = setting(0, least=0)
    entropy: bool = setting(False)


class CDAN(Adversarial):
    """Conditional domain-adversarial training."""

    name = "cdan"
    settings: CDANSettings
    settings_type = CDANSettings
    space = SPACE
    random_z: Tensor
    random_p: Tensor

    def build(self) -> None:
        d, c, r = self.model.feature_size, self.model.n_classes, self.settings.random_map
        if r > 0:
            self.register_buffer("random_z", torch.randn(d, r))
            self.register_buffer("random_p", torch.randn(c, r))
        self.discriminator = self.make_discriminator(r if r > 0 else d * c, 1)

    def domain_targets(self) -> tuple[float, float]:
        """What the discriminator should say of the source and of the target."""
        return 1.0, 0.0

    def losses(self, batch: Batch, step: int) -> Losses:
        zs, zt = self.embed_both(batch)
        z = torch.cat([zs, zt])
        logits = self.classify(z)
        task = task_loss(logits[: len(zs)], batch.source)
        p = logits.detach().softmax(1)
        h = reverse_gradient(self.joint(z, p), self.reversal(step))
        says = self.judge(h)
        a = self._emphasis(batch.source.weight, p[: len(zs)])
        b = self._emphasis(batch.target.weight, p[len(zs) :])
        domain = domain_loss(says[: len(zs)], says[len(zs) :], a, b, self.domain_targets())
        return {"loss": task + domain, "task": task, "domain": domain}

    def joint(self, z: Tensor, p: Tensor) -> Tensor:
        """h of the features z (n, d) and class probabilities p (n, C)."""
        if self.settings.random_map == 0:
            return outer(z, p)
        mapped = (z @ self.random_z.to(z.dtype)) * (p @ self.random_p.to(p.dtype))
        return mapped / math.sqrt(self.settings.random_map)

    def _emphasis(self, weight: Tensor, p: Tensor) -> Tensor:
        return entropy_weights(weight, p) if self.settings.entropy else weight


def outer(z: Tensor, p: Tensor) -> Tensor:
    """vec(p_i ⊗ z_i) for every example: (n, C·d), class after class."""
    return (p.unsqueeze(2) * z.unsqueeze(1)).flatten(1)


def entropy_weights(weight: Tensor, p: Tensor) -> Tensor:
    """w_i (1 + exp(−H(p_i))), normalised to sum 1; p (n, C) are probabilities."""
    entropy: Tensor = torch.special.entr(p).sum(1)
    sure = weight.to(p.dtype) * (1 + torch.exp(-entropy))
    return sure / sure.sum()
