"""The (squared) maximum mean discrepancy.

    D0 = ‖ (1/n_s) Σ_i φ(z_s,i) − (1/n_t) Σ_j φ(z_t,j) ‖²                                    over all data
    D̂  = ‖ Σ_h p_h φ(z_s,h) − Σ_h q_h φ(z_t,h) ‖² = pᵀK_ss p + qᵀK_tt q − 2 pᵀK_st q           of a minibatch

with p_h = |S_h|/n_s and q_h = |T_h|/n_t. This plug-in D̂ is a V-statistic (the diagonals of K_ss and K_tt are in it): it
is biased upward by the variances of the two mean embeddings, E D̂ = D0 + V_s + V_t. The unbiased one takes pairs only:

    D̂  = Σ_ij A_ij κ(s_i, s_j) + Σ_ij A'_ij κ(t_i, t_j) − 2 pᵀK_st q

with A of ``discrepancies.draws``: the U-statistic for uniform minibatches, pairs within a stratum for stratified ones.
It may be negative. Nothing is cut off: that would bring back a bias.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from orda.discrepancies.base import PLUG_IN, Discrepancy, Embedding, check_estimator
from orda.discrepancies.draws import Draws, difference_coefficients, equal_weights
from orda.errors import SettingError, UnknownName
from orda.kernels import MEDIAN_OF, Kernel, Linear, RBFMixture, SquaredInner, mean, mean_kernel, spread
from orda.records import Features
from orda.threads import in_pieces

KERNELS: dict[str, type[Kernel]] = {"linear": Linear, "rbf-mixture": RBFMixture, "squared-inner": SquaredInner}


@dataclass(frozen=True)
class MMD(Discrepancy):
    """Squared MMD with a linear kernel, an RBF mixture (default: the paper's five γ), or any ``Kernel``.

    ``gammas`` belongs to the RBF mixture: numbers, or ``"median"`` to divide the paper's five by the median squared
    distance of the data (of each minibatch by itself, until ``resolved`` fixes it).
    """

    kernel: Kernel | str = "rbf-mixture"
    gammas: tuple[float, ...] | Literal["median"] | None = None
    estimator: str = PLUG_IN
    name: ClassVar[str] = "mmd"

    def __post_init__(self) -> None:
        check_estimator(self.estimator)
        object.__setattr__(self, "kernel", make_kernel(self.kernel, self.gammas))
        object.__setattr__(self, "gammas", getattr(self.kernel, "gammas", None))

    @property
    def _kernel(self) -> Kernel:
        assert isinstance(self.kernel, Kernel)
        return self.kernel

    def estimate(self, zs: Tensor, zt: Tensor, ws: Tensor | None, wt: Tensor | None) -> Tensor:
        ws = equal_weights(zs) if ws is None else ws
        wt = equal_weights(zt) if wt is None else wt
        z, signed = torch.cat([zs, zt], -2), torch.cat([ws, -wt], -1)
        if self._kernel.explicit(z) is z:  # linear: the distance between the two means itself
            return (signed[..., None, :] @ z).squeeze(-2).square().sum(-1)
        gram = self._kernel.gram(z, z)
        return (signed[..., None, :] @ gram @ signed[..., :, None]).squeeze(-1).squeeze(-1)

    def unbiased(self, zs: Tensor, zt: Tensor, source: Draws, target: Draws) -> Tensor:
        z = torch.cat([zs, zt], -2)
        if isinstance(
            self._kernel, Linear
        ):  # D̂ is the same anywhere, since the coefficients add up to 0; digits are not
            z = z - z.detach().mean(-2, keepdim=True)
        return (difference_coefficients(source, target) * self._kernel.gram(z, z)).sum((-2, -1))

    def resolved(self, features: Features) -> MMD:
        kernel = resolved_for(self._kernel, features)
        return self if kernel is self._kernel else replace(self, kernel=kernel, gammas=getattr(kernel, "gammas", None))

    def embedding(self, features: Features) -> Embedding:
        return self.bare_embedding(features).centred()

    def bare_embedding(self, features: Features) -> Embedding:
        kernel = self.resolved(features)._kernel
        if not isinstance(kernel, (Linear, RBFMixture)):
            return Embedding(kernel, features.source, features.target)
        means = in_pieces(mean, [features.source, features.target], features.source.device)
        centre = torch.stack(list(means)).mean(0).to(features.source.dtype)  # D̂ is the same anywhere; digits are not
        return Embedding(kernel, features.source, features.target, (centre, centre))

    def reference(
        self, features: Features, within: tuple[float, float] | None = None, between: float | None = None
    ) -> float:
        """D0; ``between`` is the mean kernel value of a source point and a target point, where it is known too."""
        if within is not None and between is not None:
            return sum(within) - 2 * between
        if isinstance(self._kernel, Linear):
            source_mean, target_mean = in_pieces(mean, [features.source, features.target], features.source.device)
            return float((source_mean - target_mean).square().sum())
        kernel, source, target = self._kernel_and_points(features)
        ss, tt = within or (mean_kernel(kernel, source, source), mean_kernel(kernel, target, target))
        return ss + tt - 2 * mean_kernel(kernel, source, target)

    def _kernel_and_points(self, features: Features) -> tuple[Kernel, Tensor, Tensor]:
        embedding = self.embedding(features)
        return embedding.kernel, embedding.source, embedding.target

    def settings(self) -> dict[str, Any]:
        return {"name": self.name, "kernel": self._kernel.name, "gammas": self.gammas, "estimator": self.estimator}


def resolved_for(kernel: Kernel, features: Features) -> Kernel:
    """The kernel with what depends on the data of both domains fixed."""
    if not isinstance(kernel, RBFMixture):  # of a kernel that orda does not know, all points may matter
        return kernel if isinstance(kernel, (Linear, SquaredInner)) else kernel.resolved(both(features))
    return kernel.resolved(spread([features.source, features.target], MEDIAN_OF))


def both(features: Features) -> Tensor:
    return torch.cat([features.source, features.target])


def make_kernel(kernel: Kernel | str, gammas: tuple[float, ...] | Literal["median"] | None = None) -> Kernel:
    """A kernel by name; ``gammas`` goes with the RBF mixture only."""
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise UnknownName("kernel", kernel, KERNELS)
        if kernel == "rbf-mixture":
            return RBFMixture() if gammas is None else RBFMixture(gammas)
        kernel = KERNELS[kernel]()
    if not isinstance(kernel, Kernel):
        raise SettingError(
            "kernel must be a name or an orda.kernels.Kernel", type(kernel).__name__, f"Names: {list(KERNELS)}"
        )
    if gammas is not None and gammas != getattr(kernel, "gammas", None):
        raise SettingError(
            'gammas goes with kernel="rbf-mixture" only',
            f"gammas={gammas!r} with the kernel {kernel.name!r}",
            "Leave it out",
        )
    return kernel
