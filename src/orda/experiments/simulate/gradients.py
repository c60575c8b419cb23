"""The gradient of D̂ against the gradient of D0: what a minibatch tells a featuriser to do.

A featuriser's last layer moves all features by one linear map, z ↦ A z. At A = I the gradients with respect to it are

    G_0 = ∂D0/∂A = Σ_i ∂D0/∂z_i z_iᵀ      over all data
    G_m = ∂D̂_m/∂A                         over minibatch m

(d, d) matrices that can be compared, whichever examples a minibatch holds. Of a plan's M minibatches are kept

    direction            mean over m of 1 − cos(G_m, G_0)
    error                mean over m of ‖G_m − G_0‖²/‖G_0‖²
    plan's direction     1 − cos(Ḡ, G_0),            Ḡ = mean over m of G_m
    plan's error         ‖Ḡ − G_0‖²/‖G_0‖²

Ḡ is what the M steps of a plan add up to. Noise averages out of it; a bias does not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from orda.discrepancies import Discrepancy
from orda.discrepancies.base import PLUG_IN
from orda.experiments.simulate.study import Row
from orda.planning import rows_of
from orda.records import Features, FloatArray, Plan


def full_gradient(discrepancy: Discrepancy, features: Features) -> Tensor:
    """G_0 (d, d). D0 is the plug-in estimate of a minibatch that is all the data."""
    whole: Any = replace(discrepancy.resolved(features), estimator=PLUG_IN)  # type: ignore[type-var]
    return gradients(whole, features.source[None], features.target[None])[1][0]


def plan_gradients(discrepancy: Discrepancy, plan: Plan, features: Features) -> tuple[FloatArray, Tensor]:
    """D̂ (M,) of a plan's minibatches, and their gradients (M, d, d)."""
    zs, of_source = rows_of(plan.source, features.source, slice(None))
    zt, of_target = rows_of(plan.target, features.target, slice(None))
    values, found = gradients(discrepancy.resolved(features), zs, zt, of_source, of_target)
    return values.numpy(), found


def gradients(discrepancy: Discrepancy, zs: Tensor, zt: Tensor, *draws: Any) -> tuple[Tensor, Tensor]:
    """D̂ (M,) of minibatches (M, b, d) and its gradients with respect to a linear map of each, (M, d, d)."""
    zs, zt = zs.detach().requires_grad_(), zt.detach().requires_grad_()
    with torch.enable_grad():
        values = discrepancy(zs, zt, *draws)
        slopes = torch.autograd.grad(values.sum(), (zs, zt))
    return values.detach(), slopes[0].mT @ zs.detach() + slopes[1].mT @ zt.detach()


def gradient_errors(found: Tensor, wanted: Tensor) -> Row:
    """The columns above, of a plan's gradients (M, d, d) and G_0 (d, d)."""
    mean = found.mean(0)
    return {
        "direction": float((1 - cosine(found, wanted)).mean()),
        "gradient_error": float(square(found - wanted).mean() / square(wanted)),
        "plan_direction": float(1 - cosine(mean, wanted)),
        "plan_gradient_error": float(square(mean - wanted) / square(wanted)),
    }


def cosine(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum((-2, -1)) / (square(a) * square(b)).sqrt()


def square(a: Tensor) -> Tensor:
    """‖A‖²_F."""
    return a.square().sum((-2, -1))
