"""What a feature map is, and the kernel that one stands for.

    κ̃(z, z') = ⟨ψ(z), ψ(z')⟩ for different points,       κ̃(z, z) = κ(z, z)

The diagonal is known without any map, and it is what a map of low dimension gets wrong most (a wide mixture is partly a
multiple of the identity). Σ_h n_h SSE_h has Σ_h n_h Σ_{i ∈ S_h} κ_ii in it, so that large strata would look too tight.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from orda.kernels import Kernel


class FeatureMap(ABC):
    """ψ: points (n, d) to (n, rank). Linear in n; it looks at each point by itself."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def rank(self) -> int:
        """The dimension of ψ."""

    @abstractmethod
    def __call__(self, x: Tensor) -> Tensor:
        """ψ(x) (n, rank) of the dtype and on the device of x (n, d)."""


@dataclass(frozen=True, eq=False)
class Approximate(Kernel):
    """κ̃ of points that still have ``centre`` (d,) to be taken off: a kernel with an explicit map."""

    kernel: Kernel
    map: FeatureMap
    centre: Tensor | None = None
    name = "approximate"

    def gram(self, x: Tensor, y: Tensor) -> Tensor:
        """⟨ψ(x), ψ(y)⟩: of points that are different."""
        return self.explicit(x) @ self.explicit(y).mT

    def diagonal(self, x: Tensor) -> Tensor:
        return self.kernel.diagonal(self.centred(x))

    def explicit(self, x: Tensor) -> Tensor:
        return self.map(self.centred(x))

    def centred(self, x: Tensor) -> Tensor:
        return x if self.centre is None else x - self.centre
