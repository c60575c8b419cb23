"""The one primitive of ordering: *D̂ of minibatch m if its member from row r were element y instead*.

An optimiser knows these functions only, and neither MMD nor CORAL. Compiled; each is chosen by the type of the problem
(``quadratic.py`` and ``covariance.py`` hold their sets; without a Gram matrix ``explicit.py`` and ``moments.py``).

| function | what it gives |
|---|---|
| ``prepare(problem, arranged)`` | the state: D̂ of every minibatch (``values``), and what is kept beside it |
| ``measure(problem, arranged, out)`` | out[m] = D̂ of minibatch m, from its definition and without a state |
| ``here(problem, state, arranged, r, m, out)`` | out[j] = D̂ of minibatch m with the j-th element of row r in it |
| ``there(problem, state, arranged, r, y, start, out)`` | out[m] = D̂ of minibatch m ≥ start with element y of row r |
| ``everywhere(problem, state, arranged, r, out)`` | out[m, j] = D̂ of minibatch m with the j-th element of row r in it |
| ``replaced(problem, state, arranged, r, m, y)`` | D̂ of minibatch m with element y of row r in it |
| ``put(problem, state, arranged, r, m, y)`` | puts element y of row r into minibatch m; its D̂ is the caller's |
| ``swap(problem, state, arranged, r, m, m', at_m, at_m')`` | swaps two members of row r; the last two are their new D̂ |
| ``cost(problem, value)`` | (D̂ − D0)², or D̂ for the objective "embedding" |
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from orda.compiled import compiled, overloads
from orda.ordering import covariance, explicit, moments, quadratic
from orda.ordering.problem import CovarianceProblem, ExplicitProblem, MomentProblem, Problem, QuadraticProblem
from orda.records import FloatArray, IntArray


class QuadraticState(NamedTuple):
    values: FloatArray  # (M,) D̂ of every minibatch
    field: FloatArray  # (M, P) F_m(e) = Σ_g u_g κ(x_g, e)
    diagonal: FloatArray  # (P,) κ(e, e)


class ExplicitState(NamedTuple):
    values: FloatArray  # (M,) D̂ of every minibatch
    total: FloatArray  # (M, D) V_m = Σ_g u_g φ(x_g)
    diagonal: FloatArray  # (P,) κ(e, e)


class CovarianceState(NamedTuple):
    values: FloatArray  # (M,)
    members: IntArray  # (M, 2, k) the arrangement again: minibatch by minibatch, side by side
    inner: npt.NDArray[np.floating]  # (R, M, 2, k) z_r·z_g of a minibatch's members, of the Gram matrix's dtype
    means: FloatArray  # (M, 2, 2, k) b_s·z_g, b_t·z_g
    norms: FloatArray  # (M, 3) ‖b_s‖², ‖b_t‖², b_s·b_t
    diagonal: FloatArray  # (P,) ‖e‖²
    scratch: FloatArray  # (M,) where a function may leave intermediate values


class MomentState(NamedTuple):
    values: FloatArray  # (M,)
    moments: FloatArray  # (M, d(d + 1)/2) Ĉ_s − Ĉ_t of every minibatch: the rows of the upper triangle
    means: FloatArray  # (M, 2, d) of source and target
    scratch: npt.NDArray[np.floating]  # (d' + M', d') d and M in whole blocks; a triangle and a row's elements


State = QuadraticState | ExplicitState | CovarianceState | MomentState
SETS = {
    QuadraticProblem: quadratic,
    ExplicitProblem: explicit,
    CovarianceProblem: covariance,
    MomentProblem: moments,
}


# Compiled code only: the overloads below stand in for these.
def prepare(problem: Problem, arranged: IntArray) -> State: ...  # type: ignore[empty-body]
def measure(problem: Problem, arranged: IntArray, out: FloatArray) -> None: ...
def here(problem: Problem, state: State, arranged: IntArray, r: int, m: int, out: FloatArray) -> None: ...
def there(problem: Problem, state: State, arranged: IntArray, r: int, y: int, start: int, out: FloatArray) -> None: ...
def everywhere(problem: Problem, state: State, arranged: IntArray, r: int, out: FloatArray) -> None: ...
def replaced(problem: Problem, state: State, arranged: IntArray, r: int, m: int, y: int) -> float: ...  # type: ignore[empty-body]
def put(problem: Problem, state: State, arranged: IntArray, r: int, m: int, y: int) -> None: ...


def _choose(problem: Any, name: str) -> Any:
    """The compiled function of that name for a problem's type."""
    if isinstance(problem, types.NamedTuple) and problem.instance_class in SETS:
        return getattr(SETS[problem.instance_class], name)
    return None


