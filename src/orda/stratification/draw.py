"""Pools: which members of every stratum the next M minibatches take.

``draw``              without replacement inside a stratum (the paper's M-tuples S̃_h). A stratum of n_h < M members
                      gives shuffled copies one after another, each shuffled anew, cut at M: no two members differ by
                      more than one in how often they occur, and in every slot each is equally likely.
``draw_independent``  each element by itself, with replacement (VaRDASS).

Either way each slot is uniform over its stratum, so with the weights |S_h| / n minibatch means are unbiased.
"""

from __future__ import annotations

import numpy as np

from orda.compiled import compiled
from orda.errors import SettingError
from orda.records import IntArray, Pool, Strata
from orda.stratification.checks import check_generator, check_strata, raise_faults


def draw(strata: Strata, horizon: int, rng: np.random.Generator) -> Pool:
    """M-tuples (k, M), drawn without replacement inside each stratum as far as it goes."""
    _check(strata, horizon, rng)
    sizes = strata.sizes[:, None]
    slot = np.arange(horizon) % sizes  # (k, M): where in the current copy of its stratum a slot lies
    ahead = rng.integers(0, sizes - slot)  # uniform over what that copy has left
    index = _shuffle(*_members(strata.labels, strata.sizes), slot, ahead)
    return Pool(index=index, weight=strata.weights(), stratum=np.arange(strata.k))


def draw_independent(strata: Strata, horizon: int, rng: np.random.Generator) -> Pool:
    """(k, M) members, each drawn uniformly from its stratum, independently of all others."""
    _check(strata, horizon, rng)
    members, starts = _members(strata.labels, strata.sizes)
    picks = rng.integers(0, strata.sizes[:, None], size=(strata.k, horizon))
    return Pool(index=members[starts[:, None] + picks], weight=strata.weights(), stratum=np.arange(strata.k))


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


def _check(strata: Strata, horizon: int, rng: np.random.Generator) -> None:
    faults = [*check_strata(strata), *check_generator(rng)]
    if isinstance(horizon, bool) or not isinstance(horizon, (int, np.integer)) or horizon < 1:
        faults.append(SettingError("horizon must be an integer of at least 1", repr(horizon), "Pass e.g. horizon=100"))
    raise_faults(faults)
