"""The one primitive of kernel k-means: S_hi = Σ_{j ∈ S_h} κ(z_j, z_i), for every stratum h and point i.

Distances to centroids, the objective and the exact cost of moving a point all follow from S and the diagonal of the
Gram matrix (``kernel_kmeans.py``, ``moves.py``). There are three ways to it:

| ``method`` | when | S of new labels costs |
|---|---|---|
| ``"explicit"`` | φ is known and small (linear kernel): never an n×n matrix | O(ndk) |
| ``"gram"`` | half of the symmetric Gram matrix fits the memory budget | O(n²) additions, whatever k |
| ``"blocks"`` | otherwise: the Gram matrix is computed again, stripe by stripe | O(n²d) |

Where few points changed their stratum, the last two look at those points only. S is float64 whatever the points are.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from orda.kernels import Linear, gram_matrix, slices
from orda.records import FloatArray, IntArray
from orda.threads import in_pieces

Method = Literal["explicit", "gram", "blocks"]
PIECE = 1024  # explicit features that are worked on at once


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
        moved = None if self._labels is None else np.flatnonzero(labels != self._labels)
        if self._labels is None or moved is None or len(moved) * self.full_costs_moves > self.n:
            self._sums[:] = 0
            self._compute(labels)
        elif len(moved):
            self._move(moved, self._labels[moved], labels[moved])
        self._labels = labels.copy()
        return self._sums

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


class ExplicitSums(StratumSums):
    """S_hi = ⟨Σ_{j ∈ S_h} φ_j, φ_i⟩, with φ about its mean: no distance changes by that, and digits are kept."""

    method: Method = "explicit"

    def __init__(self, phi: Tensor, k: int) -> None:
        self._pieces = list(slices(len(phi), PIECE))
        self._device = phi.device
        self._centre = self._total(lambda rows: phi[rows].double().sum(0)) / len(phi)
        self._phi = torch.empty_like(phi)
        for _ in self._each(lambda rows: self._phi[rows].copy_(phi[rows] - self._centre)):
            pass
        super().__init__(k, self._filled(lambda rows: self._phi[rows].double().square().sum(1)), torch.float64)
        self.full_costs_moves = self.n + 1  # one product is cheap: nothing to gain from the last labels

    def mean_kernel(self) -> float:
        return float(self._centre.square().sum())

    def column(self, index: int) -> FloatArray:
        one = self._phi[index]
        return self._filled(lambda rows: self._phi[rows] @ one)

    def among(self, indices: IntArray) -> FloatArray:
        return to_numpy(gram_matrix(Linear(), self._phi[torch.from_numpy(indices).to(self._device)].double()))

    def _compute(self, labels: IntArray) -> None:
        where = torch.from_numpy(labels).to(self._device)
        totals = self._total(lambda rows: one_hot(where[rows], self.k) @ self._phi[rows].double())  # (k, d)
        self._filled(lambda rows: totals @ self._phi[rows].double().mT, self._sums)

    def _move(self, moved: IntArray, old: IntArray, new: IntArray) -> None:
        raise AssertionError("full_costs_moves says that this is never worth it")

    def _each(self, function: Callable[[slice], Tensor]) -> Iterator[Tensor]:
        return in_pieces(function, self._pieces, self._device)

    def _total(self, function: Callable[[slice], Tensor]) -> Tensor:
        return functools.reduce(torch.add, self._each(function))

    def _filled(self, function: Callable[[slice], Tensor], out: FloatArray | None = None) -> FloatArray:
        """``out`` (..., n), new if ``None``, filled piece by piece along its last axis."""
        filled = np.empty(len(self._phi)) if out is None else out

        def fill(rows: slice) -> None:
            filled[..., rows] = to_numpy(function(rows))

        for _ in in_pieces(fill, self._pieces, self._device):
            pass
        return filled


def one_hot(labels: Tensor, k: int) -> Tensor:
    """U (k, n) in float64: U_hi = 1 where point i is in stratum h."""
    return (labels == torch.arange(k, device=labels.device)[:, None]).double()


def to_numpy(x: Tensor) -> FloatArray:
    array: FloatArray = x.double().cpu().numpy()
    return array
