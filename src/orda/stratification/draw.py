"""Pools: which members of every stratum the next M minibatches take.

``draw``              without replacement inside a stratum (the paper's M-tuples S̃_h). A stratum of n_h < M members
                      gives shuffled copies one after another, each shuffled anew, cut at M: no two members differ by
                      more than one in how often they occur, and in every slot each is equally likely.
``draw_independent``  each element by itself, with replacement (VaRDASS).

Either way each slot is uniform over its stratum, so with the weights |S_h| / n minibatch means are unbiased.

``draws=2`` gives every stratum two rows, of half its weight each. ``draw`` cuts the stratum at random into two halves
and draws a row from each, ``draw_independent`` draws a pair at a time: the two are always different members, and before
any reordering each pair is as likely as any other. The one member of a stratum of one is in both rows.
"""

from __future__ import annotations

import numpy as np

from orda.compiled import compiled
from orda.errors import SettingError
from orda.records import IntArray, Pool, Strata
from orda.stratification.checks import check_generator, check_strata, raise_faults


def draw(strata: Strata, horizon: int, rng: np.random.Generator, draws: int = 1) -> Pool:
    """M-tuples (k·draws, M), drawn without replacement inside each stratum as far as it goes."""
    _check(strata, horizon, rng, draws)
    members, starts = _members(strata.labels, strata.sizes)
    sizes = strata.sizes
    if draws == 2:
        members = np.lexsort([rng.random(strata.n), strata.labels])
        starts, sizes = _halves(starts, sizes)
    slot = np.arange(horizon) % sizes[:, None]  # (k, M): where in the current copy of its stratum a slot lies
    ahead = rng.integers(0, sizes[:, None] - slot)  # uniform over what that copy has left
    return _pool(strata, _shuffle(members, starts, slot, ahead), draws)


def draw_independent(strata: Strata, horizon: int, rng: np.random.Generator, draws: int = 1) -> Pool:
    """(k·draws, M) members, uniform over their strata; each minibatch independent of all others."""
    _check(strata, horizon, rng, draws)
    members, starts = _members(strata.labels, strata.sizes)
    sizes = strata.sizes[:, None]
    picks = rng.integers(0, sizes, size=(strata.k, horizon))
    if draws == 2:
        steps = rng.integers(1, np.maximum(sizes, 2), size=(strata.k, horizon))  # to another member of the stratum
        picks = np.stack([picks, (picks + steps) % sizes], 1).reshape(2 * strata.k, horizon)
    return _pool(strata, members[np.repeat(starts, draws)[:, None] + picks], draws)


def _pool(strata: Strata, index: IntArray, draws: int) -> Pool:
    weight, own, stratum = strata.weights() / draws, 1 / strata.sizes, np.arange(strata.k)
    return Pool(index, np.repeat(weight, draws), np.repeat(stratum, draws), np.repeat(own, draws))


def _halves(starts: IntArray, sizes: IntArray) -> tuple[IntArray, IntArray]:
    """Where the two halves of every stratum start, and their sizes (2k,); of one member both are that one."""
    first = (sizes + 1) // 2
    second = np.minimum(starts + first, starts + sizes - 1)
    return np.stack([starts, second], 1).reshape(-1), np.stack([first, np.maximum(sizes - first, 1)], 1).reshape(-1)


@compiled
def _members(labels: IntArray, sizes: IntArray) -> tuple[IntArray, IntArray]:
    """The points sorted by stratum (n,), in their own order inside one, and where each stratum starts (k,)."""
    starts = np.cumsum(sizes) - sizes
    filled = starts.copy()
    members = np.empty(len(labels), np.int64)
    for i in range(len(labels)):
        members[filled[labels[i]]] = i
        filled[labels[i]] += 1
    return members, starts


@compiled
def _shuffle(members: IntArray, starts: IntArray, slot: IntArray, ahead: IntArray) -> IntArray:
    """Fisher–Yates, stopped after M steps and begun again at the end of a copy: any order will do to begin with."""
    k, horizon = slot.shape
    index = np.empty((k, horizon), np.int64)
    for h in range(k):
        for m in range(horizon):
            here = starts[h] + slot[h, m]
            there = here + ahead[h, m]
            members[here], members[there] = members[there], members[here]
            index[h, m] = members[here]
    return index


def _check(strata: Strata, horizon: int, rng: np.random.Generator, draws: int) -> None:
    faults = [*check_strata(strata), *check_generator(rng)]
    if draws not in (1, 2):
        faults.append(SettingError("draws from a stratum must be 1 or 2", repr(draws)))
    if isinstance(horizon, bool) or not isinstance(horizon, (int, np.integer)) or horizon < 1:
        faults.append(SettingError("horizon must be an integer of at least 1", repr(horizon), "Pass e.g. horizon=100"))
    raise_faults(faults)
