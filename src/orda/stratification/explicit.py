"""S from explicit features: S_hi = ⟨Σ_{j ∈ S_h} φ_j, φ_i⟩. Linear in n, and nothing (k, n) is kept but distances.

φ is taken about its mean: no distance changes by that, and digits are kept. Of an approximate kernel (``Approximate``)
φ is its map ψ, and the diagonal the exact one: ρ_i = κ_ii − ‖ψ_i‖² belongs to the pair (i, i) alone, so that

    S_hi = ⟨Σ_{j ∈ S_h} φ_j, φ_i⟩ + ρ_i [i ∈ S_h]        V_h = ‖Σ_{j ∈ S_h} φ_j‖² + Σ_{i ∈ S_h} ρ_i.

Distances and the objective take the totals Σ_{j ∈ S_h} φ_j only. S itself is for few points (``at``, ``moves.py``) or
for some at a time (``passes.py``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from orda.approximations import Approximate
from orda.compiled import compiled
from orda.kernels import Kernel, Linear, slices, unfilled
from orda.records import FloatArray, IntArray
from orda.stratification.sums import Method, StratumSums, one_hot, to_numpy
from orda.threads import in_pieces

PIECE = 1024  # features that are worked on at once
DEVICE_PIECE = 2**16  # on a GPU
SPAN = 16  # pieces whose totals are added up at once


class ExplicitSums(StratumSums):
    """S of φ (n, D), which is left as it is.

    With a ``diagonal`` (n,) of κ_ii, φ is an approximation: products are of its own dtype then, not of float64, and it
    is taken over: its mean is taken off in place.
    """

    method: Method = "explicit"

    def __init__(self, phi: Tensor, k: int, diagonal: Tensor | None = None) -> None:
        self._phi, self.device = phi, phi.device
        self._approximate = diagonal is not None
        self._work = phi.dtype if self._approximate else torch.float64
        self.pieces = pieces_of(phi)
        self.mean = self._total(lambda rows: phi[rows].double().sum(0)) / len(phi)  # of φ, (D,) in float64
        self.centre = self.mean.to(phi.dtype)
        self.residual: FloatArray = np.zeros(len(phi))  # ρ
        if diagonal is not None:
            self.residual = to_numpy(diagonal) - self._filled(lambda rows: phi[rows].double().square().sum(1))
            for _ in self._each(lambda rows: phi[rows].sub_(self.centre)):
                pass
        squares = self._filled(lambda rows: self.rows(rows).square().sum(1))
        super().__init__(k, squares + self.residual, self._work)
        self.full_costs_moves = self.n + 1  # one product is cheap: nothing to gain from the last labels
        self._totals_of: tuple[IntArray, Tensor] | None = None

    def rows(self, rows: slice | Tensor, dtype: torch.dtype = torch.float64) -> Tensor:
        """φ of some points about its mean."""
        return (self._phi[rows] if self._approximate else self._phi[rows] - self.centre).to(dtype)

    def mean_kernel(self) -> float:
        return float(self.mean.square().sum()) + float(self.residual.sum()) / self.n**2

    def column(self, index: int) -> FloatArray:
        one = self.rows(slice(index, index + 1), self._work)[0]
        values = self._filled(lambda rows: self.rows(rows, self._work) @ one)
        values[index] = self.diagonal[index]
        return values

    def among(self, indices: IntArray) -> FloatArray:
        def gram(where: Tensor) -> Tensor:
            phi = self.rows(where, self._work)
            return phi @ phi.mT

        (values,) = in_pieces(gram, [torch.from_numpy(indices).to(self.device)], self.device)
        found = to_numpy(values)
        np.fill_diagonal(found, self.diagonal[indices])
        return found

    # ── what totals are enough for ──

    def totals(self, labels: IntArray) -> Tensor:
        """Σ_{j ∈ S_h} φ_j (k, D) in float64."""
        if self._totals_of is None or not np.array_equal(self._totals_of[0], labels):
            spans = list(slices(len(self.pieces), SPAN))
            pieces = [slice(self.pieces[s.start].start, self.pieces[s.stop - 1].stop) for s in spans]
            shares = in_pieces(lambda rows: self._share(rows, labels[rows]), pieces, self.device)
            self._totals_of = labels.copy(), functools.reduce(torch.add, shares)
        return self._totals_of[1]

    def _share(self, rows: slice, labels: IntArray) -> Tensor:
        if self.device.type == "cpu":
            totals = np.zeros((self.k, self._phi.shape[1]))
            centre = torch.zeros_like(self.centre) if self._approximate else self.centre
            _add_rows(self._phi[rows].numpy(), centre.numpy(), labels, totals)
            return torch.from_numpy(totals)
        return one_hot(torch.from_numpy(labels).to(self.device), self.k) @ self.rows(rows)

    def within(self, labels: IntArray) -> FloatArray:
        own: FloatArray = np.bincount(labels, self.residual, self.k).astype(np.float64)
        return to_numpy(self.totals(labels).square().sum(1)) + own

    def distances(self, labels: IntArray, sizes: IntArray, within: FloatArray) -> npt.NDArray[np.floating]:
        sizes = np.maximum(sizes, 1)
        centroids = self.totals(labels) / torch.from_numpy(sizes).to(self.device)[:, None]
        own = labels, 2 * self.residual / sizes[labels]
        return self.to_centroids(centroids, within / sizes**2, own)

    def to_centroids(
        self, centroids: Tensor, squares: FloatArray, own: tuple[IntArray, FloatArray]
    ) -> npt.NDArray[np.floating]:
        """κ_ii − 2⟨φ_i, μ_h⟩ + ‖μ_h‖² (n, k), less own[1] for each point's stratum own[0]; never negative."""
        work = self._work
        right, ends = (-2 * centroids.mT).to(work), torch.from_numpy(squares).to(self.device, work)
        diagonal, labels, less = (torch.from_numpy(part).to(self.device) for part in (self.diagonal, *own))
        distances = np.empty((self.n, self.k), dtype=str(work).removeprefix("torch."))

        def fill(rows: slice) -> None:
            p = torch.addmm(ends, self.rows(rows, work), right)
            p += diagonal[rows].to(work)[:, None]
            p.scatter_add_(1, labels[rows][:, None], -less[rows].to(work)[:, None])
            distances[rows] = p.clamp_min_(0).cpu().numpy()

        for _ in in_pieces(fill, self.pieces, self.device):
            pass
        return distances

    def some(self, chosen: IntArray) -> ExplicitSums:
        """The same of some points, φ about their own mean."""
        where = torch.from_numpy(chosen).to(self.device)
        return ExplicitSums(
            self._phi[where],
            self.k,
            torch.from_numpy(self.diagonal[chosen]).to(self.device) if self._approximate else None,
        )

    def as_strata_of(self, some: ExplicitSums, labels: IntArray, chosen: IntArray) -> npt.NDArray[np.floating]:
        """P (n, k) of all points to the centroids of ``labels`` of the ``chosen`` ones, whose sums are ``some``."""
        sizes = np.bincount(labels, minlength=self.k)
        everyone, less = np.zeros(self.n, np.int64), np.zeros(self.n)
        everyone[chosen], less[chosen] = labels, 2 * some.residual / sizes[labels]
        centroids = some.totals(labels) / torch.from_numpy(sizes).to(self.device)[:, None]
        moved = some.centre if self._approximate else some.centre - self.centre
        centroids += moved.double()  # about the mean of all
        squares = centroids.square().sum(1)
        own = np.bincount(labels, some.residual, self.k) / sizes**2
        return self.to_centroids(centroids, to_numpy(squares) + own, (everyone, less))

    # ── S itself ──

    def sums_of(self, rows: slice, totals: Tensor, labels: IntArray) -> FloatArray:
        """S (m, k) of some points."""
        found = to_numpy(self.rows(rows, self._work) @ totals.to(self._work).mT)
        found[np.arange(len(found)), labels[rows]] += self.residual[rows]
        return found

    def _compute(self, labels: IntArray) -> None:
        totals = self.totals(labels)

        def fill(rows: slice) -> None:
            self._sums[:, rows] = self.sums_of(rows, totals, labels).T

        for _ in in_pieces(fill, self.pieces, self.device):
            pass

    def _move(self, moved: IntArray, old: IntArray, new: IntArray) -> None:
        raise AssertionError("full_costs_moves says that this is never worth it")

    def _each(self, function: Callable[[slice], Tensor]) -> Iterator[Tensor]:
        return in_pieces(function, self.pieces, self.device)

    def _total(self, function: Callable[[slice], Tensor]) -> Tensor:
        return functools.reduce(torch.add, self._each(function))

    def _filled(self, function: Callable[[slice], Tensor]) -> FloatArray:
        """(n,), piece by piece, and from a GPU all of it at once."""
        return to_numpy(torch.cat(list(self._each(function))))


