"""Anticlustering minibatches: a random pool is split into minibatches whose means are as alike as possible.

Assignment-based anticlustering (ABA), of a pool of N = kM examples into M groups of k:

1. sort the pool by the squared distance to its mean, descending
2. cut it into k blocks of M examples; the first block seeds the M groups
3. give each later block, one example a group, the assignment with the largest Σ ‖φ(z) − c_g‖², c_g the group's mean

All groups have t members when block t + 1 is assigned, so that

    ‖φ(z) − c_g‖² = ‖φ(z)‖² − (2/t)⟨φ(z), Σ_{l ∈ g} φ(z_l)⟩ + ‖c_g‖².

The first term belongs to the example and the last to the group: every assignment has the same sum of both. So step 3
is the assignment with the smallest Σ ⟨φ(z), Σ_{l ∈ g} φ(z_l)⟩, which inner products alone decide.

One group is one minibatch. The pool is a uniform draw and all groups are equally large, so the mean over a plan's
minibatches is the pool's, whose expectation is the domain's mean; groups, and examples within them, come in random
order, so that each slot of each minibatch alone has that expectation too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from orda.compiled import compiled
from orda.discrepancies import Discrepancy, Embedding
from orda.discrepancies.mmd import make_kernel
from orda.kernels import Kernel, slices, tile_size
from orda.records import Features, FloatArray, IntArray
from orda.samplers.baseline import Baseline, Notes, standardised, view_by
from orda.samplers.uniform import epochs


@dataclass(frozen=True)
class Anticlustering(Baseline):
    """Assignment-based anticlustering of a fresh pool for every plan.

    ``features``: ``"raw"`` balances the means of the features themselves (as ``"linear"`` does); the name of another
    kernel, a ``Kernel`` or a ``Discrepancy`` balances the means of its map φ.

    The pool of kM examples is drawn without replacement. A domain with fewer gives reshuffled copies one after
    another: every example as often as any other, or once more. A minibatch may then hold two copies of one, though
    step 3 keeps like examples apart.
    """

    features: Kernel | Discrepancy | str = "raw"
    name: ClassVar[str] = "anticlustering"
    unbiased: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.features, Discrepancy):
            object.__setattr__(self, "features", make_kernel("linear" if self.features == "raw" else self.features))

    def view(self, features: Features) -> Embedding:
        assert not isinstance(self.features, str)
        return view_by(self.features, features)

    def draw(
        self, kernel: Kernel, x: Tensor, batch_size: int, horizon: int, rng: np.random.Generator
    ) -> tuple[IntArray, Notes]:
        pool = epochs(len(x), batch_size, horizon, rng).ravel()
        points = x[torch.from_numpy(pool).to(x.device)].detach()
        explicit = kernel.explicit(points)
        sums = KernelSums(kernel, points.double()) if explicit is None else PointSums(explicit)
        index = pool[anticlusters(sums, horizon)]
        return rng.permuted(index[rng.permutation(horizon)], axis=1), {}


class GroupSums(Protocol):
    """What anticlustering needs to know of N examples and of the growing groups: inner products of φ."""

    def eccentricity(self) -> FloatArray:
        """(N,) ‖φ(z) − mean‖², up to a constant."""

    def grow(self, members: IntArray) -> None:
        """Group g takes example members[g] as well."""

    def inner(self, block: IntArray) -> FloatArray:
        """(len(block), M) ⟨φ(z), Σ_{l ∈ g} φ(z_l)⟩ for the examples of the block and every group g."""


def anticlusters(sums: GroupSums, groups: int) -> IntArray:
    """The N examples behind ``sums`` in equally large groups: positions (groups, N / groups)."""
    blocks = np.argsort(-sums.eccentricity(), kind="stable").reshape(-1, groups)  # steps 1 and 2
    members = [blocks[0]]
    for block in blocks[1:]:  # step 3
        sums.grow(members[-1])
        rows, columns = linear_sum_assignment(sums.inner(block))
        assigned = np.empty_like(block)
        assigned[columns] = block[rows]
        members.append(assigned)
    return np.stack(members, axis=1)


class PointSums:
    """φ given explicitly: the sum of a group is a vector."""

    def __init__(self, points: Tensor) -> None:
        self.points: FloatArray = standardised(points).cpu().numpy()  # a shift or a scale changes no assignment
        self._sums: FloatArray | None = None

    def eccentricity(self) -> FloatArray:
        squares: FloatArray = np.square(self.points - self.points.mean(0)).sum(1)
        return squares

    def grow(self, members: IntArray) -> None:
        added = np.ascontiguousarray(self.points[members].T)
        self._sums = added if self._sums is None else self._sums + added

    def inner(self, block: IntArray) -> FloatArray:
        assert self._sums is not None
        return _products(self.points[block], self._sums)


@compiled
def _products(a: FloatArray, b: FloatArray) -> FloatArray:
    """a (n, d) times b (d, m), each entry summed in the order of d: equal rows give equal entries, bit for bit.

    Libraries do not promise that, and rounding would then decide between copies of an example.
    """
    out = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for g in range(b.shape[1]):
                out[i, g] += a[i, j] * b[j, g]
    return out


class KernelSums:
    """φ given by its kernel: ⟨φ(z), Σ_{l ∈ g} φ(z_l)⟩ = Σ_{l ∈ g} κ(z, z_l), tile by tile. O(N²) values, none kept."""

    def __init__(self, kernel: Kernel, points: Tensor) -> None:
        self.kernel, self.points = kernel, points
        self._members: list[IntArray] = []

    def eccentricity(self) -> FloatArray:
        points, sums = self.points, self.points.new_zeros(len(self.points))
        parts = list(slices(len(points), tile_size(points)))
        for r, rows in enumerate(parts):
            left = points[rows]
            sums[rows] += self.kernel.gram(left, left).sum(1)
            for columns in parts[r + 1 :]:  # and its mirror image
                tile = self.kernel.gram(left, points[columns])
                sums[rows] += tile.sum(1)
                sums[columns] += tile.sum(0)
        values: FloatArray = (self.kernel.diagonal(points) - 2 * sums / len(points)).cpu().numpy()
        return values

    def grow(self, members: IntArray) -> None:
        self._members.append(members)

    def inner(self, block: IntArray) -> FloatArray:
        groups, points = len(block), self.points[self._tensor(block)]
        total = points.new_zeros(groups, groups)
        for some in slices(len(self._members), max(1, tile_size(points) ** 2 // groups**2)):
            earlier = self.points[self._tensor(np.concatenate(self._members[some]))]
            total += self.kernel.gram(points, earlier).view(groups, -1, groups).sum(1)
        values: FloatArray = total.cpu().numpy()
        return values

    def _tensor(self, index: IntArray) -> Tensor:
        return torch.from_numpy(index).to(self.points.device)
