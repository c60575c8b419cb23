"""Slow, literal twins of ordering: D̂ from its definition, the paper's Algorithm 2, all orders that there are.

A minibatch is a column of source and target, (k, M) indices of examples; an *estimate* gives its D̂ from the two.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Tuples = npt.NDArray[np.int64]
Estimate = Callable[[Tuples, Tuples], float]
Cost = Callable[[Tuples, Tuples], float]


def mmd(gram: Array, n_s: int, ws: Array, wt: Array) -> Estimate:
    """Σ w w' κ within the source, within the target, and −2 across; ``gram`` is of all examples, the source's first."""

    def estimate(source: Tuples, target: Tuples) -> float:
        total = 0.0
        for h, i in enumerate(source):
            for g, j in enumerate(source):
                total += ws[h] * ws[g] * gram[i, j]
            for g, j in enumerate(target):
                total -= 2 * ws[h] * wt[g] * gram[i, n_s + j]
        for h, i in enumerate(target):
            for g, j in enumerate(target):
                total += wt[h] * wt[g] * gram[n_s + i, n_s + j]
        return total

    return estimate


def coral(zs: Array, zt: Array, ws: Array, wt: Array, scale: float = 1.0) -> Estimate:
    """‖Ĉ_s − Ĉ_t‖² with each minibatch's own weighted means, n/(n − 1) times; ``scale`` is 1, 1/d² or 1/4d²."""

    def covariance(z: Array, w: Array, n: int) -> Array:
        mean = sum(w[h] * z[h] for h in range(len(w)))
        return sum(w[h] * np.outer(z[h] - mean, z[h] - mean) for h in range(len(w))) * n / (n - 1)

    def estimate(source: Tuples, target: Tuples) -> float:
        difference = covariance(zs[source], ws, len(zs)) - covariance(zt[target], wt, len(zt))
        return scale * float((difference**2).sum())

    return estimate


def scalar(estimate: Estimate, reference: float) -> Cost:
    """(D̂ − D0)²."""
    return lambda source, target: (estimate(source, target) - reference) ** 2


def distance_to_all(gram: Array, n_s: int, ws: Array, wt: Array) -> Cost:
    """‖v_m − v_0‖²: the minibatch's signed weights less every example's 1/n, as one quadratic form."""
    n_t = len(gram) - n_s

    def cost(source: Tuples, target: Tuples) -> float:
        u = np.concatenate([np.full(n_s, -1 / n_s), np.full(n_t, 1 / n_t)])
        for h, i in enumerate(source):
            u[i] += ws[h]
        for h, j in enumerate(target):
            u[n_s + j] -= wt[h]
        return float(u @ gram @ u)

    return cost


def mean_cost(cost: Cost, source: Tuples, target: Tuples) -> float:
    return sum(cost(source[:, m], target[:, m]) for m in range(source.shape[1])) / source.shape[1]


def algorithm_2(cost: Cost, source: Tuples, target: Tuples) -> tuple[Tuples, Tuples]:
    """The paper's Algorithm 2 in its own order; every candidate is judged by the whole objective, from nothing."""
    source, target = source.copy(), target.copy()
    k, horizon = source.shape
    for m in range(horizon):
        for h in range(k):
            for tuples in (source, target):
                objectives = []
                for partner in range(m, horizon):
                    swap(tuples[h], m, partner)
                    objectives.append(mean_cost(cost, source, target))
                    swap(tuples[h], m, partner)
                swap(tuples[h], m, m + int(np.argmin(objectives)))
    return source, target


def swap(row: Tuples, m: int, other: int) -> None:
    row[m], row[other] = row[other], row[m]


def best_rows(cost: Cost, source: Tuples, target: Tuples) -> tuple[Tuples, Tuples]:
    """S̃_1, T̃_1, S̃_2, … in turn, each in the best of all its M! orders, the others as they are."""
    source, target = source.copy(), target.copy()
    for h in range(len(source)):
        for tuples in (source, target):
            found = []
            for order in permutations(tuples[h].copy()):
                tuples[h] = order
                found.append((mean_cost(cost, source, target), order))
            tuples[h] = min(found)[1]
    return source, target


def least(cost: Cost, source: Tuples, target: Tuples) -> float:
    """The least objective of all (M!)^2k orders. Minibatches have no names, so that the first row may stay."""
    k, horizon = source.shape
    orders = list(permutations(range(horizon)))
    known: dict[tuple[int, ...], float] = {}
    best = np.inf
    for chosen in product([orders[0]], *[orders] * (2 * k - 1)):
        total = 0.0
        for m in range(horizon):
            columns = tuple(order[m] for order in chosen)
            if columns not in known:
                pick = np.array(columns)
                known[columns] = cost(source[np.arange(k), pick[:k]], target[np.arange(k), pick[k:]])
            total += known[columns]
        best = min(best, total / horizon)
    return best
