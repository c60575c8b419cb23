"""Stratification: from the features of a domain to k strata, and from those to a pool of M examples each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orda.stratification.assignment import assign
from orda.stratification.draw import draw, draw_independent
from orda.stratification.kernel_kmeans import Stratification, stratify
from orda.stratification.stripes import Workspace

if TYPE_CHECKING:
    from orda.stratification.estimator import SizeConstrainedKernelKMeans

__all__ = [
    "SizeConstrainedKernelKMeans",
    "Stratification",
    "Workspace",
    "assign",
    "draw",
    "draw_independent",
    "stratify",
]


def __getattr__(name: str) -> Any:
    """scikit-learn takes a second to import: only who asks for the estimator waits for it."""
    if name == "SizeConstrainedKernelKMeans":
        from orda.stratification.estimator import SizeConstrainedKernelKMeans

        return SizeConstrainedKernelKMeans
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
