"""Kernels κ(z, z') = ⟨φ(z), φ(z')⟩ and their Gram matrices, in blocks.

| kernel | κ(z, z') | the mean embedding of a domain is |
|---|---|---|
| ``Linear`` | ⟨z, z'⟩ | its mean |
| ``RBFMixture`` | Σ_γ exp(−γ‖z − z'‖²) | characteristic: it says everything about the distribution |
| ``SquaredInner`` | ⟨z, z'⟩² | its second moments; of centred points, its covariance (CORAL's map φ_c) |

A kernel takes points of shape (..., n, d): leading dimensions are minibatches.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from orda.devices import sent
from orda.errors import KernelWarning, SettingError, UnknownName
from orda.threads import TILE, in_pieces

PAPER_GAMMAS = (0.001, 0.01, 0.1, 1.0, 10.0)
MEDIAN_OF = 1000  # points whose median squared distance gives the scale
BLOCK_BYTES = 256 * 2**20  # the largest temporary that a blocked loop makes
POWERS = 2  # tenth powers in a row: two exponentials serve the paper's five γ, to 1e-5 in float32
ROWS = 2**16  # of which a mean is taken at once: no float64 copy of more
BLIND = 1e-3  # D13: below it, or above 1 − it, a mean off-diagonal kernel value says that the kernel sees nothing


class Kernel(ABC):
    """A positive-definite kernel."""

    name: str

    @abstractmethod
    def gram(self, x: Tensor, y: Tensor) -> Tensor:
        """κ between all points of x (..., n, d) and y (..., m, d): (..., n, m). Differentiable."""

    @abstractmethod
    def diagonal(self, x: Tensor) -> Tensor:
        """κ(z, z) for every point of x (..., n, d): (..., n)."""

    def resolved(self, x: Tensor) -> Kernel:
        """The kernel with everything that depends on data fixed, from the points x (n, d)."""
        del x
        return self

    def explicit(self, x: Tensor) -> Tensor | None:
        """φ(x) (n, D) where it is known, and no larger than worth keeping; ``None`` elsewhere."""
        del x
        return None


@dataclass(frozen=True)
class Linear(Kernel):
    """κ(z, z') = ⟨z, z'⟩."""

    name = "linear"

    def gram(self, x: Tensor, y: Tensor) -> Tensor:
        return x @ y.mT

    def diagonal(self, x: Tensor) -> Tensor:
        return x.square().sum(-1)

    def explicit(self, x: Tensor) -> Tensor | None:
        return x


@dataclass(frozen=True)
class SquaredInner(Kernel):
    """κ(z, z') = ⟨z, z'⟩² = ⟨zzᵀ, z'z'ᵀ⟩_F: on centred points the kernel of CORAL's map φ_c(z) = (z − z̄)(z − z̄)ᵀ."""

    name = "squared-inner"

    def gram(self, x: Tensor, y: Tensor) -> Tensor:
        return (x @ y.mT).square()

    def diagonal(self, x: Tensor) -> Tensor:
        return x.square().sum(-1).square()


@dataclass(frozen=True)
class RBFMixture(Kernel):
    """κ(z, z') = Σ_{γ ∈ gammas} exp(−γ‖z − z'‖²).

    ``gammas`` are the paper's five, any others, or ``"median"``: the paper's five divided by the median squared
    distance between the points, so that the mixture sees features of any scale.
    """

    gammas: tuple[float, ...] | Literal["median"] = PAPER_GAMMAS
    name = "rbf-mixture"

    def __post_init__(self) -> None:
        if isinstance(self.gammas, str):
            if self.gammas != "median":
                raise UnknownName("gammas", self.gammas, ["median"])
            return
        try:
            gammas = tuple(float(gamma) for gamma in self.gammas)
        except (TypeError, ValueError):
            gammas = ()
        if not gammas or not all(0 < gamma < float("inf") for gamma in gammas):
            raise SettingError(
                "gammas must be one or more positive numbers",
                self.gammas,
                'Or pass gammas="median" to scale by the data',
            )
        object.__setattr__(self, "gammas", gammas)

    def gram(self, x: Tensor, y: Tensor) -> Tensor:
        return self.of_distances(squared_distances(x, y), x)

    def diagonal(self, x: Tensor) -> Tensor:
        count = len(PAPER_GAMMAS) if isinstance(self.gammas, str) else len(self.gammas)
        return x.new_full(x.shape[:-1], float(count))

    def resolved(self, x: Tensor) -> RBFMixture:
        if not isinstance(self.gammas, str):
            return self
        (scale,) = in_pieces(median_squared_distance, [x], x.device)
        return replace(self, gammas=tuple(gamma / float(scale) for gamma in PAPER_GAMMAS))

    def of_distances(self, squared: Tensor, points: Tensor) -> Tensor:
        """The mixture at the given squared distances; where gammas is "median", each set of ``points`` has its own."""
        if isinstance(self.gammas, str):
            scale = median_squared_distance(points).to(squared.dtype)
            return _mixture(squared / scale[..., None, None], PAPER_GAMMAS)
        return _mixture(squared, tuple(sorted(self.gammas)))


def _mixture(squared: Tensor, gammas: tuple[float, ...]) -> Tensor:
    """Σ_γ exp(−γ s), with few exponentials where each γ is ten times the last, as e^{−10a} = (e^{−a})^{10}.

    A tenth power makes a rounding error ten times larger, so that no more than ``POWERS`` are taken in a row.
    """
    term = torch.exp(-gammas[0] * squared)
    total, powers = term.clone(), 0
    for previous, gamma in pairwise(gammas):
        if powers < POWERS and abs(gamma - 10 * previous) <= 1e-12 * gamma:
            fifth = term.square().square() * term
            term, powers = fifth.square(), powers + 1
        else:
            term, powers = torch.exp(-gamma * squared), 0
        total = total + term
    return total


def squared_distances(x: Tensor, y: Tensor) -> Tensor:
    """‖x_i − y_j‖² (..., n, m) through one matrix product, about a common centre to keep the digits; never negative.

    Where the distance is zero its gradient is zero, not NaN. When y *is* x, the diagonal is exactly zero.
    """
    same = y is x
    centre = x.detach().mean(-2, keepdim=True)
    x = x - centre
    y = x if same else y - centre
    squared = x.square().sum(-1)[..., :, None] + y.square().sum(-1)[..., None, :] - 2 * (x @ y.mT)
    if same:
        squared = squared.masked_fill(torch.eye(x.shape[-2], dtype=torch.bool, device=x.device), 0)
    return squared.clamp_min(0)


def median_squared_distance(x: Tensor, limit: int = MEDIAN_OF) -> Tensor:
    """The median of ‖x_i − x_j‖², i ≠ j, of the points x (..., n, d): (...) in float64, a constant to gradients.

    Over at most ``limit`` evenly spaced points; of two in the middle the lower one; 1 where it would be zero.
    """
    if x.shape[-2] < 2:
        return x.new_ones(x.shape[:-2], dtype=torch.float64)
    points = x.detach()
    if x.shape[-2] > limit:
        points = points[..., sent(evenly_spaced(x.shape[-2], limit), x.device), :]
    points, count = points.double().contiguous(), points.shape[-2]
    rows, columns = torch.triu_indices(count, count, offset=1, device=x.device)
    median = squared_distances(points, points)[..., rows, columns].median(-1).values
    return torch.where(median > 0, median, 1.0)


def evenly_spaced(n: int, limit: int) -> Tensor:
    """At most ``limit`` of 0..n−1, evenly spaced from the first to the last."""
    return torch.linspace(0, n - 1, min(limit, n), dtype=torch.float64).round().long()


def spread(domains: Sequence[Tensor], limit: int) -> Tensor:
    """At most ``limit`` evenly spaced rows of the ``domains`` (n, d), one after another; nothing else is copied."""
    picks = evenly_spaced(sum(len(z) for z in domains), limit)
    rows, first = [], 0
    for z in domains:
        inside = picks[(picks >= first) & (picks < first + len(z))] - first
        rows.append(z[inside.to(z.device)])
        first += len(z)
    return torch.cat(rows)


def slices(n: int, size: int) -> Iterator[slice]:
    """0..n cut into consecutive slices of at most ``size``."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def block_rows(columns: int, element_size: int) -> int:
    """How many rows of a matrix with ``columns`` columns fit a block (a block needs about four temporaries)."""
    return max(1, BLOCK_BYTES // (4 * element_size * max(1, columns)))


def tile_size(x: Tensor) -> int:
    """Rows and columns of a tile: for the cache of one core, or on a GPU what fits a block."""
    return TILE if x.device.type == "cpu" else max(256, int((BLOCK_BYTES / (4 * x.element_size())) ** 0.5))


def unfilled(like: Tensor, *shape: int) -> Tensor:
    """A large tensor of the dtype and on the device of ``like``, not filled.

    On the CPU NumPy allocates it, which asks the system for large pages: filling 1.4 GB then costs a fraction, and so
    does reading it out of order.
    """
    if like.device.type != "cpu":
        return like.new_empty(shape)
    return torch.from_numpy(np.empty(shape, dtype=str(like.dtype).removeprefix("torch.")))


def gram_matrix(kernel: Kernel, x: Tensor, out: Tensor | None = None) -> Tensor:
    """The symmetric Gram matrix (n, n) of x, its upper tiles computed and mirrored; written into ``out`` if given.

    On the CPU a tile is small enough for the cache and made on one thread: fast, and the same for all thread counts.
    """
    n, x = len(x), x.detach()
    gram = unfilled(x, n, n) if out is None else out

    def fill(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        left = x[rows]
        block = kernel.gram(left, left if rows == columns else x[columns])
        gram[rows, columns] = block
        if rows != columns:
            gram[columns, rows] = block.mT

    parts = list(slices(n, tile_size(x)))
    for _ in in_pieces(fill, [(rows, columns) for r, rows in enumerate(parts) for columns in parts[r:]], x.device):
        pass
    return gram


def mean_kernel(kernel: Kernel, x: Tensor, y: Tensor) -> float:
    """(1/nm) Σ_ij κ(x_i, y_j), tile by tile, summed in float64; of one set of points (``y is x``) in half the time."""
    x_explicit, y_explicit = kernel.explicit(x), kernel.explicit(y)
    if x_explicit is not None and y_explicit is not None:
        x_mean, y_mean = in_pieces(mean, [x_explicit, y_explicit], x.device)
        return float(x_mean @ y_mean)
    size = tile_size(x)

    def total(tile: tuple[slice, slice]) -> float:
        rows, columns = tile
        left = x[rows]
        if y is not x:
            return float(kernel.gram(left, y[columns]).sum(1, dtype=torch.float64).sum())
        if columns.start < rows.start:
            return 0.0  # symmetric: counted twice in the tile's mirror image
        block = kernel.gram(left, left if rows == columns else x[columns]).sum(1, dtype=torch.float64).sum()
        return float(block) if rows == columns else 2 * float(block)

    tiles = [(rows, columns) for rows in slices(len(x), size) for columns in slices(len(y), size)]
    return sum(in_pieces(total, tiles, x.device)) / (len(x) * len(y))


def mean(x: Tensor) -> Tensor:
    """The mean of the points x (n, d), in float64: torch copies what it adds up in another dtype, so some at a time."""
    total = x.new_zeros(x.shape[1:], dtype=torch.float64)
    for rows in slices(len(x), ROWS):
        total += x[rows].sum(0, dtype=torch.float64)
    return total / len(x)


def warn_if_blind(kernel: Kernel, x: Tensor, y: Tensor, limit: int = 500) -> None:
    """D13: one warning when a fixed RBF mixture is nearly 0, or nearly its largest value, at all pairs of points."""
    if not isinstance(kernel, RBFMixture) or len(x) < 2 or len(y) < 1:
        return
    points = torch.cat([x[:: max(1, len(x) // limit)][:limit], y[:: max(1, len(y) // limit)][:limit]])
    distances = squared_distances(points, points)
    off = ~torch.eye(len(points), dtype=torch.bool, device=points.device)
    if float(distances[off].max()) == 0.0:
        return  # all points identical: there is nothing to see
    seen = float(kernel.of_distances(distances, points)[off].double().mean() / kernel.diagonal(points[:1])[0])
    if BLIND <= seen <= 1 - BLIND:
        return
    warnings.warn(
        f"the kernel hardly sees the data: its mean off-diagonal value over its largest is {seen:.2e} "
        f"(want {BLIND:g} to {1 - BLIND:g}; gammas {kernel.gammas}, median squared distance "
        f"{float(median_squared_distance(points)):.3g}). The estimate is then nearly constant and its gradient noise. "
        'Use RBFMixture(gammas="median"), or gammas near one over the median squared distance.',
        KernelWarning,
        stacklevel=3,
    )
