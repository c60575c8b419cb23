"""How a sampler sees the features: by the exact kernel where a Gram matrix fits its memory, by a feature map beyond."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from orda.approximations import Approximate, FeatureMap, Quality, Scale, feature_map, quality
from orda.approximations.quality import Side
from orda.discrepancies import CORAL, MMD, Discrepancy, Embedding
from orda.kernels import Kernel
from orda.records import Features
from orda.stratification import Stratification
from orda.stratification.stripes import gram_bytes

CHOICE = 8  # times as many points as the rank: those of either domain that landmarks are chosen from


@dataclass(frozen=True, slots=True)
class View:
    """``embedding`` is the exact φ; ``map`` what stands for it where no Gram matrix of all data is made."""

    embedding: Embedding
    map: FeatureMap | None

    @property
    def kernels(self) -> tuple[Kernel, Kernel]:
        """The kernel of the source's points and that of the target's."""
        return (self.embedding.kernel,) * 2 if self.map is None else self.mapped(self.map)

    def mapped(self, chosen: FeatureMap) -> tuple[Approximate, Approximate]:
        """The kernels that a map gives."""
        centres = self.embedding.centres or (None, None)
        source, target = (Approximate(self.embedding.kernel, chosen, centre) for centre in centres)
        return source, target


def view(discrepancy: Discrepancy, features: Features, scale: Scale, rng: np.random.Generator) -> View:
    """The exact embedding, unless ``scale`` says that its Gram matrix is too large; the points are copied only then.

    Where φ is known (the linear kernel) there is nothing to approximate, and nothing to copy.
    """
    bare = discrepancy.bare_embedding(features)
    if bare.kernel.explicit(bare.source[:1]) is not None:
        return View(bare, None)
    method = scale.method(max(gram_bytes(bare.source), gram_bytes(bare.target)))
    return View(bare.centred(), None) if method is None else View(bare, new_map(method, bare, scale.rank, rng))


def new_map(method: str, embedding: Embedding, rank: int, rng: np.random.Generator) -> FeatureMap:
    """A map by landmarks (or whatever it needs) among points of both domains."""
    rows = []
    for z, centre in zip((embedding.source, embedding.target), embedding.centres or (None, None), strict=True):
        chosen = np.sort(rng.choice(len(z), min(CHOICE * rank, len(z)), replace=False))
        some = z[torch.from_numpy(chosen).to(z.device)]
        rows.append(some if centre is None else some - centre)
    return feature_map(method, embedding.kernel, torch.cat(rows), rank, rng)


def pool_kernels(seen: View, scale: Scale, rng: np.random.Generator) -> tuple[Approximate, Approximate] | None:
    """Kernels with an explicit map, for a pool whose Gram matrix is too large; ``None`` where that must be exact."""
    method = "nystroem" if scale.approximation == "auto" else scale.approximation
    if method == "none":
        return None
    return seen.mapped(seen.map or new_map(method, seen.embedding, scale.rank, rng))


def check_map(seen: View, source: Stratification, target: Stratification, rng: np.random.Generator) -> Quality | None:
    """What a sample says of the map; ``None`` where everything is exact."""
    if seen.map is None:
        return None
    points = (seen.embedding.source, seen.embedding.target)
    sides = []
    for z, kernel, found in zip(points, seen.mapped(seen.map), (source, target), strict=True):
        assert found.mean is not None  # an approximate kernel is explicit
        sides.append(Side(z, kernel, found.mean, found.strata))
    return quality(sides[0], sides[1], rng)


def describe_map(found: Quality | None, discrepancy: Discrepancy) -> dict[str, Any] | None:
    """What the plan says of it. CORAL's D0 comes from the covariances, exactly."""
    if found is None:
        return None
    said = found.diagnostics()
    if isinstance(discrepancy, CORAL):
        del said["d0_error"], said["d0_of_map"]
    return said


def reference(
    discrepancy: Discrepancy,
    features: Features,
    within: tuple[float, float] | None,
    found: Quality | None,
) -> float:
    """D0: exactly, from the domains' own mean kernel values where they are known; or by the map and its residuals."""
    if found is not None and isinstance(discrepancy, MMD):
        return discrepancy.reference(features, found.within, found.between)
    return discrepancy.reference(features, within=within)
