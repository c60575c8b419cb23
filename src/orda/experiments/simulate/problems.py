"""The three problems that several studies share: features of both domains, and what is estimated of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from orda.discrepancies import CORAL, MMD, Discrepancy
from orda.errors import UnknownName
from orda.experiments.simulate.domains import clustered, normal
from orda.records import Features


@dataclass(frozen=True, slots=True)
class Problem:
    title: str
    discrepancy: Discrepancy
    features: Callable[[np.random.Generator, int], Features]  # from a stream and a number of source examples


def normal_plane(rng: np.random.Generator, n: int) -> Features:
    return normal(rng, n, 2)


def clusters_512(rng: np.random.Generator, n: int) -> Features:
    """Clusters in 512 dimensions, with four fifths as many target examples as source ones."""
    return clustered(rng, n, 4 * n // 5, 512)


PROBLEMS = {
    "linear 2-D": Problem("2-D normal, linear MMD", MMD("linear"), normal_plane),
    "rbf 512-D": Problem("512-D clusters, RBF MMD", MMD(gammas="median"), clusters_512),
    "coral 512-D": Problem("512-D clusters, CORAL", CORAL(), clusters_512),
}


def problem(name: str) -> Problem:
    if name not in PROBLEMS:
        raise UnknownName("problem", name, PROBLEMS)
    return PROBLEMS[name]
