"""How far κ̃ is from κ, on a sample of the points; and the means of κ over all pairs, from those of κ̃.

The residual ρ(z, z') = κ(z, z') − ⟨ψ(z), ψ(z')⟩ of a few thousand points says how good a map is, and mends its means:

    mean_ij κ(s_i, s_j) = ‖mean ψ(s)‖² + (1 − 1/n) mean_{i≠j} ρ(s_i, s_j) + (1/n) mean_i ρ(s_i, s_i)

where the mean of ρ is taken over the sample: unbiased, with an error that falls with the sample and with ρ. A sample of
all points makes it exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orda.approximations.base import Approximate
from orda.records import FloatArray, IntArray, Strata
from orda.threads import in_pieces

SAMPLE = 2000  # points of either domain


@dataclass(frozen=True, slots=True)
class Quality:
    """What a sample says of a map."""

    method: str
    rank: int
    kernel_error: float  # ‖κ̃ − κ‖_F / ‖κ‖_F over pairs of different points
    centred_error: float  # the same of both matrices centred: the part of κ that tells points apart
    within: tuple[float, float]  # mean κ over all pairs of either domain, by the sample's residuals
    between: float
    d0: float
    d0_error: float  # the standard error of d0, by the sample
    d0_of_map: float  # what the map alone would give
    objective_error: tuple[float | None, float | None]  # of Σ_h n_h SSE_h under κ̃, relative; by pairs within strata

    def diagnostics(self) -> dict[str, Any]:
        """What a plan says of it."""
        names = ("method", "rank", "kernel_error", "centred_error", "d0_error", "d0_of_map")
        source, target = self.objective_error
        return {name: getattr(self, name) for name in names} | {"objective_error": {"source": source, "target": target}}


@dataclass(frozen=True, slots=True)
class Side:
    """One domain: its points, the kernel that takes them, the mean of ψ over all of them, and their strata."""

    points: Tensor
    kernel: Approximate
    mean: Tensor  # (rank,) float64
    strata: Strata


def quality(source: Side, target: Side, rng: np.random.Generator, sample: int | None = None) -> Quality:
    """Of ``sample`` (``SAMPLE``) points of either domain, drawn without replacement; all, where there are no more."""
    sides, sample = (source, target), sample or SAMPLE
    picks = [np.sort(rng.choice(len(s.points), min(sample, len(s.points)), replace=False)) for s in sides]
    ((exact, mapped),) = in_pieces(lambda _: grams(sides, picks), [None], source.points.device)
    first = len(picks[0])
    parts = [(exact[:first, :first], mapped[:first, :first]), (exact[first:, first:], mapped[first:, first:])]
    within, noise = [], []
    rho = exact - mapped
    across = rho[:first, first:]
    for side, (k, psi), cross in zip(sides, parts, (across.mean(1), across.mean(0)), strict=True):
        value, rows = mean_within(side, k - psi)
        within.append(value)
        noise.append(2 * (rows - cross))
    between = float(source.mean @ target.mean) + float(across.mean())
    difference = source.mean - target.mean
    return Quality(
        method=source.kernel.map.name,
        rank=source.kernel.map.rank,
        kernel_error=relative(mapped, exact),
        centred_error=relative(doubly_centred(mapped), doubly_centred(exact)),
        within=(within[0], within[1]),
        between=between,
        d0=within[0] + within[1] - 2 * between,
        d0_error=float(sum(n.var() / len(n) for n in noise if len(n) > 1) ** 0.5),
        d0_of_map=float(difference @ difference),
        objective_error=(
            objective_error(*parts[0], source.strata.labels[picks[0]]),
            objective_error(*parts[1], target.strata.labels[picks[1]]),
        ),
    )


def grams(sides: tuple[Side, Side], picks: list[IntArray]) -> tuple[FloatArray, FloatArray]:
    """κ and ⟨ψ, ψ⟩ of the sample, source first."""
    rows = [s.points[torch.from_numpy(p).to(s.points.device)] for s, p in zip(sides, picks, strict=True)]
    points = torch.cat([s.kernel.centred(x) for s, x in zip(sides, rows, strict=True)])
    psi = torch.cat([s.kernel.explicit(x) for s, x in zip(sides, rows, strict=True)]).double()
    exact = sides[0].kernel.kernel.gram(points, points).double()
    return exact.cpu().numpy(), (psi @ psi.mT).cpu().numpy()


def mean_within(side: Side, rho: FloatArray) -> tuple[float, FloatArray]:
    """mean_ij κ over all points of a domain, and the mean residual of each of the sample with the others."""
    n, m = len(side.points), len(rho)
    rows = (rho.sum(1) - np.diag(rho)) / max(1, m - 1)
    value = float(side.mean @ side.mean) + (1 - 1 / n) * rows.mean() + np.diag(rho).mean() / n
    return float(value), rows


def relative(mapped: FloatArray, exact: FloatArray) -> float:
    """‖mapped − exact‖_F / ‖exact‖_F off the diagonal."""
    size = off_diagonal(exact)
    return off_diagonal(mapped - exact) / size if size > 0 else 0.0


def off_diagonal(gram: FloatArray) -> float:
    """The Frobenius norm without the diagonal."""
    flat = gram.ravel()
    return float(max(0.0, flat @ flat - np.square(np.diag(gram)).sum()) ** 0.5)


def doubly_centred(gram: FloatArray) -> FloatArray:
    """H K H: inner products of the embeddings about their mean, as the entries off the diagonal know it."""
    n = len(gram)
    off = gram - np.diag(np.diag(gram))
    rows = off.sum(1) / max(1, n - 1)
    centred: FloatArray = gram - rows[:, None] - rows + rows.mean()
    return centred


def objective_error(exact: FloatArray, mapped: FloatArray, labels: IntArray) -> float | None:
    """Σ over the sample's pairs within strata of ‖φ̃_i − φ̃_j‖², over the same of φ, less 1; None where there are none.

    Σ_h n_h SSE_h is that sum over all pairs.
    """
    same = np.triu(labels[:, None] == labels, 1)
    diagonal = np.diag(exact)
    pairs = diagonal[:, None] + diagonal
    below = float((pairs - 2 * exact)[same].sum())
    return float((pairs - 2 * mapped)[same].sum()) / below - 1 if below > 0 else None
