"""What the report states, once more and slowly: means of curves, errors of estimates, components, matching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def mean_curve(curves: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """At every step that all have, the mean."""
    found = {}
    for step in range(1000):
        values = [curve[step] for curve in curves if step in curve]
        if curves and len(values) == len(curves):
            found[step] = sum(values) / len(values)
    return found


def relative_errors(d0: Sequence[float], estimates: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Means over plans of (mean D̂ − D0)² / D0² and of the variance of D̂ / D0², from the estimates themselves."""
    bias, variance = [], []
    for reference, values in zip(d0, estimates, strict=True):
        mean = sum(values) / len(values)
        bias.append((mean - reference) ** 2 / reference**2)
        variance.append(sum((v - mean) ** 2 for v in values) / len(values) / reference**2)
    return sum(bias) / len(bias), sum(variance) / len(variance)


def principal_plane(z: Array) -> tuple[Array, float]:
    """Projections on the two first eigenvectors of the covariance, and their share of the variance."""
    centred = z - z.mean(0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    return centred @ vectors[:, ::-1][:, :2], float(values[-2:].sum() / values.sum())


def best_matching(cost: Array) -> float:
    """The least sum over all ways to give every row a column of its own."""
    k = len(cost)
    return min(sum(cost[i, columns[i]] for i in range(k)) for columns in permutations(range(k)))
