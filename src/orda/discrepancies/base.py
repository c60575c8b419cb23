"""The contract of a discrepancy: D0 of all data, its minibatch estimate D̂, and the map φ whose means it compares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from orda.discrepancies.draws import Draws, Weights, check_draws, check_weights
from orda.errors import FeatureError, SettingError, UnknownName
from orda.kernels import Kernel
from orda.records import Features
from orda.threads import in_pieces

PLUG_IN, UNBIASED = ESTIMATORS = ("plug-in", "unbiased")


@dataclass(frozen=True, slots=True)
class Embedding:
    """φ of a discrepancy, as a kernel and the points it takes: κ(points_i, points_j) = ⟨φ(z_i), φ(z_j)⟩.

    Where ``centres`` are given, they are still to be taken off the points: so they need not be copied.
    """

    kernel: Kernel
    source: Tensor  # (n_s, d)
    target: Tensor  # (n_t, d)
    centres: tuple[Tensor, Tensor] | None = None  # (d,) each

    def centred(self) -> Embedding:
        """The same with the centres taken off, in copies of the points."""
        if self.centres is None:
            return self
        domains = zip((self.source, self.target), self.centres, strict=True)
        source, target = in_pieces(lambda pair: pair[0] - pair[1], domains, self.source.device)
        return Embedding(self.kernel, source, target)


class Discrepancy(ABC):
    """L_disc between source and target features. Frozen: settings only.

    Calling it gives the weighted estimate D̂ of one or many minibatches, differentiable, a loss to train with.
    ``estimator`` says which: ``"plug-in"`` puts the minibatch in the place of all data, as the paper does, and is too
    large by the variances of its means; ``"unbiased"`` is D0 on average, and may be negative.
    """

    name: ClassVar[str]
    estimator: str

    @property
    def batch_centred(self) -> bool:
        """Whether D̂ centres on the minibatch's own mean, so that it is not a quadratic form in one embedding."""
        return False

    def __call__(self, zs: Tensor, zt: Tensor, ws: Weights = None, wt: Weights = None) -> Tensor:
        """D̂ of minibatches zs (..., b_s, d), zt (..., b_t, d) with weights ws (..., b_s), wt (..., b_t): (...).

        Weights sum to 1 in each minibatch; ``None`` means equal weights. In the place of a domain's weights its half of
        a minibatch may be passed (``batch.source``, ``batch.target``), and to an unbiased estimate it must be: it says
        which examples share a stratum.
        """
        check_pair(zs, zt)
        with torch.autocast(
            zs.device.type, enabled=False
        ):  # differences of near-equal sums do not survive half precision
            dtype = torch.promote_types(torch.promote_types(zs.dtype, zt.dtype), torch.float32)
            zs, zt = zs.to(dtype), zt.to(dtype)
            if self.estimator == UNBIASED:
                return self.unbiased(zs, zt, check_draws("source", zs, ws), check_draws("target", zt, wt))
            return self.estimate(zs, zt, check_weights("source", zs, ws), check_weights("target", zt, wt))

    @abstractmethod
    def estimate(self, zs: Tensor, zt: Tensor, ws: Tensor | None, wt: Tensor | None) -> Tensor:
        """The plug-in D̂, of arguments that are checked already."""

    def unbiased(self, zs: Tensor, zt: Tensor, source: Draws, target: Draws) -> Tensor:
        """The unbiased D̂, of arguments that are checked already."""
        raise SettingError(f"{self.name} has no unbiased estimate", self.estimator, f"Use estimator={PLUG_IN!r}")

    @abstractmethod
    def resolved(self, features: Features) -> Discrepancy:
        """The discrepancy with everything that depends on the whole data fixed (median γ, n/(n−1))."""

    @abstractmethod
    def embedding(self, features: Features) -> Embedding:
        """The map φ by which the domains are stratified (and which the objective "embedding" keeps in place)."""

    def bare_embedding(self, features: Features) -> Embedding:
        """The same, with centres still to be taken off where that saves copies of all points."""
        return self.embedding(features)

    @abstractmethod
    def reference(self, features: Features, within: tuple[float, float] | None = None) -> float:
        """D0: the discrepancy of all the data. ``within`` are the domains' own mean kernel values, where known."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The settings as plain values, for the record of a run."""


def check_estimator(estimator: str) -> None:
    if estimator not in ESTIMATORS:
        raise UnknownName("estimator", estimator, ESTIMATORS)


def check_pair(zs: Tensor, zt: Tensor) -> None:
    """Both are (..., b, d) tensors of floats with the same d and the same leading shape."""
    for domain, z in (("source", zs), ("target", zt)):
        if not isinstance(z, Tensor):
            raise FeatureError(
                f"{domain} features must be a torch tensor", type(z).__name__, "Use torch.as_tensor first"
            )
        if z.ndim < 2 or z.shape[-2] < 1:
            raise FeatureError(
                f"{domain} features must be (..., b, d) with b ≥ 1", tuple(z.shape), "Flatten each example"
            )
        if not z.is_floating_point():
            raise FeatureError(f"{domain} features must be floating point", z.dtype, "Call .float() first")
    if zs.shape[-1] != zt.shape[-1] or zs.shape[:-2] != zt.shape[:-2]:
        raise FeatureError(
            "source and target must agree in d and in their leading dimensions",
            f"{tuple(zs.shape)} and {tuple(zt.shape)}",
            "Take both from the same featuriser",
        )
    if zs.device != zt.device:
        raise FeatureError(
            "source and target must be on one device", f"{zs.device} and {zt.device}", "Move one of them"
        )
