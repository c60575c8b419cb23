"""Literal twins of the feature maps: their defining equations, entry by entry. Nothing here imports orda."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

Array = np.ndarray


def nystroem(kernel: Callable[[Array, Array], float], landmarks: Array, x: Array, y: Array) -> float:
    """k_xᵀ K⁺ k_y with the kernel values of the landmarks."""
    among = np.array([[kernel(a, b) for b in landmarks] for a in landmarks])
    left, right = (np.array([kernel(z, a) for a in landmarks]) for z in (x, y))
    return float(left @ np.linalg.pinv(among, hermitian=True) @ right)


def fourier(frequencies: Array, shares: Array, x: Array, y: Array) -> float:
    """Σ_j share_j cos ω_j·(x − y), since cos a cos b + sin a sin b = cos(a − b)."""
    difference = x - y
    return sum(
        float(share) * math.cos(float(omega @ difference)) for share, omega in zip(shares, frequencies, strict=True)
    )


def sketch(left: Array, right: Array, x: Array, y: Array) -> float:
    """(1/D) Σ_j ⟨a_j b_jᵀ, xxᵀ⟩ ⟨a_j b_jᵀ, yyᵀ⟩."""
    total = 0.0
    for a, b in zip(left, right, strict=True):
        pattern = np.outer(a, b)
        total += float((pattern * np.outer(x, x)).sum() * (pattern * np.outer(y, y)).sum())
    return total / len(left)


def mean_within(gram: Array) -> float:
    """The mean over all pairs, a point with itself included."""
    n = len(gram)
    return sum(float(gram[i, j]) for i in range(n) for j in range(n)) / n**2


def objective(distances: Callable[[int, int], float], labels: Sequence[int]) -> float:
    """Σ_h n_h SSE_h = Σ over pairs within strata of their squared distances."""
    n = len(labels)
    return sum(distances(i, j) for i in range(n) for j in range(i + 1, n) if labels[i] == labels[j])


def explicit_value(
    phi: Array, extra: Array, example: Array, signed: Array, partner: Array, pair: Array, members: Sequence[int]
) -> float:
    """D̂ of one minibatch with κ̃(x, y) = ⟨φ(x), φ(y)⟩, and ``extra`` more where x and y are one example."""

    def kernel(a: int, b: int) -> float:
        return float(phi[a] @ phi[b]) + (float(extra[a]) if example[a] == example[b] else 0.0)

    value = sum(signed[r] * signed[g] * kernel(a, b) for r, a in enumerate(members) for g, b in enumerate(members))
    for r, a in enumerate(members):
        b = members[partner[r]]
        if partner[r] > r:
            value -= pair[r] * (kernel(a, a) + kernel(b, b) - 2 * kernel(a, b))
    return float(value)
