"""The strata: size-constrained, dynamically weighted kernel k-means.

    minimise  Σ_h n_h SSE_h,   SSE_h = Σ_{i ∈ S_h} ‖φ(z_i) − μ_h‖²,   μ_h = (1/n_h) Σ_{i ∈ S_h} φ(z_i)
    subject to  n_h ≥ n_min

Divided by n² this is the variance of the stratified mean embedding with one draw a stratum. The paper's way: distances
to the centroids by the kernel trick, then Algorithm 1 (``assignment.py``), in turn. By the one primitive S
(``sums.py``), with V_h = Σ_{i ∈ S_h} S_hi and T_h = Σ_{i ∈ S_h} κ_ii,

    ‖φ_i − μ_h‖² = κ_ii − 2 S_hi / n_h + V_h / n_h²          n_h SSE_h = n_h T_h − V_h.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from torch import Tensor

from orda.approximations import Approximate
from orda.errors import InputError, SettingError, StratumWarning
from orda.kernels import Kernel
from orda.records import FloatArray, IntArray, Strata
from orda.stratification.assignment import assign
from orda.stratification.checks import (
    check_generator,
    check_integer,
    check_k,
    check_labels,
    check_points,
    raise_faults,
)
from orda.stratification.explicit import ExplicitSums, exact_diagonal, explicit_features
from orda.stratification.moves import move_points, sizes_and_traces
from orda.stratification.passes import move_in_pieces
from orda.stratification.stripes import GramSums, Workspace, gram_bytes
from orda.stratification.sums import Method, StratumSums

MEMORY_BUDGET = 2 * 2**30  # bytes for kernel values
COARSE = 2**16  # points with explicit features that are stratified at once; of more, so many give the start
TOLERANCE = 0.005


@dataclass(frozen=True, slots=True)
class Stratification:
    """Strata, and how they came about."""

    strata: Strata
    objective: float  # Σ_h n_h SSE_h of the strata
    objectives: tuple[float, ...]  # of the start, after every sweep, and after the moves if there were to be any
    sweeps: int  # distance updates followed by an assignment
    moves: int  # single points moved after the sweeps
    min_size: int  # n_min as it was used: at most ⌊n/k⌋
    mean_kernel: float  # (1/n²) Σ_ij κ(z_i, z_j): what this domain contributes to D0 of the MMD
    method: Method  # how kernel values were come by (sums.py)
    mean: Tensor | None = field(compare=False)  # (D,) the mean of φ where it is explicit
    seconds: dict[str, float] = field(compare=False)  # spent on "gram", "start", "sweeps", "moves"


def stratify(
    points: Tensor,
    kernel: Kernel,
    k: int,
    *,
    min_size: int = 1,
    rng: np.random.Generator,
    start: npt.NDArray[np.integer] | None = None,
    max_sweeps: int = 30,
    patience: int | None = None,
    tolerance: float = TOLERANCE,
    moves: bool = True,
    memory_budget: int = MEMORY_BUDGET,
    workspace: Workspace | None = None,
) -> Stratification:
    """k strata of ``points`` (n, d) in the feature space of ``kernel``, each of at least ``min_size`` points.

    Starts from labels of the same points (``start``; strata that are short in it are filled first), or else by kernel
    k-means++. A sweep updates all distances and assigns all points, visited in a fresh random order. Sweeps end when
    labels stay, after ``max_sweeps``, or when ``patience`` sweeps in a row (2, or 1 after a ``start``) have not brought
    the objective down by ``tolerance`` of itself. They are not monotone: the best labels seen go on. Exact ``moves`` of
    single points then finish the work (``moves.py``); these never raise the objective. So the result is never worse
    than a ``start`` in which no stratum is short.

    Where n < k·``min_size`` the minimum is lowered to ⌊n/k⌋, with a ``StratumWarning``.

    Half the Gram matrix is kept if it fits ``memory_budget`` (bytes), in ``workspace`` if one is given; otherwise it is
    computed again for each sweep. With a linear or an approximate kernel there is none, and of more than ``COARSE``
    points so many give the start, and moves are made some points at a time. The same ``rng`` state gives the same
    labels, on the CPU for any number of threads.
    """
    _check(points, kernel, k, min_size, rng, start, max_sweeps, patience)
    min_size = feasible_min_size(len(points), k, min_size)
    points = points.detach()
    seconds: dict[str, float] = {}
    with _timed(seconds, "gram"):
        sums = stratum_sums(points, kernel.resolved(points), k, memory_budget, workspace)
    with _timed(seconds, "start"):
        large = sums if isinstance(sums, ExplicitSums) and sums.n > COARSE else None
        first = _coarse(large, min_size, rng) if large and start is None else _start(sums, start, min_size, rng)
    with _timed(seconds, "sweeps"):
        if patience is None:
            patience = 2 if start is None else 1
        labels, objectives = _sweep(sums, first, min_size, rng, max_sweeps, patience, tolerance)
    sweeps, moved = len(objectives) - 1, 0
    with _timed(seconds, "moves"):
        if moves:
            labels, moved = move_in_pieces(large, labels, min_size) if large else move_points(sums, labels, min_size)
            objectives.append(Centroids.of(sums, labels).objective)
    return Stratification(
        strata=Strata(labels, np.bincount(labels, minlength=k)),
        objective=min(objectives),
        objectives=tuple(objectives),
        sweeps=sweeps,
        moves=moved,
        min_size=min_size,
        mean_kernel=sums.mean_kernel(),
        method=sums.method,
        mean=sums.mean if isinstance(sums, ExplicitSums) else None,
        seconds=seconds,
    )


def stratum_sums(
    points: Tensor, kernel: Kernel, k: int, memory_budget: int, workspace: Workspace | None = None
) -> StratumSums:
    """The first of the three ways to S that is open within ``memory_budget`` bytes."""
    phi = explicit_features(kernel, points)
    if phi is not None:
        return ExplicitSums(phi, k, exact_diagonal(kernel, points) if isinstance(kernel, Approximate) else None)
    fits = gram_bytes(points) <= memory_budget
    return GramSums(points, kernel, k, (workspace or Workspace()) if fits else None)


@dataclass(frozen=True, slots=True)
class Centroids:
    """The strata of some labels."""

    sums: StratumSums
    labels: IntArray  # (n,)
    sizes: IntArray  # (k,) n_h
    within: FloatArray  # (k,) V_h
    objective: float  # Σ_h n_h SSE_h

    @classmethod
    def of(cls, sums: StratumSums, labels: IntArray) -> Centroids:
        sizes, traces = sizes_and_traces(sums, labels)
        within = sums.within(labels)
        return cls(sums, labels, sizes, within, float(np.maximum(sizes * traces - within, 0).sum()))

    def distances(self) -> npt.NDArray[np.floating]:
        """P (n, k): ‖φ_i − μ_h‖², never negative; infinite where a stratum is empty and has no centroid."""
        p = self.sums.distances(self.labels, self.sizes, self.within)
        p[:, self.sizes == 0] = np.inf
        return p


def _start(
    sums: StratumSums, start: npt.NDArray[np.integer] | None, min_size: int, rng: np.random.Generator
) -> IntArray:
    if start is None:
        return assign(plus_plus(sums, rng), min_size, rng.permutation(sums.n))
    labels = np.array(start, dtype=np.int64)
    centroids = Centroids.of(sums, labels)
    short = centroids.sizes.min() < min_size
    return assign(centroids.distances(), min_size, rng.permutation(sums.n)) if short else labels


def _coarse(sums: ExplicitSums, min_size: int, rng: np.random.Generator) -> IntArray:
    """Labels by the centroids of ``COARSE`` of the points, which are stratified by themselves (without moves)."""
    chosen = np.sort(rng.choice(sums.n, COARSE, replace=False))
    some, least = sums.some(chosen), max(1, min_size * COARSE // sums.n)
    labels, _ = _sweep(some, _start(some, None, least, rng), least, rng, 30, 2, TOLERANCE)
    return assign(sums.as_strata_of(some, labels, chosen), min_size, rng.permutation(sums.n))


def plus_plus(sums: StratumSums, rng: np.random.Generator) -> FloatArray:
    """P (n, k): squared distances to k of the points, drawn one after another with probability ∝ D².

    D² is the squared distance to the nearest point drawn so far; the first is drawn uniformly. Where all points lie on
    drawn ones, one of those not drawn yet is taken, uniformly.
    """
    distances = np.empty((sums.n, sums.k))
    nearest, drawn = np.ones(sums.n), np.zeros(sums.n, dtype=bool)
    for h in range(sums.k):
        away = np.flatnonzero(nearest > 0)
        if len(away):
            mass = np.cumsum(nearest[away])
            place = np.searchsorted(mass, rng.random() * mass[-1], "right")
            centre = int(away[min(place, len(away) - 1)])
        else:
            centre = int(rng.choice(np.flatnonzero(~drawn)))
        drawn[centre] = True
        squared = sums.diagonal + sums.diagonal[centre] - 2 * sums.column(centre)
        squared[centre] = 0
        distances[:, h] = np.maximum(squared, 0)
        nearest = np.minimum(nearest, distances[:, h]) if h else distances[:, h].copy()
    return distances


def _sweep(
    sums: StratumSums,
    labels: IntArray,
    min_size: int,
    rng: np.random.Generator,
    max_sweeps: int,
    patience: int,
    tolerance: float,
) -> tuple[IntArray, list[float]]:
    """The best labels seen, and the objective of the start and after every sweep."""
    centroids = Centroids.of(sums, labels)
    best, objectives = labels, [centroids.objective]
    mark, stale = centroids.objective, 0
    while len(objectives) <= max_sweeps and stale < patience:
        new = assign(centroids.distances(), min_size, rng.permutation(sums.n))
        centroids = Centroids.of(sums, new)
        if centroids.objective < min(objectives):
            best = new
        objectives.append(centroids.objective)
        if np.array_equal(new, labels):
            break
        labels = new
        if centroids.objective < (1 - tolerance) * mark:
            mark, stale = centroids.objective, 0
        else:
            stale += 1
    return best, objectives


def feasible_min_size(n: int, k: int, min_size: int) -> int:
    """``min_size``, or ⌊n/k⌋ and a warning where n points cannot fill k strata of that size."""
    if k * min_size <= n:
        return min_size
    warnings.warn(
        f"k strata of min_size points each need n ≥ k·min_size; got k={k}, min_size={min_size}, n={n}. "
        f"min_size is lowered to {n // k}; pass that, or fewer strata, to say so yourself.",
        StratumWarning,
        stacklevel=3,
    )
    return n // k


def _check(
    points: object,
    kernel: object,
    k: object,
    min_size: object,
    rng: object,
    start: object,
    max_sweeps: object,
    patience: object,
) -> None:
    faults: list[InputError] = check_points(points)
    n = len(points) if isinstance(points, Tensor) and not faults else None
    if not isinstance(kernel, Kernel):
        faults.append(
            SettingError("kernel must be an orda.kernels.Kernel", type(kernel).__name__, "Pass e.g. RBFMixture()")
        )
    faults += check_k(k, n)
    faults += check_integer("min_size", min_size, 1)
    faults += check_integer("max_sweeps", max_sweeps, 0)
    if patience is not None:
        faults += check_integer("patience", patience, 1)
    faults += check_generator(rng)
    if start is not None:
        faults += check_labels(start, n, k)
    raise_faults(faults)


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - began
