"""The points of both pools: their Gram matrix or, where it is too large, their explicit features or they themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from orda.devices import fetched
from orda.discrepancies import Embedding
from orda.kernels import Kernel, Linear, gram_matrix
from orda.records import FloatArray, IntArray, Pool
from orda.stratification.explicit import explicit_features

Maps = Callable[[], tuple[Kernel, Kernel] | None]
"""Kernels of source and target with an explicit φ, made when they are asked for; None where there are none."""
Values = tuple[npt.NDArray[np.floating], FloatArray, IntArray]
"""φ (P, D), κ(x, x) − ‖φ(x)‖² (P,), and the numbers of the examples (P,)."""


@dataclass(frozen=True, slots=True)
class Picked:
    """Both pools' elements, source first, and the kernel between them."""

    kernel: Kernel
    embedding: Embedding
    source: Pool
    target: Pool

    @property
    def gram_bytes(self) -> int:
        return int((self.source.index.size + self.target.index.size) ** 2 * self.embedding.source.element_size())

    @property
    def moment_bytes(self) -> int:
        """Of M symmetric (d, d) matrices, as ``moments.py`` keeps them."""
        d = self.embedding.source.shape[1]
        return int(self.source.index.shape[1] * (d * (d + 1) // 2) * 8)

    def gram(self) -> npt.NDArray[np.floating]:
        """κ (P, P)."""
        found: npt.NDArray[np.floating] = fetched(gram_matrix(self.kernel, self._centred())).numpy()
        return found

    def points(self) -> npt.NDArray[np.floating]:
        """The points (P, d), centred by domain."""
        found: npt.NDArray[np.floating] = fetched(self._centred()).numpy()
        return found

    def explicit(self, maps: Maps) -> Values | None:
        """The explicit features: the linear kernel has its own."""
        example = np.concatenate([self.source.index.ravel(), len(self.embedding.source) + self.target.index.ravel()])
        if isinstance(self.kernel, Linear):
            points = self.points()
            return points, np.zeros(len(points)), example
        kernels = maps()
        if kernels is None:
            return None
        phi, extra = [], []
        for kernel, x in zip(kernels, self._points(), strict=True):
            features = explicit_features(kernel, x)
            assert features is not None  # that is what maps are for
            phi.append(features)
            extra.append(kernel.diagonal(x).double() - features.double().square().sum(1))
        return fetched(torch.cat(phi)).numpy(), fetched(torch.cat(extra)).numpy(), example

    def _points(self) -> tuple[Tensor, Tensor]:
        """As they lie in the embedding: centres are still to be taken off."""
        return pick(self.embedding.source, self.source), pick(self.embedding.target, self.target)

    def _centred(self) -> Tensor:
        centres, points = self.embedding.centres, self._points()
        return torch.cat(points if centres is None else [x - c for x, c in zip(points, centres, strict=True)])


def pick(points: Tensor, pool: Pool) -> Tensor:
    """The points of a pool, in the order of its elements."""
    return points[torch.from_numpy(pool.index.reshape(-1)).to(points.device)]
