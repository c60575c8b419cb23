"""Feature maps ψ of low dimension, ⟨ψ(z), ψ(z')⟩ ≈ κ(z, z'), for where no Gram matrix of all data fits."""

from __future__ import annotations

from orda.approximations.base import Approximate, FeatureMap
from orda.approximations.choose import APPROXIMATIONS, MEMORY_BUDGET, RANK, Scale, feature_map
from orda.approximations.fourier import FourierMap, fourier_map
from orda.approximations.nystroem import LANDMARKS, NystroemMap, nystroem_map
from orda.approximations.quality import Quality, quality
from orda.approximations.sketch import SketchMap, sketch_map

__all__ = [
    "APPROXIMATIONS",
    "LANDMARKS",
    "MEMORY_BUDGET",
    "RANK",
    "Approximate",
    "FeatureMap",
    "FourierMap",
    "NystroemMap",
    "Quality",
    "Scale",
    "SketchMap",
    "feature_map",
    "fourier_map",
    "nystroem_map",
    "quality",
    "sketch_map",
]
