"""The paper's pipeline as one would first write it down: NumPy, loops over points, strata and swaps.

Untuned on purpose, to have something to compare with; the tests hold orda to literal code of their own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
GAMMAS = (0.001, 0.01, 0.1, 1.0, 10.0)


def plan(source: Array, target: Array, k: int, horizon: int, sweeps: int, rng: np.random.Generator) -> Labels:
    """(2k, M) indices: stratify both domains, draw, order by Algorithm 2."""
    everything = np.concatenate([source, target])
    median = np.median(np.square(everything[::7, None] - everything[None, ::7]).sum(-1))
    gram = sum(np.exp(-gamma / median * squared_distances(everything, everything)) for gamma in GAMMAS)
    assert isinstance(gram, np.ndarray)
    n = len(source)
    parts = [gram[:n, :n], gram[n:, n:]]
    d0 = parts[0].mean() + parts[1].mean() - 2 * gram[:n, n:].mean()
    pools, weights = [], []
    for part, first in zip(parts, (0, n), strict=True):
        labels = stratify(part, k, min(horizon, len(part) // k), sweeps, rng)
        for h in range(k):
            members = np.flatnonzero(labels == h)
            pools.append(first + np.resize(rng.permutation(members), horizon))
            weights.append((1 if first == 0 else -1) * len(members) / len(part))
    return order(np.array(pools), np.array(weights), gram, float(d0))


def squared_distances(x: Array, y: Array) -> Array:
    found: Array = np.square(x).sum(1)[:, None] + np.square(y).sum(1) - 2 * x @ y.T
    return np.maximum(found, 0)


def stratify(gram: Array, k: int, min_size: int, sweeps: int, rng: np.random.Generator) -> Labels:
    """Kernel k-means with Algorithm 1, from k random points."""
    centres = rng.choice(len(gram), k, replace=False)
    diagonal = np.diag(gram)
    labels = assign(diagonal[:, None] + diagonal[centres] - 2 * gram[:, centres], min_size, rng)
    for _ in range(sweeps):
        distances = np.empty((len(gram), k))
        for h in range(k):
            inside = labels == h
            distances[:, h] = diagonal - 2 * gram[:, inside].mean(1) + gram[np.ix_(inside, inside)].mean()
        new = assign(distances, min_size, rng)
        if np.array_equal(new, labels):
            break
        labels = new
    return labels


def assign(distances: Array, min_size: int, rng: np.random.Generator) -> Labels:
    """Algorithm 1, point by point."""
    n, k = distances.shape
    labels, sizes = np.empty(n, np.int64), np.zeros(k)
    for left, i in zip(range(n, 0, -1), rng.permutation(n), strict=True):
        short = np.maximum(min_size - sizes, 0)
        allowed = (sizes < min_size) | (left > short.sum())
        costs = np.where(allowed, distances[i] * (sizes + 1), np.inf)
        labels[i] = costs.argmin()
        sizes[labels[i]] += 1
    return labels


def order(pools: Labels, weights: Array, gram: Array, d0: float) -> Labels:
    """Algorithm 2: for every minibatch and stratum the best of all swaps with later minibatches."""
    rows, horizon = pools.shape

    def cost(members: Labels) -> float:
        return float((weights @ gram[np.ix_(members, members)] @ weights - d0) ** 2)

    costs = [cost(pools[:, m]) for m in range(horizon)]
    for m in range(horizon):
        for r in np.arange(rows).reshape(2, -1).T.ravel():
            best, least = m, costs[m]
            changed: dict[int, tuple[float, float]] = {}
            for other in range(m + 1, horizon):
                one, two = pools[:, m].copy(), pools[:, other].copy()
                one[r], two[r] = two[r], one[r]
                changed[other] = cost(one), cost(two)
                total = sum(changed[other]) - costs[other]
                if total < least:
                    best, least = other, total
            if best != m:
                pools[r, m], pools[r, best] = pools[r, best], pools[r, m]
                costs[m], costs[best] = changed[best]
    return pools
