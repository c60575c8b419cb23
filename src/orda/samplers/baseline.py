"""What the samplers that the paper compares with have in common: each domain by itself, every weight 1/k."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orda.discrepancies import Discrepancy, Embedding
from orda.kernels import Kernel, Linear, warn_if_blind
from orda.records import Features, IntArray, Plan
from orda.samplers.base import Sampler, equal_weight_plan
from orda.seeds import children
from orda.threads import in_pieces

Notes = dict[str, float]


class Baseline(Sampler):
    """Plans source and target from independent streams of random numbers; on the CPU side by side, one thread each."""

    def plan(
        self,
        features: Features,
        batch_size: int,
        horizon: int,
        rng: np.random.Generator,
        previous: Plan | None = None,
    ) -> Plan:
        started, device = time.perf_counter(), features.source.device

        def look(features: Features) -> Embedding:
            view = self.view(features)
            if previous is None:  # of the last plan nothing else is used: these samplers start afresh
                warn_if_blind(view.kernel, view.source, view.target)
            return view

        def draw(domain: tuple[Tensor, np.random.Generator]) -> tuple[IntArray, Notes]:
            return self.draw(view.kernel, domain[0], batch_size, horizon, domain[1])

        (view,) = in_pieces(look, [features], device)
        domains = zip((view.source, view.target), children(rng, 2), strict=True)
        (source, source_notes), (target, target_notes) = in_pieces(draw, domains, device)
        diagnostics: dict[str, Any] = {"sampler": self.name, "unbiased": self.unbiased}
        diagnostics |= {key: [source_notes[key], target_notes[key]] for key in source_notes}
        diagnostics["seconds"] = time.perf_counter() - started
        own = (1 / len(view.source), 1 / len(view.target)) if self.distinct else (0.0, 0.0)
        return Plan(equal_weight_plan(source, own[0]), equal_weight_plan(target, own[1]), diagnostics)

    @property
    def distinct(self) -> bool:
        """Whether the examples of a minibatch are always different ones."""
        return True

    def view(self, features: Features) -> Embedding:
        """The points from which examples are chosen, and their kernel: the features themselves, unless overridden."""
        return Embedding(Linear(), features.source, features.target)

    @abstractmethod
    def draw(
        self, kernel: Kernel, x: Tensor, batch_size: int, horizon: int, rng: np.random.Generator
    ) -> tuple[IntArray, Notes]:
        """The minibatches (M, k) of one domain with points x (n, d), and numbers worth keeping in the diagnostics."""

    def settings(self) -> dict[str, Any]:
        return {"name": self.name} | {key: _plain(value) for key, value in super().settings().items()}


def view_by(kernel: Kernel | Discrepancy, features: Features) -> Embedding:
    """The features under a kernel, or under the map φ of a discrepancy; what depends on the data is fixed."""
    if isinstance(kernel, Discrepancy):
        return kernel.embedding(features)
    resolved = kernel.resolved(torch.cat([features.source, features.target]))
    return Embedding(resolved, features.source, features.target)


def standardised(x: Tensor) -> Tensor:
    """x (n, d) in float64, centred, divided by its largest magnitude.

    Samplers that shifts and a common scale of the features leave unchanged take this form: no overflow, no digits
    lost to a large mean, and a constant feature is exactly zero.
    """
    x = x.detach().to(torch.float64, copy=True)
    low, high = torch.aminmax(x, dim=0)
    scale = torch.maximum(high.max(), -low.min())
    if float(scale) == 0.0:
        return x
    x.div_(scale)
    x.sub_(torch.where(low == high, x[0], x.mean(0)))
    return x


def _plain(value: Any) -> Any:
    """A setting as JSON can write it."""
    if isinstance(value, Discrepancy):
        return value.settings()
    if isinstance(value, Kernel):
        return {"name": value.name, **(asdict(value) if is_dataclass(value) else {})}
    return value
