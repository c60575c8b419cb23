"""The one primitive of kernel k-means: S_hi = Σ_{j ∈ S_h} κ(z_j, z_i), for every stratum h and point i.

Distances to centroids, the objective and the exact cost of moving a point all follow from S and the diagonal of the
Gram matrix (``kernel_kmeans.py``, ``moves.py``). There are three ways to it:

| ``method`` | when | S of new labels costs |
|---|---|---|
| ``"explicit"`` | φ is known and small (``explicit.py``): never an n×n matrix | O(ndk) |
| ``"gram"`` | half of the symmetric Gram matrix fits the memory budget | O(n²) additions, whatever k |
| ``"blocks"`` | otherwise: the Gram matrix is computed again, stripe by stripe | O(n²d) |

Where few points changed their stratum, the last two look at those points only. S is float64 whatever the points are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from orda.devices import fetched
from orda.records import FloatArray, IntArray

Method = Literal["explicit", "gram", "blocks"]


class StratumSums(ABC):
    """S of one set of points. ``at`` is stateful: it goes on from the labels that it was asked for last."""

    method: Method
    full_costs_moves: int
    """S from nothing costs what n / this many moved points cost."""

    def __init__(self, k: int, diagonal: FloatArray, dtype: torch.dtype) -> None:
        self.n, self.k = len(diagonal), k
        self.diagonal = diagonal  # κ(z_i, z_i)
        self.noise = 16 * torch.finfo(dtype).eps  # the relative accuracy of kernel values, made in ``dtype``
        self._sums: FloatArray = np.zeros((k, self.n))
        self._labels: IntArray | None = None

    def at(self, labels: IntArray) -> FloatArray:
        """S (k, n) of ``labels``, to be read only, and only until the next call."""
        self._go_to(labels)
        return self._sums

    def _go_to(self, labels: IntArray) -> None:
        """Make the sums those of ``labels``, from nothing or from the last ones, whichever costs less."""
        moved = None if self._labels is None else np.flatnonzero(labels != self._labels)
        if self._labels is None or moved is None or len(moved) * self.full_costs_moves > self.n:
            self._clear()
            self._compute(labels)
        elif len(moved):
            self._move(moved, self._labels[moved], labels[moved])
        self._labels = labels.copy()

    def _clear(self) -> None:
        self._sums[:] = 0

    def within(self, labels: IntArray) -> FloatArray:
        """V (k,): Σ_{i ∈ S_h} S_hi."""
        sums = self.at(labels)
        found: FloatArray = np.bincount(labels, sums[labels, np.arange(self.n)], self.k).astype(np.float64)
        return found

    def distances(self, labels: IntArray, sizes: IntArray, within: FloatArray) -> npt.NDArray[np.floating]:
        """P (n, k): ‖φ_i − μ_h‖² to the centroids of ``labels``, never negative; anything where a stratum is empty."""
        sizes = np.maximum(sizes, 1)
        p: FloatArray = self.diagonal[:, None] - 2 * (self.at(labels).T / sizes) + within / sizes**2
        return np.maximum(p, 0, out=p)

    @abstractmethod
    def mean_kernel(self) -> float:
        """(1/n²) Σ_ij κ(z_i, z_j), after a call of ``at``."""

    @abstractmethod
    def column(self, index: int) -> FloatArray:
        """κ(z_i, z_index) for every point i: (n,)."""

    @abstractmethod
    def among(self, indices: IntArray) -> FloatArray:
        """κ between some of the points: (m, m)."""

    @abstractmethod
    def _compute(self, labels: IntArray) -> None:
        """Add S of ``labels`` to the sums."""

    @abstractmethod
    def _move(self, moved: IntArray, old: IntArray, new: IntArray) -> None:
        """Add to the sums what changes when the points ``moved`` go from strata ``old`` to ``new``."""


def one_hot(labels: Tensor, k: int) -> Tensor:
    """U (k, n) in float64: U_hi = 1 where point i is in stratum h."""
    return (labels == torch.arange(k, device=labels.device)[:, None]).double()


def to_numpy(x: Tensor) -> FloatArray:
    array: FloatArray = fetched(x.double()).numpy()
    return array
