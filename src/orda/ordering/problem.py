"""What an ordering optimiser is given: the Gram matrix of the pool, and how D̂ is made from it.

Both domains' pools are stacked: row r = 0..R−1 (R = 2k) is a stratum's M-tuple, the source's k rows first. Element
e = r·M + j is the j-th member drawn for row r. An *arrangement* (R, M) says which element of row r is in minibatch m;
an optimiser permutes it within rows.

    QuadraticProblem    D̂_m = ‖Σ_r u_r φ(x_r)‖² − Σ_pairs e ‖φ(x_r) − φ(x_r')‖²,     u = ±weights                (MMD)
    CovarianceProblem   D̂_m = ‖c_s(A_s − b_s b_sᵀ) − c_t(A_t − b_t b_tᵀ)‖²_F,
                        A = Σ w_r z_r z_rᵀ, b = Σ w_r z_r of one side                                            (CORAL)

Where the Gram matrix is too large, ``ExplicitProblem`` and ``MomentProblem`` are these two without it.

A pair is two rows of one stratum. The plug-in D̂ has e = 0. The unbiased one puts p² (1 − own) κ(a, b)
+ p² own (κ(a, a) + κ(b, b))/2 (``discrepancies.draws``) in the place of the pair's part p²/4 ‖φ(a) + φ(b)‖² of it.
That is less by e ‖φ(a) − φ(b)‖², with e = p² (1/4 − own/2) = u² (1 − 2 own).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from orda.compiled import compiled_sums
from orda.discrepancies import CORAL, Discrepancy, Embedding
from orda.discrepancies.base import PLUG_IN
from orda.errors import SettingError, UnknownName
from orda.kernels import Linear
from orda.ordering.picked import Maps, Picked
from orda.records import Features, FloatArray, IntArray, Pool

OBJECTIVES = ("scalar", "embedding")


class QuadraticProblem(NamedTuple):
    gram: npt.NDArray[np.floating]  # (P, P) κ of the pool's elements, P = R·M; float32 or float64
    signed: FloatArray  # (R,) u: +weight for source rows, −weight for target rows
    partner: IntArray  # (R,) the other row of the stratum; the row itself where there is none
    pair: FloatArray  # (R,) e; 0 where there is no pair
    reference: float  # D0
    scalar: bool  # the cost of a minibatch: (D̂ − D0)², or D̂ itself


class ExplicitProblem(NamedTuple):
    """A ``QuadraticProblem`` without its Gram matrix: κ(x, y) = ⟨φ(x), φ(y)⟩, and ``extra`` more at a point itself."""

    phi: npt.NDArray[np.floating]  # (P, D) φ of the pool's elements; float32 or float64
    extra: FloatArray  # (P,) κ(x, x) − ‖φ(x)‖²: 0 for an exact φ
    example: IntArray  # (P,) elements that are one and the same point have one number
    signed: FloatArray  # (R,)
    partner: IntArray  # (R,)
    pair: FloatArray  # (R,)
    reference: float
    scalar: bool


class CovarianceProblem(NamedTuple):
    gram: npt.NDArray[np.floating]  # (P, P) inner products of the centred points
    weight: FloatArray  # (2, k) of the source's rows and of the target's
    signed: FloatArray  # (2, k) +c_s·weight for source rows, −c_t·weight for target rows
    correction: FloatArray  # (2,) (c_s, c_t): n/(n − 1) of source and target
    reference: float
    scalar: bool


class MomentProblem(NamedTuple):
    """A ``CovarianceProblem`` from the points themselves, without their Gram matrix."""

    points: npt.NDArray[np.floating]  # (P, d) of the pool's elements, centred by domain; float32 or float64
    weight: FloatArray  # (2, k)
    signed: FloatArray  # (2, k)
    reference: float
    scalar: bool


Problem = QuadraticProblem | ExplicitProblem | CovarianceProblem | MomentProblem


@dataclass(frozen=True, slots=True)
class OrderingTask:
    """A problem, the scale in which its D̂ is reported, and the lower bound of its pool."""

    problem: Problem
    scale: float  # reported D̂ = scale · the problem's D̂ (CORAL's "mean" and "deep"; 1 elsewhere)
    lower_bound: float | None  # no order of this pool has a lower objective (in the problem's own scale)


def initial_arrangement(rows: int, horizon: int) -> IntArray:
    """Every element where the draw put it; pools are drawn in random order, so this is Algorithm 2's line 1."""
    return np.arange(rows * horizon, dtype=np.int64).reshape(rows, horizon)


