"""Literal twins of the unbiased estimates, and all minibatches that a design can draw, to average over exactly."""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Minibatch = tuple[int, ...]


def independent(n: int, k: int) -> list[Minibatch]:
    """All outcomes of k draws with replacement, each as likely as any other."""
    return list(product(range(n), repeat=k))


def distinct(n: int, k: int) -> list[Minibatch]:
    """All sets of k different examples, each as likely as any other."""
    return list(combinations(range(n), k))


def pairs(strata: list[list[int]]) -> list[Minibatch]:
    """Two different members of every stratum, each choice as likely as any other; the member of a singleton twice."""
    choices = [list(combinations(members, 2)) if len(members) > 1 else [(members[0],) * 2] for members in strata]
    return [tuple(i for pair in choice for i in pair) for choice in product(*choices)]


def squared_mean(gram: Array, strata: list[list[int]], sizes: list[int | None], shares: list[float]) -> float:
    """The unbiased ‖μ‖² from a minibatch: places by stratum; the size of a stratum, None for independent draws."""
    total = 0.0
    for h, places in enumerate(strata):
        r, size = len(places), sizes[h]
        off = [gram[i, j] for i in places for j in places if i != j]
        mean = sum(off) / len(off) if off else 0.0
        if size is not None:  # distinct draws never meet themselves: 1/size of the square is missing
            mean = (1 - 1 / size) * mean + sum(gram[i, i] for i in places) / r / size
        total += shares[h] ** 2 * mean
        for g, others in enumerate(strata):
            if g != h:
                total += shares[g] * shares[h] * sum(gram[i, j] for i in others for j in places) / len(others) / r
    return total


def trace_of_squared_covariance(x: Array) -> float:
    """The U-statistic of tr Σ² over all pairs, triples and quadruples of different examples."""
    gram, n = x @ x.T, len(x)
    twos = [gram[i, j] ** 2 for i, j in permutations(range(n), 2)]
    threes = [gram[i, j] * gram[j, k] for i, j, k in permutations(range(n), 3)]
    fours = [gram[i, j] * gram[k, m] for i, j, k, m in permutations(range(n), 4)]
    return float(np.mean(twos) - 2 * np.mean(threes) + np.mean(fours))
