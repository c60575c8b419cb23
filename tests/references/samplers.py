"""Slow, literal twins of the samplers: loops, enumeration, exact arithmetic. They share no code with orda."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import combinations, permutations

import numpy as np


def d2_probabilities(z: np.ndarray, chosen: list[int]) -> np.ndarray:
    """The probabilities of the next k-means++ pick: uniform at first, then D_i / Σ_j D_j.

    Where no distance is left, uniform among the examples not chosen yet.
    """
    n = len(z)
    if not chosen:
        return np.full(n, 1 / n)
    d = np.array([min(sum((a - b) ** 2 for a, b in zip(z[i], z[c], strict=True)) for c in chosen) for i in range(n)])
    if d.sum() > 0:
        return d / d.sum()
    free = np.array([0.0 if i in chosen else 1.0 for i in range(n)])
    return free / free.sum()


def d2_sampling(z: np.ndarray, uniforms: np.ndarray) -> list[int]:
    """One minibatch of D² sampling: every pick is the first example whose cumulative probability exceeds u."""
    chosen: list[int] = []
    for u in uniforms:
        total = 0.0
        for i, probability in enumerate(d2_probabilities(z, chosen)):
            total += probability
            if total > u:
                chosen.append(i)
                break
    return chosen


def d2_law(z: np.ndarray, k: int) -> dict[tuple[int, ...], float]:
    """The probability of every ordered k-tuple under D² sampling."""
    law = {}
    for picks in permutations(range(len(z)), k):
        probability = 1.0
        for j in range(k):
            probability *= d2_probabilities(z, list(picks[:j]))[picks[j]]
        law[picks] = probability
    return law


def kdpp_law(kernel: np.ndarray, k: int) -> dict[tuple[int, ...], float]:
    """P(B) = det(L_B) / Σ_B' det(L_B') for every k-subset, by enumeration."""
    law = {b: float(np.linalg.det(kernel[np.ix_(b, b)])) for b in combinations(range(len(kernel)), k)}
    total = sum(law.values())
    return {b: value / total for b, value in law.items()}


def completed_kdpp_law(kernel: np.ndarray, rank: int, k: int) -> dict[tuple[int, ...], float]:
    """The limit of the k-DPP of L + εI where L has a rank below k: P(B) ∝ Σ over A ⊂ B with |A| = rank of det(L_A)."""
    law = {}
    for b in combinations(range(len(kernel)), k):
        law[b] = sum(float(np.linalg.det(kernel[np.ix_(a, a)])) for a in combinations(b, rank))
    total = sum(law.values())
    return {b: value / total for b, value in law.items()}


def subset_kdpp_law(kernel: np.ndarray, k: int, candidates: int) -> dict[tuple[int, ...], float]:
    """A k-DPP restricted to a uniform subset of the examples, averaged over all subsets."""
    n = len(kernel)
    law = dict.fromkeys(combinations(range(n), k), 0.0)
    subsets = list(combinations(range(n), candidates))
    for subset in subsets:
        inside = kdpp_law(kernel[np.ix_(subset, subset)], k)
        for b, probability in inside.items():
            law[tuple(subset[i] for i in b)] += probability / len(subsets)
    return law


def kdpp_inclusion(kernel: np.ndarray, k: int) -> np.ndarray:
    """P(i ∈ B) = Σ_e P(e ∈ J) V_ie² with P(e ∈ J) = λ_e e_{k−1}(λ without e) / e_k(λ), in 60 digits."""
    values, vectors = np.linalg.eigh(kernel)
    values = np.clip(values, 0, None)
    whole = elementary(values, k)[k]
    chosen = [
        float(Decimal(values[e]) * elementary(np.delete(values, e), k - 1)[k - 1] / whole) for e in range(len(values))
    ]
    return np.square(vectors) @ np.array(chosen)


def elementary(values: np.ndarray, k: int) -> list[Decimal]:
    """e_0..e_k of the values: the coefficients of Π (1 + λ x), multiplied out in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        coefficients = [Decimal(1)] + [Decimal(0)] * k
        for value in values:
            for size in range(k, 0, -1):
                coefficients[size] += Decimal(float(value)) * coefficients[size - 1]
        return coefficients


def anticlusters(phi: np.ndarray, groups: int) -> list[list[int]]:
    """Assignment-based anticlustering, step by step: distances to running means, the best of all M! assignments.

    The groups come sorted: two equal distances to the mean leave their order open.
    """
    distance = [float(np.sum((z - phi.mean(0)) ** 2)) for z in phi]
    order = sorted(range(len(phi)), key=lambda i: -distance[i])
    members = [[i] for i in order[:groups]]
    centroids = [phi[i].astype(float).copy() for i in order[:groups]]
    for start in range(groups, len(phi), groups):
        block = order[start : start + groups]
        cost = [[float(np.sum((phi[i] - c) ** 2)) for c in centroids] for i in block]
        best = max(permutations(range(groups)), key=lambda p: sum(cost[a][g] for a, g in enumerate(p)))
        for i, g in zip(block, best, strict=True):
            members[g].append(i)
            centroids[g] += (phi[i] - centroids[g]) / len(members[g])
    return sorted(sorted(group) for group in members)
