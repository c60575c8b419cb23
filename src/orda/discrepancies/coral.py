"""CORAL: the squared Frobenius distance between the covariances.

    D0 = ‖C_s,0 − C_t,0‖²_F                                                    sample covariances of all data
    D̂  = ‖Ĉ_s − Ĉ_t‖²_F,   Ĉ_s = n_s/(n_s − 1) Σ_h p_h (z_h − μ̂)(z_h − μ̂)ᵀ,   μ̂ = Σ_h p_h z_h        of a minibatch

Three scales are in use under this one name, and λ does not carry over between them:

| scale | the loss |
|---|---|
| ``"sum"`` | as above: the paper's equation |
| ``"mean"`` | divided by d²: the mean over entries, DomainBed's scale without its mean term; training's default |
| ``"deep"`` | divided by 4d²: Deep CORAL |

With a fixed centre Ĉ is the mean of φ_c(z) = (z − z̄)(z − z̄)ᵀ, so the domains are stratified by that map. The batch's
own mean μ̂ biases Ĉ downward, since it fits the minibatch better than z̄ does, and the square biases D̂ upward.

The unbiased estimate is made in one of two ways, by how the minibatches were drawn:

    uniformly     with the batch's own mean: r_s² tr Ĉ_s² + r_t² tr Ĉ_t² − 2 r_s r_t tr S_s S_t by U-statistics over
                  quadruples (``covariances``), which knows nothing of the whole data and needs k ≥ 4
    from strata   with the centres z̄ of the plan: the unbiased MMD of the map φ_c, from two draws of each stratum. It is
                  unbiased for ‖c_s E φ_c(z_s) − c_t E φ_c(z_t)‖², which is D0 at the features of the plan, and with
                  the same gradient; once features have moved by δ in the mean, E φ_c = Σ + δδᵀ
"""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from orda.discrepancies.base import PLUG_IN, Discrepancy, Embedding, check_estimator
from orda.discrepancies.covariances import covariance_product, squared_covariance
from orda.discrepancies.draws import Draws, difference_coefficients, equal_weights
from orda.errors import SettingError, UnknownName
from orda.kernels import ROWS, SquaredInner, block_rows, mean, slices
from orda.records import Features
from orda.threads import TILE, in_pieces

SCALES = ("sum", "mean", "deep")