def ordering_task(
    discrepancy: Discrepancy,
    features: Features,
    source: Pool,
    target: Pool,
    *,
    objective: str = "scalar",
    embedding: Embedding | None = None,
    reference: float | None = None,
    memory_budget: int | None = None,
    maps: Maps = lambda: None,
) -> OrderingTask:
    """The ordering problem of two pools. ``objective``:

    ``"scalar"``     Σ_m (D̂_m − D0)², the paper's.
    ``"embedding"``  Σ_m ‖v_m − v_0‖², v_m the signed weighted mean embedding of minibatch m and v_0 that of all data.
                     Permutations within strata leave Σ_m v_m alone, so it equals Σ_m ‖v_m‖² = Σ_m D̂_m up to a constant,
                     and that is what is minimised and reported. For CORAL φ is φ_c, about the domain's own mean.

    Where the Gram matrix of the pool would take more than ``memory_budget`` bytes, ``maps`` are asked for kernels with
    an explicit φ, unless the kernel is linear and has one of its own. For a D̂ that centres on the minibatch's own mean
    the covariances of all minibatches are kept instead, where these are the smaller: M d(d + 1)/2 numbers. Nothing is
    approximate then.
    """
    if objective not in OBJECTIVES:
        raise UnknownName("objective", objective, OBJECTIVES)
    embedding = discrepancy.embedding(features) if embedding is None else embedding
    scalar = objective == "scalar"
    scale = discrepancy.factor(features.source.shape[1]) if isinstance(discrepancy, CORAL) else 1.0
    d0 = (discrepancy.reference(features) if reference is None else reference) / scale
    kernel = Linear() if scalar and discrepancy.batch_centred else embedding.kernel
    picked = Picked(kernel, embedding, source, target)
    large = memory_budget is not None and picked.gram_bytes > memory_budget
    if scalar and isinstance(discrepancy, CORAL) and discrepancy.batch_centred:
        correction = np.array(discrepancy.corrections(features))
        return OrderingTask(batch_centred(picked, correction, d0, large), scale, None)
    values = picked.explicit(maps) if large else None
    gram = picked.gram() if values is None else np.empty((0, 0))

    def quadratic(signed: FloatArray, partner: IntArray, pair: FloatArray) -> QuadraticProblem | ExplicitProblem:
        if values is None:
            return QuadraticProblem(gram, signed, partner, pair, d0, scalar)
        return ExplicitProblem(*values, signed, partner, pair, d0, scalar)

    signed = np.concatenate([source.weight, -target.weight])
    if not scalar or discrepancy.estimator == PLUG_IN:  # a norm: "embedding" measures minibatches, not an estimate
        problem = quadratic(signed, np.arange(len(signed)), np.zeros(len(signed)))
        return OrderingTask(problem, scale, pool_bound(problem, source.index.shape[1]))
    if isinstance(discrepancy, CORAL):
        signed = signed * np.repeat(discrepancy.corrections(features), len(source.weight))
    partner = np.concatenate([partners(source), len(source.weight) + partners(target)])
    pair = np.square(signed) * (1 - 2 * np.concatenate([source.own, target.own]))
    return OrderingTask(quadratic(signed, partner, pair), scale, None)


def batch_centred(
    picked: Picked, correction: FloatArray, reference: float, large: bool
) -> CovarianceProblem | MomentProblem:
    """CORAL about the minibatch's own means: from the Gram matrix, unless that is large and what replaces it is not."""
    weight = np.stack([picked.source.weight, picked.target.weight])
    signed = weight * correction[:, None] * [[1.0], [-1.0]]
    if large and picked.moment_bytes < picked.gram_bytes:
        return MomentProblem(picked.points(), weight, signed, reference, True)
    return CovarianceProblem(picked.gram(), weight, signed, correction, reference, True)


def partners(pool: Pool) -> IntArray:
    """The other row (k,) of every row's stratum."""
    rows = np.arange(len(pool.stratum))
    same = (pool.stratum[:, None] == pool.stratum) & (rows[:, None] != rows)
    if not (same.sum(1) == 1).all():
        raise SettingError(
            "the unbiased estimate orders pools with two rows of every stratum",
            f"{int((same.sum(1) != 1).sum())} rows whose stratum has not two",
            "Draw with draws=2",
        )
    return np.asarray(same.argmax(1), dtype=np.int64)


def pool_bound(problem: QuadraticProblem | ExplicitProblem, horizon: int) -> float:
    """No order has a lower objective: by Jensen mean_m D̂_m ≥ ‖v̄‖², v̄ = (1/M) Σ_m v_m, which no order changes.

    scalar:    mean_m (D̂_m − D0)² ≥ max(0, ‖v̄‖² − D0)².        embedding:    mean_m D̂_m ≥ ‖v̄‖².
    """
    u = np.repeat(problem.signed, horizon) / horizon
    if isinstance(problem, ExplicitProblem):
        number = np.unique(problem.example, return_inverse=True)[1]
        share, extra = np.bincount(number, u), np.zeros(number.max() + 1)
        extra[number] = problem.extra  # the same for copies of one example, whose shares add up
        mean_norm = float(np.square(u @ problem.phi).sum() + np.square(share) @ extra)
    else:
        mean_norm = float(quadratic_form(problem.gram, u))
    return max(0.0, mean_norm - problem.reference) ** 2 if problem.scalar else mean_norm


@compiled_sums
def quadratic_form(gram: npt.NDArray[np.floating], u: FloatArray) -> float:
    """uᵀ K u, summed in float64 whatever K is: the bound is a difference of near-equal numbers."""
    total = 0.0
    for i in range(len(u)):
        line, sum_i = gram[i], 0.0
        for j in range(len(u)):
            sum_i += u[j] * line[j]
        total += u[i] * sum_i
    return total
