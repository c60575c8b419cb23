"""A random sketch of zzᵀ, for the squared inner product (CORAL's map).

    ψ_j(z) = D^(−1/2) (a_j·z)(b_j·z) = D^(−1/2) ⟨a_j b_jᵀ, zzᵀ⟩,       a_j, b_j ~ uniform on {−1, 1}^d

E ⟨ψ(z), ψ(z')⟩ = ⟨z, z'⟩², since E a aᵀ = I. The error falls with D^(−1/2), whatever the data are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from orda.approximations.base import FeatureMap
from orda.errors import SettingError
from orda.kernels import Kernel, SquaredInner


@dataclass(frozen=True, eq=False)
class SketchMap(FeatureMap):
    """ψ by two sets of directions (d, D)."""

    left: Tensor
    right: Tensor
    name: ClassVar[str] = "sketch"

    @property
    def rank(self) -> int:
        return int(self.left.shape[1])

    def __call__(self, x: Tensor) -> Tensor:
        products: Tensor = (x @ self.left) * (x @ self.right)
        return products.div(self.rank**0.5)


def sketch_map(kernel: Kernel, points: Tensor, rank: int, rng: np.random.Generator) -> SketchMap:
    """``rank`` random products; of ``points`` only d, dtype and device count."""
    if not isinstance(kernel, SquaredInner):
        raise SettingError("the sketch is one of the squared inner product", repr(kernel), 'Use "nystroem"')
    signs = rng.integers(0, 2, size=(2, points.shape[1], rank)) * 2.0 - 1.0
    left, right = torch.from_numpy(signs).to(points)
    return SketchMap(left, right)
