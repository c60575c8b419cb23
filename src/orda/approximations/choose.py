"""Which map serves which kernel, and when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orda.approximations.base import FeatureMap
from orda.approximations.fourier import fourier_map
from orda.approximations.nystroem import nystroem_map
from orda.approximations.sketch import sketch_map
from orda.errors import SettingError, UnknownName
from orda.kernels import Kernel

MAKERS: dict[str, Callable[[Kernel, Tensor, int, np.random.Generator], FeatureMap]] = {
    "nystroem": nystroem_map,
    "fourier": fourier_map,
    "sketch": sketch_map,
}
APPROXIMATIONS = ("auto", "none", *MAKERS)
RANK = 512
MEMORY_BUDGET = 4 * 2**30  # bytes for kernel values


@dataclass(frozen=True, slots=True)
class Scale:
    """How far a sampler goes exactly, and what it does beyond.

    ``memory_budget``  bytes for kernel values at any one time.
    ``approximation``  "auto": exact while a Gram matrix fits the budget, beyond it Nyström features, which had the
                       smallest error in all measurements (docs/large.md). "none": exact whatever it costs. The name
                       of a map: that one in the place of every Gram matrix of all data.
    ``rank``           the dimension of the map.
    """

    approximation: str = "auto"
    rank: int = RANK
    memory_budget: int = MEMORY_BUDGET

    def __post_init__(self) -> None:
        if self.approximation not in APPROXIMATIONS:
            raise UnknownName("approximation", self.approximation, APPROXIMATIONS)
        for name, value, least in (("rank", self.rank, 1), ("memory_budget", self.memory_budget, 0)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise SettingError(f"{name} must be an integer of at least {least}", repr(value))

    def method(self, needed: int) -> str | None:
        """The map to use where a Gram matrix would take ``needed`` bytes; ``None`` for the exact kernel."""
        if self.approximation == "auto":
            return "nystroem" if needed > self.memory_budget else None
        return None if self.approximation == "none" else self.approximation

    def settings(self) -> dict[str, Any]:
        return {"approximation": self.approximation, "rank": self.rank, "memory_budget": self.memory_budget}


def feature_map(method: str, kernel: Kernel, points: Tensor, rank: int, rng: np.random.Generator) -> FeatureMap:
    """The map of that name, by ``points`` (some of the data, centred as the kernel wants them)."""
    with torch.no_grad():
        return MAKERS[method](kernel, points, rank, rng)
