"""Nyström's map: every point seen from L landmarks.

    ψ(z) = Λ^(−1/2) Uᵀ (κ(z, l_1), …, κ(z, l_L)),       K_LL = U Λ Uᵀ among the landmarks

⟨ψ(z), ψ(z')⟩ = k_zᵀ K_LL⁺ k_z' is the inner product of the projections of φ(z) and φ(z') onto the span of the
landmarks: exact for landmarks, never above κ on the diagonal. Directions with an eigenvalue below ``CUT`` of the
largest are left out: they hold rounding only. L kernel values a point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from orda.approximations.base import FeatureMap
from orda.errors import SettingError, UnknownName
from orda.kernels import Kernel
from orda.threads import in_pieces

CUT = {torch.float32: 1e-6, torch.float64: 1e-12}
LANDMARKS = ("uniform", "kmeans++")


@dataclass(frozen=True, eq=False)
class NystroemMap(FeatureMap):
    """ψ of a kernel by landmarks (L, d)."""

    kernel: Kernel
    landmarks: Tensor
    whitening: Tensor  # (L, rank) U Λ^(−1/2)
    name: ClassVar[str] = "nystroem"

    @property
    def rank(self) -> int:
        return int(self.whitening.shape[1])

    def __call__(self, x: Tensor) -> Tensor:
        return self.kernel.gram(x, self.landmarks) @ self.whitening


def nystroem_map(
    kernel: Kernel, points: Tensor, rank: int, rng: np.random.Generator, landmarks: str = "uniform"
) -> NystroemMap:
    """The map by ``rank`` landmarks among ``points`` (all of them, where there are fewer).

    ``landmarks``: "uniform", or "kmeans++": each with probability proportional to its squared distance, in the
    kernel's space, to those there are. It costs a pass over the points for each, and brings little (docs/large.md).
    """
    if landmarks not in LANDMARKS:
        raise UnknownName("choice of landmarks", landmarks, LANDMARKS)
    if rank < 1 or len(points) < 1:
        raise SettingError("rank must be at least 1, and there must be points", f"{rank}, {len(points)} points")
    count = min(rank, len(points))
    if landmarks == "uniform":
        chosen = np.sort(rng.choice(len(points), count, replace=False))
    else:
        chosen = spread_out(kernel, points, count, rng)
    found = points[torch.from_numpy(chosen).to(points.device)].clone()
    (whitening,) = in_pieces(lambda z: whitened(kernel, z), [found], points.device)
    return NystroemMap(kernel, found, whitening)


def whitened(kernel: Kernel, landmarks: Tensor) -> Tensor:
    """U Λ^(−1/2) (L, rank), found in float64."""
    exact = landmarks.double()
    values, vectors = torch.linalg.eigh(kernel.gram(exact, exact))
    kept = values > CUT[landmarks.dtype] * values.max()
    whitening: Tensor = vectors[:, kept] / values[kept].sqrt()
    return whitening.to(landmarks.dtype)


def spread_out(kernel: Kernel, points: Tensor, count: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of ``count`` points by D² sampling in the kernel's space."""
    diagonal = kernel.diagonal(points).double()
    chosen = [int(rng.integers(len(points)))]
    nearest = torch.full_like(diagonal, torch.inf)
    while len(chosen) < count:
        newest = points[chosen[-1] : chosen[-1] + 1]
        (column,) = in_pieces(lambda one: kernel.gram(points, one)[:, 0].double(), [newest], points.device)
        squared = (diagonal + diagonal[chosen[-1]] - 2 * column).clamp_min(0)
        squared[chosen[-1]] = 0
        nearest = torch.minimum(nearest, squared)
        mass = np.cumsum(nearest.cpu().numpy())
        if mass[-1] <= 0:  # the others are copies
            break
        chosen.append(int(np.searchsorted(mass, rng.random() * mass[-1], "right")))
    return np.sort(np.array(chosen))
