"""ARM-CML: a classifier that adapts to an unlabelled batch through a context of it.

    context of a support S of images of one domain:  c(S) = mean over x in S of C(x),   C a small image-to-image network
    logits of x in S:  g(f([x, c(S)])),  the context as one more channel of the image

C learns together with f and g. No target data are used in training; in prediction a batch adapts by its own images,
without labels.

Supports: consecutive images of one domain, ``support`` at a time. The last, when fewer are left, looks back: its
context is of the domain's last ``support`` images in the batch. So a prediction depends on its batch alone, and the
predictions for a list of images, a multiple of ``support`` at a time, do not depend on how many that is (but for an
incomplete support at the end of the list).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from orda.algorithms.base import Algorithm, Losses, task_loss
from orda.algorithms.settings import Settings, setting
from orda.models import set_input_channels
from orda.records import Batch


@dataclass(frozen=True)
class ARMSettings(Settings):
    """ARM; a support of 8 images, which is DomainBed's batch size for it."""

    support: int = setting(8, least=1)


class ARM(Algorithm):
    """Adaptive risk minimisation with contextual meta-learning."""

    name = "arm"
    settings: ARMSettings
    settings_type = ARMSettings
    uses_target = False
    source_domains: Tensor | None

    @property
    def predict_group(self) -> int:
        return self.settings.support

    def build(self) -> None:
        channels = len(self.model.mean)
        set_input_channels(self.model.featurizer, channels + 1)
        self.context = context_network(channels)
        self.register_buffer("source_domains", None, persistent=False)

    def set_source_domains(self, domains: Tensor) -> None:
        self.source_domains = domains.to(next(self.parameters()).device)

    def losses(self, batch: Batch, step: int) -> Losses:
        del step
        domains = None if self.source_domains is None else self.source_domains[batch.source.index]
        task = task_loss(self.classify(self.embed(self.prepare(batch.source.x, domains))), batch.source)
        return {"loss": task, "task": task}

    def prepare(self, x: Tensor, domains: Tensor | None = None) -> Tensor:
        """The images x (n, c, h, w) with their context as channel c + 1; all of one domain unless ``domains`` (n,)."""
        each = self.in_precision(self.context, x)
        mean = supports(x.new_zeros(len(x), dtype=torch.long) if domains is None else domains, self.settings.support)
        shared = (mean.to(each.dtype) @ each.flatten(1)).view_as(each)
        return torch.cat([x, shared.to(x.dtype)], 1)


def context_network(channels: int) -> nn.Sequential:
    """Three 5×5 convolutions, 64, 64 and 1 wide, of the image's own size."""
    return nn.Sequential(
        nn.Conv2d(channels, 64, 5, padding=2, bias=False),  # the next layer takes a bias out again
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.Conv2d(64, 64, 5, padding=2, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.Conv2d(64, 1, 5, padding=2),
    )


def supports(domains: Tensor, size: int) -> Tensor:
    """(n, n): row i holds 1/|S| at the members of the support S of example i. Nothing waits for the device.

    An example of rank r among the n_d of its domain has the support of ranks s..s+size−1,
    s = min(size ⌊r/size⌋, max(n_d − size, 0)).
    """
    same = domains.unsqueeze(1) == domains.unsqueeze(0)
    rank = same.tril().sum(1) - 1
    start = torch.minimum(rank // size * size, (same.sum(1) - size).clamp_min(0))
    members = same & (rank >= start.unsqueeze(1)) & (rank < start.unsqueeze(1) + size)
    return members / members.sum(1, keepdim=True)
