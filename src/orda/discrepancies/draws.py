"""How the examples of a minibatch were drawn, and what that makes of ‖μ‖², the square of a domain's mean embedding.

Strata h with shares p_h and means μ_h: μ = Σ_h p_h μ_h. Of each stratum a minibatch holds r_h draws. Draws from
different strata are independent, so that κ(z_i, z_j) is unbiased for ⟨μ_h, μ_h'⟩. Within a stratum:

    independent draws                     E κ(z_i, z_j) = ‖μ_h‖²,   i ≠ j
    distinct draws from n_h examples      E κ(z_i, z_j) = ‖μ_h‖² − v_h/(n_h − 1),   E κ(z_i, z_i) = ‖μ_h‖² + v_h

v_h the variance of φ in the stratum (over n_h). So with own = 1/n_h for distinct draws, 0 for independent ones,

    E[ (1 − own) mean_{i≠j} κ(z_i, z_j) + own · mean_i κ(z_i, z_i) ] = ‖μ_h‖²                                       (*)

exactly, and with the coefficients A of ``coefficients``

    E Σ_ij A_ij κ(z_i, z_j) = ‖μ‖²,      A_ij = w_i w_j                           i, j of different strata
                                               p_h² (1 − own)/(r_h (r_h − 1))    i ≠ j of one stratum
                                               p_h² own/r_h                      i = j

One stratum is uniform sampling, and (*) the U-statistic. A stratum needs two draws, unless it holds a single example.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orda.errors import SettingError
from orda.records import Drawn

WEIGHT_TOLERANCE = 1e-3
Weights = Tensor | Drawn | None
"""Weights (..., b); or a minibatch's half, which says their strata as well; None: equal weights, independent draws."""


@dataclass(frozen=True, slots=True)
class Draws:
    """A ``Drawn`` of tensors on one device, of one dtype."""

    weight: Tensor  # (..., b)
    stratum: Tensor  # (..., b)
    own: Tensor  # (..., b)
    centre: Tensor | None  # (d,)
    draws: int | None

    @property
    def one_stratum(self) -> bool:
        """Whether all examples are known to be draws from one and the same set."""
        return self.draws == self.weight.shape[-1]


def check_weights(domain: str, z: Tensor, w: Weights) -> Tensor | None:
    """Weights (..., b) of z's dtype, rows summing to 1. Values are looked at on the CPU only: no GPU is waited for."""
    if w is None:
        return None
    weight = w if isinstance(w, Tensor) else getattr(w, "weight", None)
    if not isinstance(weight, Tensor):
        raise SettingError(f"{domain} weights must be a torch tensor", type(w).__name__, "Use torch.as_tensor first")
    if weight.shape != z.shape[:-1]:
        raise SettingError(
            f"{domain} weights must be {tuple(z.shape[:-1])}", tuple(weight.shape), "One weight per example"
        )
    weight = weight.to(device=z.device, dtype=z.dtype)
    if weight.device.type == "cpu":
        off = (weight.detach().sum(-1) - 1).abs().max()
        if not off <= WEIGHT_TOLERANCE:  # also true of NaN
            raise SettingError(
                f"{domain} weights must sum to 1 in every minibatch",
                f"a sum that is off by {float(off):.3g}",
                "Divide by their sum, or pass plan weights as they are",
            )
    return weight


def check_draws(domain: str, z: Tensor, w: Weights) -> Draws:
    """What an unbiased estimate must know of z's draws; an error where they cannot support one."""
    if isinstance(w, Tensor):
        raise SettingError(
            f"an unbiased estimate must know which {domain} examples share a stratum",
            "weights alone",
            "Pass batch.source and batch.target (or plan.source and plan.target) in their place, or None for equal "
            "weights of independent draws",
        )
    weight = check_weights(domain, z, w)
    if w is None or weight is None:
        zero = z.new_zeros(z.shape[:-1])
        found = Draws(equal_weights(z), zero.long(), zero, None, z.shape[-2])
    else:
        stratum = w.stratum.to(z.device).expand(weight.shape)
        own = torch.zeros_like(weight) if w.own is None else w.own.to(weight).expand(weight.shape)
        centre = None if w.centre is None else w.centre.to(weight)
        found = Draws(weight, stratum, own, centre, w.draws)
        if found.draws is None and stratum.device.type == "cpu":
            found = Draws(weight, stratum, own, centre, fewest(stratum))
    if found.draws == 1 and not (found.own.device.type == "cpu" and singletons(found)):
        raise SettingError(
            f"an unbiased estimate needs two draws or more from every {domain} stratum",
            "a stratum with one",
            'Sample with Stratified or Ordered of a discrepancy with estimator="unbiased" (draws=2), or uniformly; '
            'or use estimator="plug-in"',
        )
    return found


def fewest(stratum: Tensor) -> int:
    """The fewest examples that a minibatch takes from a stratum, of strata (..., b)."""
    return int(per_stratum(stratum).min())


def per_stratum(stratum: Tensor) -> Tensor:
    """r (..., b): how many examples of the minibatch share the stratum of each."""
    return (stratum[..., :, None] == stratum[..., None, :]).sum(-1)


def singletons(draws: Draws) -> bool:
    """Whether every stratum of which there is one draw consists of one example: its square is then no guess."""
    return bool((draws.own[per_stratum(draws.stratum) == 1] == 1).all())


def coefficients(draws: Draws) -> Tensor:
    """A (..., b, b) of the module's formula."""
    weight, own = draws.weight, draws.own
    same = draws.stratum[..., :, None] == draws.stratum[..., None, :]
    r = same.sum(-1)
    squared = (same * weight[..., None, :]).sum(-1).square()  # p_h²
    pairs = squared * (1 - own) / (r * (r - 1)).clamp_min(1)
    within = torch.where(same, pairs[..., None], weight[..., :, None] * weight[..., None, :])
    return within.diagonal_scatter(squared * own / r, dim1=-2, dim2=-1)


def difference_coefficients(source: Draws, target: Draws, scales: tuple[float, float] = (1.0, 1.0)) -> Tensor:
    """(..., b_s + b_t, b_s + b_t) of the quadratic form in all kernel values that is unbiased for ‖c_s μ_s − c_t μ_t‖²,
    ``scales`` being c_s and c_t."""
    c_s, c_t = scales
    between = -c_s * c_t * source.weight[..., :, None] * target.weight[..., None, :]
    above = torch.cat([c_s**2 * coefficients(source), between], -1)
    return torch.cat([above, torch.cat([between.mT, c_t**2 * coefficients(target)], -1)], -2)


def equal_weights(z: Tensor) -> Tensor:
    return z.new_full(z.shape[:-1], 1 / z.shape[-2])