@compiled
def _add_rows(phi: FloatArray, centre: FloatArray, labels: IntArray, totals: FloatArray) -> None:
    for i in range(len(phi)):
        target, row = totals[labels[i]], phi[i]
        for j in range(len(row)):
            target[j] += row[j] - centre[j]


def explicit_features(kernel: Kernel, points: Tensor) -> Tensor | None:
    """φ (n, D) where the kernel knows it: the points themselves, or its map piece by piece."""
    if isinstance(kernel, Linear):
        return kernel.explicit(points)
    first = kernel.explicit(points[:1])
    if first is None:
        return None
    phi = unfilled(first, len(points), first.shape[1])

    def fill(rows: slice) -> None:
        phi[rows] = kernel.explicit(points[rows])  # type: ignore[assignment]

    for _ in in_pieces(fill, pieces_of(points), points.device):
        pass
    return phi


def exact_diagonal(kernel: Approximate, points: Tensor) -> Tensor:
    """κ_ii (n,), piece by piece."""
    return torch.cat(list(in_pieces(lambda rows: kernel.diagonal(points[rows]), pieces_of(points), points.device)))


def pieces_of(points: Tensor) -> list[slice]:
    return list(slices(len(points), PIECE if points.device.type == "cpu" else DEVICE_PIECE))