@dataclass(frozen=True)
class CORAL(Discrepancy):
    """CORAL at a named scale.

    ``population`` is (n_s, n_t) of the factor n/(n − 1); ``resolved`` sets it. Without it, weighted minibatches take
    the factor 1 (n → ∞), and unweighted ones are taken for the whole data: n is their own size.
    """

    scale: str = "sum"
    estimator: str = PLUG_IN
    population: tuple[int, int] | None = None
    name: ClassVar[str] = "coral"

    @property
    def batch_centred(self) -> bool:
        return self.estimator == PLUG_IN  # the unbiased estimate of strata's draws is not

    def __post_init__(self) -> None:
        check_estimator(self.estimator)
        if self.scale not in SCALES:
            raise UnknownName("scale", self.scale, SCALES)

    def factor(self, d: int) -> float:
        """What the squared Frobenius norm is multiplied with."""
        return {"sum": 1.0, "mean": 1 / d**2, "deep": 1 / (4 * d**2)}[self.scale]

    def corrections(self, features: Features | None = None) -> tuple[float, float]:
        """n/(n − 1) of both domains."""
        if features is not None:
            return bessel(len(features.source)), bessel(len(features.target))
        return (1.0, 1.0) if self.population is None else (bessel(self.population[0]), bessel(self.population[1]))

    def estimate(self, zs: Tensor, zt: Tensor, ws: Tensor | None, wt: Tensor | None) -> Tensor:
        c_s, c_t = self.corrections()
        if self.population is None:
            c_s = bessel(zs.shape[-2]) if ws is None else c_s
            c_t = bessel(zt.shape[-2]) if wt is None else c_t
        ws = c_s * (equal_weights(zs) if ws is None else ws)
        wt = c_t * (equal_weights(zt) if wt is None else wt)
        a, b, d = centred(zs, ws / c_s), centred(zt, wt / c_t), zs.shape[-1]
        if d <= zs.shape[-2] + zt.shape[-2]:  # the smaller of d × d and b × b
            squared = (covariance(a, ws) - covariance(b, wt)).square().sum((-2, -1))
        else:
            squared = inner(a, ws, a, ws) + inner(b, wt, b, wt) - 2 * inner(a, ws, b, wt)
        return self.factor(d) * squared

    def unbiased(self, zs: Tensor, zt: Tensor, source: Draws, target: Draws) -> Tensor:
        c_s, c_t = self.corrections()
        if source.centre is not None and target.centre is not None:
            z = torch.cat([zs - source.centre, zt - target.centre], -2)
            forms = difference_coefficients(source, target, (c_s, c_t)) * SquaredInner().gram(z, z)
            return self.factor(zs.shape[-1]) * forms.sum((-2, -1))
        r_s, r_t = uniform_correction("source", source, c_s), uniform_correction("target", target, c_t)
        squares = (
            r_s**2 * squared_covariance(zs, source.own[..., 0]),
            r_t**2 * squared_covariance(zt, target.own[..., 0]),
        )
        return self.factor(zs.shape[-1]) * (squares[0] + squares[1] - 2 * r_s * r_t * covariance_product(zs, zt))

    def resolved(self, features: Features) -> CORAL:
        return replace(self, population=(len(features.source), len(features.target)))

    def embedding(self, features: Features) -> Embedding:
        return self.bare_embedding(features).centred()

    def bare_embedding(self, features: Features) -> Embedding:
        domains = features.source, features.target
        a, b = in_pieces(lambda z: mean(z).to(z.dtype), domains, features.source.device)
        return Embedding(SquaredInner(), *domains, (a, b))

    def reference(self, features: Features, within: tuple[float, float] | None = None) -> float:
        """Some columns of the covariances at a time, never all d × d of their entries, from some points at a time."""
        del within  # means of the kernel are products of the covariances, whose difference keeps its digits only here
        domains, device, d = (features.source, features.target), features.source.device, features.source.shape[1]
        means = list(in_pieces(mean, domains, device))
        scales = [c / len(z) for c, z in zip(self.corrections(features), domains, strict=True)]

        def share(piece: tuple[slice, int, slice]) -> Tensor:
            columns, domain, rows = piece
            a = domains[domain][rows].double() - means[domain]
            return (1 - 2 * domain) * scales[domain] * (a.mT @ a[:, columns])

        total = 0.0
        for columns in slices(d, min(TILE, block_rows(d, 8))):
            pieces = [(columns, domain, rows) for domain in (0, 1) for rows in slices(len(domains[domain]), ROWS // 4)]
            difference = functools.reduce(torch.Tensor.add_, in_pieces(share, pieces, device))
            total += sum(in_pieces(lambda x: float(x.square().sum()), [difference], device))
        return self.factor(d) * total

    def settings(self) -> dict[str, Any]:
        return {"name": self.name, **asdict(self)}


def uniform_correction(domain: str, draws: Draws, c: float) -> Tensor:
    """n/(n − 1) for independent draws, 1 for distinct ones, from whose covariance nothing is missing."""
    if not draws.one_stratum:
        raise SettingError(
            f"without strata's centres an unbiased CORAL needs {domain} minibatches that are uniform draws",
            "several strata",
            "Pass batch.source and batch.target of a loader, whose plans hold the centres",
        )
    if (k := draws.weight.shape[-1]) < 4:
        raise SettingError(f"an unbiased CORAL needs 4 {domain} examples or more in a minibatch", k, "Raise batch_size")
    own = draws.own[..., 0]
    return torch.where(own > 0, torch.ones_like(own), torch.full_like(own, c))


def bessel(n: int) -> float:
    """n/(n − 1); 1 for a single example, whose covariance is zero anyway."""
    return n / (n - 1) if n > 1 else 1.0


def centred(z: Tensor, w: Tensor) -> Tensor:
    """z − Σ_h w_h z_h."""
    return z - w[..., None, :] @ z


def covariance(a: Tensor, w: Tensor) -> Tensor:
    """Σ_h w_h a_h a_hᵀ (..., d, d)."""
    return a.mT @ (w[..., None] * a)


def inner(a: Tensor, v: Tensor, b: Tensor, w: Tensor) -> Tensor:
    """⟨Σ_g v_g a_g a_gᵀ, Σ_h w_h b_h b_hᵀ⟩_F = Σ_gh v_g w_h (a_g·b_h)²: no d × d matrix."""
    return (v[..., None, :] @ (a @ b.mT).square() @ w[..., :, None]).squeeze(-1).squeeze(-1)
