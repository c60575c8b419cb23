"""Algorithm 1 of the paper: constrained, dynamically weighted assignment.

    minimise  Σ_i Σ_h U_ih P_ih (Σ_i U_ih)   over one-hot rows U_i,   subject to   Σ_i U_ih ≥ n_min for every h

greedily, row by row: a point costs its distance times the size that its stratum would then have. Points choose freely
while there are points enough left for the strata that are still short; after that they choose among those only.
O(kn), and one pass.

The paper's line 5 lets point i choose freely while r ≥ Σ_h R(n_min − n_h), where r still counts point i itself. With
r equal to that deficit, a free choice may spend a point that a short stratum needed, and it ends one below n_min. Here
a point is free only while r > deficit: r − 1 ≥ deficit then holds after any choice, so no stratum ends short.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from orda.compiled import compiled
from orda.errors import SettingError
from orda.records import IntArray


def assign(
    distances: npt.NDArray[np.floating], min_size: int, order: npt.NDArray[np.integer] | None = None
) -> IntArray:
    """Labels (n,) of the points with ``distances`` (n, k), at least ``min_size`` in every stratum.

    Points are visited in ``order`` (a permutation of 0..n−1; as they lie if ``None``), which matters: the sizes that
    weigh a choice are those of the points visited before. Of equal costs the lowest stratum wins.
    """
    distances = np.ascontiguousarray(distances)
    order = np.arange(len(distances), dtype=np.int64) if order is None else np.asarray(order)
    _check(distances, min_size, order)
    single = distances.dtype == np.float32  # costs are of float64 all the same: a copy would bring nothing
    distances = distances if single else np.asarray(distances, dtype=np.float64)
    labels: IntArray = _assign(distances, int(min_size), order.astype(np.int64))
    return labels


@compiled
def _assign(distances: npt.NDArray[np.floating], min_size: int, order: IntArray) -> IntArray:
    n, k = distances.shape
    labels = np.empty(n, np.int64)  # line 1: U, as labels
    sizes = np.zeros(k, np.int64)  # line 2: interim sizes n_h
    remaining = n  # line 3: r
    deficit = k * min_size  # Σ_h R(n_min − n_h), kept up to date
    for i in order:  # line 4
        free = remaining > deficit  # line 5, strict: see above
        best, least = -1, np.inf
        for h in range(k):  # line 6
            if free or sizes[h] < min_size:
                cost = distances[i, h] * (sizes[h] + 1)
                if best < 0 or cost < least:
                    best, least = h, cost
        labels[i] = best  # line 7
        if sizes[best] < min_size:
            deficit -= 1
        sizes[best] += 1  # line 8
        remaining -= 1  # line 9
    return labels  # line 11


def _check(distances: npt.NDArray[np.floating], min_size: int, order: npt.NDArray[np.integer]) -> None:
    if distances.ndim != 2 or distances.shape[1] < 1 or not np.issubdtype(distances.dtype, np.floating):
        raise SettingError(
            "distances must be an (n, k) array of floats, k ≥ 1",
            f"shape {distances.shape} of {distances.dtype}",
            "One row per point, one column per stratum",
        )
    n, k = distances.shape
    if not 0 <= min_size * k <= n:
        raise SettingError(
            "min_size must satisfy 0 ≤ k·min_size ≤ n",
            f"min_size={min_size} with n={n}, k={k}",
            f"Pass at most {n // k}",
        )
    if order.shape != (n,) or not np.issubdtype(order.dtype, np.integer) or not is_permutation(order):
        raise SettingError(
            "order must be a permutation of 0..n−1",
            f"shape {order.shape} of {order.dtype}, n={n}",
            "Pass rng.permutation(n), or None for the order of the rows",
        )
    if np.isnan(distances).any():
        raise SettingError("distances must not be NaN", f"{int(np.isnan(distances).sum())} NaN", "Check the features")


def is_permutation(order: npt.NDArray[np.integer]) -> bool:
    """Whether ``order`` holds each of 0..n−1 once."""
    n = len(order)
    inside = n == 0 or (int(order.min()) >= 0 and int(order.max()) < n)
    return inside and bool((np.bincount(order, minlength=n) == 1).all())
