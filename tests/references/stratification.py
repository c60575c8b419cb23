"""Slow, literal twins of the stratification room: nothing here imports orda."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

KernelFunction = Callable[[Sequence[float], Sequence[float]], float]


# ── kernels, point by point ──


def linear(z: Sequence[float], y: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(z, y, strict=True))


def squared_inner(z: Sequence[float], y: Sequence[float]) -> float:
    return linear(z, y) ** 2


def rbf_mixture(gammas: Sequence[float]) -> KernelFunction:
    def kernel(z: Sequence[float], y: Sequence[float]) -> float:
        squared = math.fsum((a - b) ** 2 for a, b in zip(z, y, strict=True))
        return math.fsum(math.exp(-gamma * squared) for gamma in gammas)

    return kernel


def gram(kernel: KernelFunction, points: np.ndarray) -> np.ndarray:
    rows = points.tolist()
    return np.array([[kernel(z, y) for y in rows] for z in rows])


# ── the paper's equations ──


def objective(k_matrix: np.ndarray, labels: Sequence[int], k: int) -> float:
    """Σ_h n_h SSE_h as sums over pairs: n_h SSE_h = Σ_{i<j in S_h} ‖φ_i − φ_j‖²."""
    total = 0.0
    for h in range(k):
        members = [i for i, label in enumerate(labels) if label == h]
        for i, j in itertools.combinations(members, 2):
            total += k_matrix[i, i] + k_matrix[j, j] - 2 * k_matrix[i, j]
    return total


def distances(k_matrix: np.ndarray, labels: Sequence[int], k: int) -> np.ndarray:
    """P_ih = κ_ii − (2/n_h) Σ_{l in h} κ_il + (1/n_h²) Σ_{l,m in h} κ_lm, the kernel trick with loops."""
    n = len(labels)
    p = np.empty((n, k))
    for h in range(k):
        members = [i for i, label in enumerate(labels) if label == h]
        among = math.fsum(k_matrix[a, b] for a in members for b in members)
        for i in range(n):
            to = math.fsum(k_matrix[i, a] for a in members)
            p[i, h] = max(0.0, k_matrix[i, i] - 2 * to / len(members) + among / len(members) ** 2)
    return p


def algorithm_1(p: np.ndarray, n_min: int, order: Sequence[int] | None = None, *, strict: bool = True) -> list[int]:
    """Algorithm 1, line by line. ``strict=False`` is line 5 as printed: r ≥ deficit, with r counting point i itself."""
    n, k = p.shape
    u = [[0] * k for _ in range(n)]  # line 1
    sizes = [0] * k  # line 2
    r = n  # line 3
    for i in range(n) if order is None else order:  # line 4
        deficit = sum(max(n_min - size, 0) for size in sizes)
        free = r > deficit if strict else r >= deficit
        open_to = [h for h in range(k) if sizes[h] < n_min or free]  # line 5
        h = min(open_to, key=lambda h: p[i, h] * (sizes[h] + 1))  # line 6; min takes the first of equals
        u[i][h] = 1  # line 7
        sizes[h] += 1  # line 8
        r -= 1  # line 9
    return [row.index(1) for row in u]  # line 11


def sweeps(
    k_matrix: np.ndarray, labels: Sequence[int], k: int, n_min: int, orders: Sequence[Sequence[int]]
) -> tuple[list[int], list[float]]:
    """The alternation from ``labels``, one sweep per order: the best labels seen and all objectives."""
    best, objectives = list(labels), [objective(k_matrix, labels, k)]
    for order in orders:
        labels = algorithm_1(distances(k_matrix, labels, k), n_min, order)
        value = objective(k_matrix, labels, k)
        if value < min(objectives):
            best = list(labels)
        objectives.append(value)
    return best, objectives


# ── optima by enumeration ──


def least_objective(k_matrix: np.ndarray, k: int, n_min: int) -> float:
    """Over all partitions with at least ``n_min`` in each of k strata."""
    n = len(k_matrix)
    return min(
        objective(k_matrix, labels, k)
        for labels in itertools.product(range(k), repeat=n)
        if min(labels.count(h) for h in range(k)) >= n_min
    )


def best_single_move(k_matrix: np.ndarray, labels: Sequence[int], k: int, n_min: int) -> float:
    """How much the best move of a point that its stratum can spare lowers the objective (≤ 0: none does)."""
    now, gains = objective(k_matrix, labels, k), []
    for i, a in enumerate(labels):
        if sum(label == a for label in labels) > n_min:
            for b in range(k):
                if b != a:
                    gains.append(now - objective(k_matrix, [*labels[:i], b, *labels[i + 1 :]], k))
    return max(gains, default=0.0)


def best_swap(k_matrix: np.ndarray, labels: Sequence[int], k: int, n_min: int) -> float:
    """How much the best swap of a point that its stratum cannot spare lowers the objective (≤ 0: none does)."""
    now, gains = objective(k_matrix, labels, k), []
    for i, a in enumerate(labels):
        if sum(label == a for label in labels) <= n_min:
            for j, b in enumerate(labels):
                if b != a:
                    swapped = list(labels)
                    swapped[i], swapped[j] = b, a
                    gains.append(now - objective(k_matrix, swapped, k))
    return max(gains, default=0.0)


# ── pools ──


def shuffled_copies(members: Sequence[int], horizon: int, ahead: Sequence[int]) -> list[int]:
    """M elements of one stratum by Fisher–Yates: ``ahead[m]`` says which of what the copy has left comes in slot m."""
    row, deck = [], list(members)
    for m in range(horizon):
        here = m % len(deck)
        there = here + ahead[m]
        deck[here], deck[there] = deck[there], deck[here]
        row.append(deck[here])
    return row
