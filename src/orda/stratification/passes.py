"""Exact moves (``moves.py``) of many points with explicit features, some points at a time.

A piece of the points has its sums S made from the totals Σ_{j ∈ S_h} φ_j, those of it that gain are moved one by one
against their own Gram matrix, and the totals go along before the next piece: every move is exact, the objective never
rises, and neither S of all points nor a Gram matrix of more than some points is ever there. A pass is linear in n.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from orda.records import FloatArray, IntArray
from orda.stratification.explicit import ExplicitSums
from orda.stratification.moves import PASSES as ROUNDS
from orda.stratification.moves import SETTLED, move_chosen, sizes_and_traces, wishing
from orda.stratification.sums import one_hot
from orda.threads import in_pieces

PASSES = 4  # over all points, at most
SETTLED_PASS = 10 * SETTLED  # passes end when one lowers the objective by less than this part of it


def move_in_pieces(sums: ExplicitSums, labels: IntArray, min_size: int) -> tuple[IntArray, int]:
    """Labels that moves and swaps within pieces improve no more (or hardly), and how many points changed stratum."""
    found = in_pieces(lambda _: _passes(sums, labels.copy(), min_size), [None], sums.device)  # on one thread
    ((moved, count),) = found
    return moved, count


def _passes(sums: ExplicitSums, labels: IntArray, min_size: int) -> tuple[IntArray, int]:
    totals, (sizes, traces) = sums.totals(labels).clone(), sizes_and_traces(sums, labels)
    count = 0
    for _ in range(PASSES):
        gained = cost = 0.0
        for rows in sums.pieces:
            some = _piece(sums, rows, totals, labels, sizes, traces, min_size)
            count, gained, cost = count + some[0], gained + some[1], cost + some[2]
        if gained <= SETTLED_PASS * cost / 2:
            break
    return labels, count


def _piece(
    sums: ExplicitSums,
    rows: slice,
    totals: Tensor,
    labels: IntArray,
    sizes: IntArray,
    traces: FloatArray,
    min_size: int,
) -> tuple[int, float, float]:
    """Moves of some points; everything that depends on the labels goes along. How many, what they gained, of what."""
    s = sums.sums_of(rows, totals, labels)  # (m, k)
    own, chosen = wishing(s.T, sums.diagonal[rows], labels[rows], sizes, traces, min_size, sums.noise)
    if not len(chosen):
        return 0, 0.0, own
    where = chosen + rows.start
    before, gram = labels[where], sums.among(where)
    new, moves, gained = move_chosen(
        gram, s[chosen], sums.diagonal[where], before, sizes, traces, min_size, sums.noise, ROUNDS
    )
    labels[where] = new
    moved = np.flatnonzero(new != before)
    there = torch.from_numpy(np.stack([new[moved], before[moved]])).to(sums.device)
    change = one_hot(there[0], sums.k) - one_hot(there[1], sums.k)
    totals += change @ sums.rows(torch.from_numpy(where[moved]).to(sums.device))
    return moves, gained, own
