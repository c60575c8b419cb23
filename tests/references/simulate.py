"""Slow, literal twins of the studies' statistics and problems: loops over plain numbers, without orda's code."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np


def split(plans: Sequence[Sequence[float]], d0: float) -> dict[str, float]:
    """Bias, variance, mean squared error and within of the estimates of several plans of equally many minibatches."""
    errors = [value - d0 for plan in plans for value in plan]
    bias = sum(errors) / len(errors)
    within = 0.0
    for plan in plans:
        centre = sum(plan) / len(plan)
        within += sum((value - centre) ** 2 for value in plan) / len(plan) / len(plans)
    return {
        "bias": bias,
        "variance": sum((e - bias) ** 2 for e in errors) / len(errors),
        "mse": sum(e**2 for e in errors) / len(errors),
        "within": within,
    }


def resampling_distribution(values: Sequence[float], of: Callable[[float], float]) -> list[tuple[float, float]]:
    """The statistic ``of`` the mean under all Rᴿ ordered resamples with replacement: (value, probability), by value."""
    chances: dict[float, Fraction] = {}
    for drawn in itertools.product(values, repeat=len(values)):
        found = of(math.fsum(drawn) / len(drawn))
        chances[found] = chances.get(found, Fraction(0)) + Fraction(1, len(values) ** len(values))
    return sorted((value, float(chance)) for value, chance in chances.items())


def mass_below(distribution: Sequence[tuple[float, float]], at: float) -> tuple[float, float]:
    """P(X < at) and P(X ≤ at)."""
    close = 1e-9 * max(1.0, abs(at))
    return (
        sum(chance for value, chance in distribution if value < at - close),
        sum(chance for value, chance in distribution if value <= at + close),
    )


def assignment_objective(distances: np.ndarray, labels: Sequence[int], k: int) -> float:
    """Σ_h |S_h| Σ_{i in S_h} P_ih."""
    total = 0.0
    for h in range(k):
        mine = [i for i, label in enumerate(labels) if label == h]
        total += len(mine) * sum(distances[i, h] for i in mine)
    return total


def assignments(n: int, k: int, min_size: int) -> list[tuple[int, ...]]:
    """All assignments of n points to k strata of ``min_size`` or more."""
    return [
        labels for labels in itertools.product(range(k), repeat=n) if all(labels.count(h) >= min_size for h in range(k))
    ]


def mmd_linear(zs: np.ndarray, zt: np.ndarray, ws: Sequence[float], wt: Sequence[float]) -> float:
    """Σ_j (Σ_i w_i s_ij − Σ_i v_i t_ij)²."""
    total = 0.0
    for j in range(zs.shape[1]):
        source = sum(w * z[j] for w, z in zip(ws, zs, strict=True))
        target = sum(w * z[j] for w, z in zip(wt, zt, strict=True))
        total += (source - target) ** 2
    return float(total)


def coral(zs: np.ndarray, zt: np.ndarray) -> float:
    """‖C_s − C_t‖² of unweighted sample covariances."""

    def covariance(z: np.ndarray) -> np.ndarray:
        centre = sum(z) / len(z)
        return sum(np.outer(x - centre, x - centre) for x in z) / (len(z) - 1)  # type: ignore[no-any-return]

    return float(np.sum((covariance(zs) - covariance(zt)) ** 2))
