"""CDAN with a smooth task loss (SDAT): sharpness-aware steps, for the task loss of featuriser and head only.

    1  g = ∇_θ task(θ)                            θ: featuriser and head
    2  θ' = θ + ρ g / (‖g‖ + 1e-12)                the worst place nearby for the task
    3  gradients of task + domain loss at θ'       the discriminator's too, of the same pass
    4  back to θ, and there one step with the gradients of 3

Running statistics of batch normalisation move once in a step, in pass 1, at the weights that are kept; pass 3 uses
the minibatch's own statistics and leaves the running ones alone. Where batch normalisation learns, pass 1 takes both
domains, so that the task loss of both passes is the same function; where it is frozen, the source alone gives the same.
(Dropout, where there is any, draws anew in pass 3.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from orda.algorithms import cdan
from orda.algorithms.base import Losses, task_loss
from orda.algorithms.settings import setting
from orda.algorithms.space import LogUniform, Space
from orda.records import Batch

# 0.01 to 0.1, around the two values its authors use (0.05; 0.02 for Office-Home with a vision transformer).
SPACE: Space = {**cdan.SPACE, "rho": LogUniform(-2, -1)}


@dataclass(frozen=True)
class SDATSettings(cdan.CDANSettings):
    """CDAN+SDAT; ρ as in its authors' scripts."""

    rho: float = setting(0.05, least=0)


class SDAT(cdan.CDAN):
    """CDAN with sharpness-aware steps for the task loss."""

    name = "cdan-sdat"
    settings: SDATSettings
    settings_type = SDATSettings
    space = SPACE

    def train_step(self, batch: Batch, step: int) -> Losses:
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        gradient = torch.autograd.grad(self._task(batch), parameters, allow_unused=True)  # 1
        with moved(parameters, ascent(gradient, self.settings.rho)), still_statistics(self.model):  # 2
            losses = self.losses(batch, step)
            self.backward(losses["loss"])  # 3
        self.step_optimisers()  # 4
        return losses

    def _task(self, batch: Batch) -> Tensor:
        mixes = any(layer.training for layer in batch_norms(self.model))
        zs = self.embed_both(batch)[0] if mixes else self.embed(self.prepare(batch.source.x))
        return task_loss(self.classify(zs), batch.source)


def ascent(gradient: Sequence[Tensor | None], rho: float) -> list[Tensor | None]:
    """ρ g / (‖g‖ + 1e-12), ‖g‖ over all tensors together."""
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in gradient if g is not None]))
    return [None if g is None else rho * g / (norm + 1e-12) for g in gradient]


@contextmanager
def moved(parameters: Sequence[nn.Parameter], moves: Sequence[Tensor | None]) -> Iterator[None]:
    """Inside, the parameters stand at θ + moves; afterwards they are what they were, to the bit."""
    kept = [p.detach().clone() for p in parameters]
    with torch.no_grad():
        for p, move in zip(parameters, moves, strict=True):
            if move is not None:
                p.add_(move)
    try:
        yield
    finally:
        with torch.no_grad():
            for p, value in zip(parameters, kept, strict=True):
                p.copy_(value)


def batch_norms(module: nn.Module) -> list[nn.modules.batchnorm._BatchNorm]:
    return [layer for layer in module.modules() if isinstance(layer, nn.modules.batchnorm._BatchNorm)]


@contextmanager
def still_statistics(module: nn.Module) -> Iterator[None]:
    """Inside, batch normalisation in training normalises by the minibatch and does not move its running statistics.

    A layer that is told not to track them passes none to its kernel, which then has nothing to move.
    """
    tracking = [layer for layer in batch_norms(module) if layer.training and layer.track_running_stats]
    for layer in tracking:
        layer.track_running_stats = False
    try:
        yield
    finally:
        for layer in tracking:
            layer.track_running_stats = True
