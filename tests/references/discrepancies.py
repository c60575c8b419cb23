"""Literal twins of the discrepancies: the paper's equations with its α, β and cluster sizes, in loops."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
PAPER = (0.001, 0.01, 0.1, 1.0, 10.0)


def linear(x: Array, y: Array) -> float:
    return sum(float(a) * float(b) for a, b in zip(x, y, strict=True))


def rbf_mixture(x: Array, y: Array, gammas: tuple[float, ...] = PAPER) -> float:
    squared = sum((float(a) - float(b)) ** 2 for a, b in zip(x, y, strict=True))
    return sum(math.exp(-gamma * squared) for gamma in gammas)


def squared_inner(x: Array, y: Array) -> float:
    """⟨xxᵀ, yyᵀ⟩_F, entry by entry."""
    return sum(float(x[a]) * float(x[b]) * float(y[a]) * float(y[b]) for a in range(len(x)) for b in range(len(x)))


def mmd_estimate(kernel, zs: Array, zt: Array, alpha: Array, beta: Array, sizes_s: Array, sizes_t: Array) -> float:  # type: ignore[no-untyped-def]
    """D̂_MMD of one minibatch by the paper's kernel evaluations: sums over ALL examples with indicators α, β."""
    n_s, n_t = len(zs), len(zt)
    ss = tt = st = 0.0
    for i in range(n_s):
        for j in range(n_s):
            if alpha[i] and alpha[j]:
                ss += alpha[i] * alpha[j] * sizes_s[i] * sizes_s[j] * kernel(zs[i], zs[j])
    for i in range(n_t):
        for j in range(n_t):
            if beta[i] and beta[j]:
                tt += beta[i] * beta[j] * sizes_t[i] * sizes_t[j] * kernel(zt[i], zt[j])
    for i in range(n_s):
        for j in range(n_t):
            if alpha[i] and beta[j]:
                st += alpha[i] * beta[j] * sizes_s[i] * sizes_t[j] * kernel(zs[i], zt[j])
    return ss / n_s**2 + tt / n_t**2 - 2 * st / (n_s * n_t)


def mmd_reference(kernel, zs: Array, zt: Array) -> float:  # type: ignore[no-untyped-def]
    """D0: every pair once."""
    ss = sum(kernel(a, b) for a in zs for b in zs) / len(zs) ** 2
    tt = sum(kernel(a, b) for a in zt for b in zt) / len(zt) ** 2
    return float(ss + tt - 2 * sum(kernel(a, b) for a in zs for b in zt) / (len(zs) * len(zt)))


def coral_covariance(z: Array, indicator: Array, sizes: Array) -> Array:
    """Ĉ of one minibatch: sums over ALL examples of the domain with the indicator, the minibatch's own mean."""
    n, d = z.shape
    mean = np.zeros(d)
    for i in range(n):
        mean += indicator[i] * sizes[i] * z[i] / n
    total = np.zeros((d, d))
    for i in range(n):
        total += indicator[i] * sizes[i] * np.outer(z[i] - mean, z[i] - mean)
    return total / (n - 1)


def coral_estimate(zs: Array, zt: Array, alpha: Array, beta: Array, sizes_s: Array, sizes_t: Array) -> float:
    difference = coral_covariance(zs, alpha, sizes_s) - coral_covariance(zt, beta, sizes_t)
    return float(sum(entry**2 for entry in difference.ravel()))


def coral_reference(zs: Array, zt: Array) -> float:
    difference = np.cov(zs.T, ddof=1).reshape(zs.shape[1], -1) - np.cov(zt.T, ddof=1).reshape(zt.shape[1], -1)
    return float((difference**2).sum())
