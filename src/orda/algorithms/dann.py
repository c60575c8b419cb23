"""DANN: features from which no discriminator can tell the domains apart. Two forms are in use under this name.

``form="reversal"``, one step for both players:

    loss = Σ_i w_i CE(g(z_s,i), y_i) + domain loss of D(R(z)),      R(z) = z, dR/dz = −λ (2/(1 + exp(−step/1000)) − 1)

``form="alternating"``, DomainBed's, with the target as one more domain: of every 1 + d_steps steps the first d_steps
move the discriminator alone, down  L_D = CE(D(z), domain) + grad_penalty · E‖∂CE/∂z‖²,  and the last one moves
featuriser and head alone, down  task − λ L_D.

Reversal is the default. It trains the classifier in every step, as all the other methods do, where the alternating
form with its default d_steps=1 would leave it half of the same budget; and CDAN, SDAT and ELS are built on it, so that
each of them differs from this one in one thing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from torch import Tensor

from orda.algorithms.adversary import (
    ADVERSARIAL_SPACE,
    Adversarial,
    AdversarialSettings,
    domain_loss,
    reverse_gradient,
)
from orda.algorithms.base import Losses, task_loss
from orda.algorithms.settings import Settings, setting
from orda.algorithms.space import Choice, LogUniform, PowerOfTwo, Space
from orda.records import Batch

SPACE: Space = ADVERSARIAL_SPACE
ALTERNATING_SPACE: Space = {
    **SPACE,
    "d_steps": PowerOfTwo(0, 3),
    "grad_penalty": LogUniform(-2, 1),
    "beta1": Choice((0.0, 0.5)),
}


@dataclass(frozen=True)
class DANNSettings(AdversarialSettings):
    """DANN. The last three belong to form="alternating", ``ramp`` to form="reversal"."""

    form: str = setting("reversal", choices=("reversal", "alternating"))
    d_steps: int = setting(1, least=1)
    grad_penalty: float = setting(0.0, least=0)
    beta1: float = setting(0.5, least=0, below=1)  # of both Adams, whose β2 is 0.9

    def faults(self) -> list[str]:
        strangers = {"reversal": ("d_steps", "grad_penalty", "beta1"), "alternating": ("ramp",)}.get(self.form, ())
        return super().faults() + [
            f"{f.name} does nothing with form={self.form!r}, leave it at {f.default}, not {getattr(self, f.name)!r}"
            for f in fields(self)
            if f.name in strangers and getattr(self, f.name) != f.default
        ]


class DANN(Adversarial):
    """Domain-adversarial training on the features."""

    name = "dann"
    settings: DANNSettings
    settings_type = DANNSettings
    space = SPACE

    @classmethod
    def search_space(cls, settings: Settings) -> Space:
        alternating = isinstance(settings, DANNSettings) and settings.form == "alternating"
        return ALTERNATING_SPACE if alternating else SPACE

    @property
    def alternating(self) -> bool:
        return self.settings.form == "alternating"

    def build(self) -> None:
        self.discriminator = self.make_discriminator(self.model.feature_size, 2 if self.alternating else 1)

    def build_optimisers(self) -> tuple[torch.optim.Optimizer, ...]:
        if not self.alternating:
            return super().build_optimisers()
        betas = (self.settings.beta1, 0.9)
        return self.adam(self.model.parameters(), betas=betas), self.adam_of_discriminator(betas=betas)

    def train_step(self, batch: Batch, step: int) -> Losses:
        if not self.alternating:
            return super().train_step(batch, step)
        losses = self.losses(batch, step)
        of_model, of_discriminator = self.optimisers
        mover = of_discriminator if self.moves_discriminator(step) else of_model
        self.backward(losses["loss"])
        mover.step()
        return losses

    def moves_discriminator(self, step: int) -> bool:
        """Whether step ``step`` of the alternating form is the discriminator's."""
        return step % (1 + self.settings.d_steps) < self.settings.d_steps

    def losses(self, batch: Batch, step: int) -> Losses:
        if self.alternating:
            return self._alternating_losses(batch, step)
        zs, zt = self.embed_both(batch)
        task = task_loss(self.classify(zs), batch.source)
        reversed_z = reverse_gradient(torch.cat([zs, zt]), self.reversal(step))
        says = self.judge(reversed_z)
        domain = domain_loss(says[: len(zs)], says[len(zs) :], batch.source.weight, batch.target.weight)
        return {"loss": task + domain, "task": task, "domain": domain}

    def _alternating_losses(self, batch: Batch, step: int) -> Losses:
        discriminator_moves = self.moves_discriminator(step)
        with torch.set_grad_enabled(not discriminator_moves):  # the featuriser stays: nothing to remember for it
            zs, zt = self.embed_both(batch)
        z = torch.cat([zs, zt]) if not discriminator_moves else torch.cat([zs, zt]).requires_grad_()
        domain = self.domain_loss_with_penalty(z, batch)
        if discriminator_moves:
            return {"loss": domain, "domain": domain}
        task = task_loss(self.classify(zs), batch.source)
        return {"loss": task - self.settings.penalty * domain, "task": task, "domain": domain}

    def domain_loss_with_penalty(self, z: Tensor, batch: Batch) -> Tensor:
        """Σ_i a_i CE(D(z_i), domain_i) + grad_penalty Σ_i a_i ‖∂CE_i/∂z_i‖², a = half of each domain's weights."""
        n_s = len(batch.source.x)
        domains = torch.zeros(len(z), dtype=torch.long, device=z.device)
        domains[n_s:] = 1
        a = torch.cat([batch.source.weight, batch.target.weight]).to(z.dtype) / 2
        each = F.cross_entropy(self.judge(z), domains, reduction="none")
        loss = (a * each).sum()
        if self.settings.grad_penalty > 0:
            (slope,) = torch.autograd.grad(each.sum(), z, create_graph=True)
            loss = loss + self.settings.grad_penalty * (a * slope.square().sum(1)).sum()
        return loss
