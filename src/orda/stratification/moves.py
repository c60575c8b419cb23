"""Exact moves of single points (Hartigan's), which end where Lloyd's sweeps cannot improve any more.

With C_ih = Σ_{j ∈ S_h} ‖φ_i − φ_j‖² the objective is Σ_h n_h SSE_h = ½ Σ_h Σ_{i ∈ S_h} C_ih, and taking point i from
stratum a to b changes it by exactly C_ib − C_ia. (The sweeps weigh a point by n_h ‖φ_i − μ_h‖² = C_ih − SSE_h, without
the second term.) In terms of the one primitive, and with T_h = Σ_{j ∈ S_h} κ_jj,

    C_ih = n_h κ_ii + T_h − 2 S_hi.

A move is made where it lowers the objective and its stratum keeps ``min_size`` members: nothing here ever goes up.
"""

from __future__ import annotations

import numpy as np

from orda.compiled import compiled
from orda.records import FloatArray, IntArray
from orda.stratification.sums import StratumSums

ROUNDS = 30  # at most
SETTLED = 1e-4  # rounds end when one lowers the objective by less than this part of it
CANDIDATES = 1500  # points that are moved about at once: their Gram matrix is made for it
PASSES = 20  # over the candidates, before S of all points is brought up to date


def sizes_and_traces(sums: StratumSums, labels: IntArray) -> tuple[IntArray, FloatArray]:
    """n_h and T_h of every stratum: (k,) each."""
    sizes = np.bincount(labels, minlength=sums.k)
    return sizes, np.bincount(labels, sums.diagonal, sums.k).astype(np.float64)


def stratum_costs(sums: FloatArray, diagonal: FloatArray, sizes: IntArray, traces: FloatArray) -> FloatArray:
    """C (k, n): the squared distances of every point to all members of every stratum, added up."""
    costs: FloatArray = sizes[:, None] * diagonal + traces[:, None] - 2 * sums
    return costs


def move_points(sums: StratumSums, labels: IntArray, min_size: int) -> tuple[IntArray, int]:
    """Labels that single moves improve no more (or hardly), and how many moves led there.

    A round takes the points that gain most by a move, moves them one by one against their own Gram matrix until none
    of them wants to, and then brings S up to date. A gain that rounding of the kernel values could feign is none.
    """
    labels, total = labels.copy(), 0
    everyone = np.arange(sums.n)
    for _ in range(ROUNDS):
        sizes, traces = sizes_and_traces(sums, labels)
        costs = stratum_costs(sums.at(labels), sums.diagonal, sizes, traces)
        own = costs[labels, everyone]
        slack = sums.noise * (sizes[labels] * sums.diagonal + traces[labels])
        costs[labels, everyone] = np.inf
        gain = own - costs.min(0) - slack
        gain[sizes[labels] <= min_size] = 0
        wanting = np.flatnonzero(gain > 0)
        chosen = wanting[np.argsort(-gain[wanting], kind="stable")[:CANDIDATES]]
        if not len(chosen):
            break
        new, moves, gained = _move_chosen(
            sums.among(chosen),
            np.ascontiguousarray(sums.at(labels)[:, chosen].T),
            sums.diagonal[chosen],
            labels[chosen],
            sizes,
            traces,
            min_size,
            sums.noise,
            PASSES,
        )
        labels[chosen] = new
        total += moves
        if gained <= SETTLED * own.sum() / 2:
            break
    return labels, total


@compiled
def _move_chosen(
    gram: FloatArray,  # (m, m) of the chosen points
    sums: FloatArray,  # (m, k) their S; changed
    diagonal: FloatArray,  # (m,)
    labels: IntArray,  # (m,)
    sizes: IntArray,  # (k,) changed
    traces: FloatArray,  # (k,) T; changed
    min_size: int,
    noise: float,
    passes: int,
) -> tuple[IntArray, int, float]:
    """New labels of the chosen points, the number of moves, and how much the objective fell."""
    m, k = sums.shape
    labels = labels.copy()
    moves, gained = 0, 0.0
    for _ in range(passes):
        before = moves
        for i in range(m):
            a = labels[i]
            if sizes[a] <= min_size:
                continue
            own = sizes[a] * diagonal[i] + traces[a] - 2 * sums[i, a]
            best, least = -1, own - noise * (sizes[a] * diagonal[i] + traces[a])
            for h in range(k):
                cost = sizes[h] * diagonal[i] + traces[h] - 2 * sums[i, h]
                if h != a and cost < least:
                    best, least = h, cost
            if best < 0:
                continue
            labels[i] = best
            sizes[a] -= 1
            sizes[best] += 1
            traces[a] -= diagonal[i]
            traces[best] += diagonal[i]
            for j in range(m):
                sums[j, a] -= gram[i, j]
                sums[j, best] += gram[i, j]
            moves += 1
            gained += own - least
        if moves == before:
            break
    return labels, moves, gained
