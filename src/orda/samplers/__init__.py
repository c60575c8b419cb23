"""Samplers: which examples meet in the next M minibatches."""

from __future__ import annotations

from typing import Any

from orda.discrepancies import Discrepancy
from orda.errors import UnknownName
from orda.samplers.anticlustering import Anticlustering
from orda.samplers.base import Sampler
from orda.samplers.dpp import DPP
from orda.samplers.kmeanspp import KMeansPlusPlus
from orda.samplers.ordered import Ordered
from orda.samplers.stratified import Stratified
from orda.samplers.uniform import Uniform

SAMPLERS: dict[str, type[Sampler]] = {
    kind.name: kind for kind in (Uniform, KMeansPlusPlus, DPP, Anticlustering, Stratified, Ordered)
}
ALIGNED = (Stratified, Ordered)  # the samplers that are made for one discrepancy


def make_sampler(name: str, discrepancy: Discrepancy | None = None, **settings: Any) -> Sampler:
    """A sampler by name; those that are made for a discrepancy get the one that is trained with."""
    if name not in SAMPLERS:
        raise UnknownName("sampler", name, SAMPLERS)
    kind = SAMPLERS[name]
    return kind(discrepancy, **settings) if kind in ALIGNED else kind(**settings)


__all__ = [
    "DPP",
    "SAMPLERS",
    "Anticlustering",
    "KMeansPlusPlus",
    "Ordered",
    "Sampler",
    "Stratified",
    "Uniform",
    "make_sampler",
]
