"""MCC: minimum class confusion. The classifier's soft predictions on the target should not mix classes.

p_j = softmax(g(z_t,j) / T)
ω_j ∝ w_j (1 + exp(−H(p_j))), held constant            sure examples say more about confusion
C = Σ_j ω_j p_j p_jᵀ, every row divided by its sum      (so the scale of ω does not matter)
confusion = (sum of C − trace of C) / classes;           loss = task + λ · confusion
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orda.algorithms.base import ADAM_SPACE, Algorithm, Losses, task_loss
from orda.algorithms.cdan import entropy_weights
from orda.algorithms.settings import Settings, setting
from orda.algorithms.space import LogUniform, Space, Uniform
from orda.records import Batch

# T around the values in use (2.5; 3 for VisDA, 2 for DomainNet); λ from 0.1 to 10 (1; 10 for DomainNet).
SPACE: Space = {**ADAM_SPACE, "penalty": LogUniform(-1, 1), "temperature": Uniform(1.5, 3.5)}


@dataclass(frozen=True)
class MCCSettings(Settings):
    """MCC, with TLlib's defaults."""

    penalty: float = setting(1.0, least=0)  # λ
    temperature: float = setting(2.5, above=0)  # T


class MCC(Algorithm):
    """Minimum class confusion on the target."""

    name = "mcc"
    settings: MCCSettings
    settings_type = MCCSettings
    space = SPACE
    alignment = "confusion"

    def losses(self, batch: Batch, step: int) -> Losses:
        del step
        zs, zt = self.embed_both(batch)
        logits = self.classify(torch.cat([zs, zt]))
        task = task_loss(logits[: len(zs)], batch.source)
        confusion = class_confusion(logits[len(zs) :], batch.target.weight, self.settings.temperature)
        return {"loss": task + self.settings.penalty * confusion, "task": task, "confusion": confusion}


def class_confusion(logits: Tensor, weight: Tensor, temperature: float) -> Tensor:
    """The confusion of logits (n, C) with weights (n,)."""
    p = (logits / temperature).softmax(1)
    omega = entropy_weights(weight, p.detach())
    matrix = p.mT @ (omega.unsqueeze(1) * p)
    rows = matrix.sum(1, keepdim=True).clamp_min(torch.finfo(p.dtype).tiny)
    normalised = matrix / rows
    return (normalised.sum() - trace(normalised)) / logits.shape[1]


def trace(x: Tensor) -> Tensor:
    """Σ_i x_ii. The gradient of torch's own reads a value back, for which a step would wait on a GPU."""
    return x.trace() if x.device.type == "cpu" else x.diagonal().sum()
