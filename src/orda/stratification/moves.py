"""Exact moves of single points (Hartigan's), and swaps of two, for where the sweeps cannot improve any more.

With C_ih = Σ_{j ∈ S_h} ‖φ_i − φ_j‖² the objective is Σ_h n_h SSE_h = ½ Σ_h Σ_{i ∈ S_h} C_ih, and taking point i from
stratum a to b changes it by exactly C_ib − C_ia. (The sweeps weigh a point by n_h ‖φ_i − μ_h‖² = C_ih − SSE_h, without
the second term.) In terms of the one primitive, and with T_h = Σ_{j ∈ S_h} κ_jj,

    C_ih = n_h κ_ii + T_h − 2 S_hi.

A point whose stratum has only ``min_size`` members swaps with one of another stratum: i from a to b and j from b to a
change the objective by C_ib − C_ia + C_ja − C_jb − 2 ‖φ_i − φ_j‖². Only what lowers the objective is done.
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
    """Labels that moves and swaps improve no more (or hardly), and how many points changed their stratum on the way.

    A round takes the points that gain most by a move (and, where some of them may not leave, those nearest to gaining,
    to swap with), moves them one by one against their own Gram matrix until none wants to, and then brings S up to
    date. A gain that rounding of the kernel values could feign is none.
    """
    labels, total = labels.copy(), 0
    for _ in range(ROUNDS):
        sizes, traces = sizes_and_traces(sums, labels)
        own, chosen = wishing(sums.at(labels), sums.diagonal, labels, sizes, traces, min_size, sums.noise)
        if not len(chosen):
            break
        new, moves, gained = move_chosen(
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
        if gained <= SETTLED * own / 2:
            break
    return labels, total


def wishing(
    sums: FloatArray,
    diagonal: FloatArray,
    labels: IntArray,
    sizes: IntArray,
    traces: FloatArray,
    min_size: int,
    noise: float,
) -> tuple[float, IntArray]:
    """Σ_i C_ia of points with S ``sums`` (k, m) in their own strata a, and those to move about: none, if none gains."""
    costs, everyone = stratum_costs(sums, diagonal, sizes, traces), np.arange(len(labels))
    own = costs[labels, everyone]
    costs[labels, everyone] = np.inf
    gain = own - costs.min(0) - noise * (sizes[labels] * diagonal + traces[labels])
    wanting = gain > 0
    held_back = bool((wanting & (sizes[labels] <= min_size)).any())
    count = CANDIDATES if held_back else min(CANDIDATES, int(wanting.sum()))
    return float(own.sum()), np.argsort(-gain, kind="stable")[:count]


@compiled
def move_chosen(
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
    """New labels of the chosen points, how many changes that took, and how much the objective fell."""
    m, k = sums.shape
    labels = labels.copy()
    costs = np.empty(k)
    moves, gained = 0, 0.0
    for _ in range(passes):
        before = moves
        for i in range(m):
            a = labels[i]
            costs[:] = sizes * diagonal[i] + traces - 2 * sums[i]
            costs -= costs[a]
            least = -noise * (sizes[a] * diagonal[i] + traces[a])  # what a change must at least bring
            to, partner = -1, -1
            if sizes[a] > min_size:  # free to leave
                for h in range(k):
                    if h != a and costs[h] < least:
                        to, least = h, costs[h]
            else:  # only in exchange for another
                for j in range(m):
                    b = labels[j]
                    if b != a:
                        back = (sizes[a] - sizes[b]) * diagonal[j] + traces[a] - traces[b]
                        back -= 2 * (sums[j, a] - sums[j, b])
                        change = costs[b] + back - 2 * (diagonal[i] + diagonal[j] - 2 * gram[i, j])
                        if change < least:
                            to, partner, least = b, j, change
            if to < 0:
                continue
            _transfer(gram, sums, diagonal, labels, sizes, traces, i, to)
            moves += 1
            if partner >= 0:
                _transfer(gram, sums, diagonal, labels, sizes, traces, partner, a)
                moves += 1
            gained -= least
        if moves == before:
            break
    return labels, moves, gained


@compiled
def _transfer(
    gram: FloatArray,
    sums: FloatArray,
    diagonal: FloatArray,
    labels: IntArray,
    sizes: IntArray,
    traces: FloatArray,
    i: int,
    to: int,
) -> None:
    """Point i goes to stratum ``to``; everything that depends on the labels goes along."""
    a = labels[i]
    labels[i] = to
    sizes[a] -= 1
    sizes[to] += 1
    traces[a] -= diagonal[i]
    traces[to] += diagonal[i]
    for j in range(len(labels)):
        sums[j, a] -= gram[i, j]
        sums[j, to] += gram[i, j]