@overloads(prepare)
def _prepare(problem: Any, arranged: Any) -> Any:
    fill = _choose(problem, "prepare")

    def quadratic_state(problem: Any, arranged: Any) -> State:
        horizon, elements = arranged.shape[1], len(problem.gram)
        state = QuadraticState(np.empty(horizon), np.empty((horizon, elements)), np.empty(elements))
        fill(problem, state, arranged)
        return state

    def explicit_state(problem: Any, arranged: Any) -> State:
        horizon, (elements, size) = arranged.shape[1], problem.phi.shape
        state = ExplicitState(np.empty(horizon), np.empty((horizon, size)), np.empty(elements))
        fill(problem, state, arranged)
        return state

    def covariance_state(problem: Any, arranged: Any) -> State:
        rows, horizon = arranged.shape
        k = rows // 2
        members, inner = np.empty((horizon, 2, k), np.int64), np.empty((rows, horizon, 2, k), problem.gram.dtype)
        means, norms, diagonal = np.empty((horizon, 2, 2, k)), np.empty((horizon, 3)), np.empty(len(problem.gram))
        state = CovarianceState(np.empty(horizon), members, inner, means, norms, diagonal, np.empty(horizon))
        fill(problem, state, arranged)
        return state

    def moment_state(problem: Any, arranged: Any) -> State:
        horizon, d = arranged.shape[1], problem.points.shape[1]
        size, places = d + -d % moments.BLOCK, horizon + -horizon % moments.BLOCK
        triangles, means = np.empty((horizon, d * (d + 1) // 2)), np.empty((horizon, 2, d))
        scratch = np.zeros((size + places, size), problem.points.dtype)
        state = MomentState(np.empty(horizon), triangles, means, scratch)
        fill(problem, state, arranged)
        return state

    return {
        QuadraticProblem: quadratic_state,
        ExplicitProblem: explicit_state,
        CovarianceProblem: covariance_state,
        MomentProblem: moment_state,
    }[problem.instance_class]


@overloads(measure)
def _measure(problem: Any, arranged: Any, out: Any) -> Any:
    return _choose(problem, "measure").py_func


@overloads(here)
def _here(problem: Any, state: Any, arranged: Any, r: Any, m: Any, out: Any) -> Any:
    return _choose(problem, "here").py_func


@overloads(there)
def _there(problem: Any, state: Any, arranged: Any, r: Any, y: Any, start: Any, out: Any) -> Any:
    return _choose(problem, "there").py_func


@overloads(everywhere)
def _everywhere(problem: Any, state: Any, arranged: Any, r: Any, out: Any) -> Any:
    return _choose(problem, "everywhere").py_func


@overloads(replaced)
def _replaced(problem: Any, state: Any, arranged: Any, r: Any, m: Any, y: Any) -> Any:
    return _choose(problem, "replaced").py_func


@overloads(put)
def _put(problem: Any, state: Any, arranged: Any, r: Any, m: Any, y: Any) -> Any:
    return _choose(problem, "put").py_func


@compiled
def swap(
    problem: Problem, state: State, arranged: IntArray, r: int, m: int, other: int, at_m: float, at_other: float
) -> None:
    """Swap row r's members of two minibatches, whose D̂ become ``at_m`` and ``at_other``."""
    a, b = arranged[r, m], arranged[r, other]
    put(problem, state, arranged, r, m, b)
    put(problem, state, arranged, r, other, a)
    state.values[m], state.values[other] = at_m, at_other


@compiled
def cost(problem: Problem, value: float) -> float:
    """What a minibatch with this D̂ costs."""
    return (value - problem.reference) ** 2 if problem.scalar else value


@compiled
def objective(problem: Problem, values: FloatArray) -> float:
    """The mean cost of the minibatches."""
    total = 0.0
    for m in range(len(values)):
        total += cost(problem, values[m])
    return total / len(values)


@compiled
def prepared(problem: Problem, arranged: IntArray) -> State:
    """``prepare``, for callers that are not compiled."""
    return prepare(problem, arranged)


@compiled
def measured(problem: Problem, arranged: IntArray) -> FloatArray:
    """D̂ of every minibatch from its definition."""
    values = np.empty(arranged.shape[1])
    measure(problem, arranged, values)
    return values
