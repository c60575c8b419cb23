"""The one primitive of ordering: *D̂ of minibatch m if its member from row r were element y instead*.

An optimiser knows these functions only, and neither MMD nor CORAL. Compiled; each is chosen by the type of the problem
(``quadratic.py`` and ``covariance.py`` hold the two sets).

| function | what it gives |
|---|---|
| ``prepare(problem, arranged)`` | the ``State``: D̂ of every minibatch, and what is kept beside it |
| ``here(problem, state, arranged, r, m, out)`` | out[j] = D̂ of minibatch m with element j of row r in it |
| ``there(problem, state, arranged, r, m, start, out)`` | out[m'] = D̂ of minibatch m' ≥ start with row r's member of m |
| ``replaced(problem, state, arranged, r, m, y)`` | D̂ of minibatch m with element y of row r in it |
| ``swap(problem, state, arranged, r, m, m', at_m, at_m')`` | swaps two members of row r; the last two are their new D̂ |
| ``cost(problem, value)`` | (D̂ − D0)², or D̂ for the objective "embedding" |
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from orda.compiled import compiled, overloads
from orda.ordering import covariance, quadratic
from orda.ordering.problem import CovarianceProblem, Problem, QuadraticProblem
from orda.records import FloatArray, IntArray


class State(NamedTuple):
    """What goes with an arrangement. What the last four hold, ``quadratic.py`` and ``covariance.py`` say."""

    values: FloatArray  # (M,) D̂ of every minibatch
    inner: FloatArray  # (M, R, R), or empty
    first: FloatArray  # (M, R)
    second: FloatArray  # (M, R), or empty
    norms: FloatArray  # (M, 3), or empty


# Compiled code only: the overloads below stand in for these.
def prepare(problem: Problem, arranged: IntArray) -> State: ...  # type: ignore[empty-body]
def here(problem: Problem, state: State, arranged: IntArray, r: int, m: int, out: FloatArray) -> None: ...
def there(problem: Problem, state: State, arranged: IntArray, r: int, m: int, start: int, out: FloatArray) -> None: ...
def replaced(problem: Problem, state: State, arranged: IntArray, r: int, m: int, y: int) -> float: ...  # type: ignore[empty-body]
def put(problem: Problem, state: State, arranged: IntArray, r: int, m: int, y: int) -> None: ...


def _choose(problem: Any, name: str) -> Any:
    """The compiled function of that name for a problem's type."""
    if isinstance(problem, types.NamedTuple) and problem.instance_class is CovarianceProblem:
        return getattr(covariance, name)
    if isinstance(problem, types.NamedTuple) and problem.instance_class is QuadraticProblem:
        return getattr(quadratic, name)
    return None


@overloads(prepare)
def _prepare(problem: Any, arranged: Any) -> Any:
    fill = _choose(problem, "prepare")
    centred = problem.instance_class is CovarianceProblem

    def build(problem: Any, arranged: Any) -> State:
        rows, horizon = arranged.shape
        kept = rows if centred else 0
        inner, second, norms = np.zeros((horizon, kept, kept)), np.zeros((horizon, kept)), np.zeros((horizon, 3))
        state = State(np.zeros(horizon), inner, np.zeros((horizon, rows)), second, norms)
        fill(problem, state, arranged)
        return state

    return build


@overloads(here)
def _here(problem: Any, state: Any, arranged: Any, r: Any, m: Any, out: Any) -> Any:
    return _choose(problem, "here").py_func


@overloads(there)
def _there(problem: Any, state: Any, arranged: Any, r: Any, m: Any, start: Any, out: Any) -> Any:
    return _choose(problem, "there").py_func


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
def replacements(problem: Problem, state: State, arranged: IntArray, r: int, out: FloatArray) -> None:
    """out[m, j] = D̂ of minibatch m if row r's member were element j of the row, for all m and j."""
    for m in range(arranged.shape[1]):
        here(problem, state, arranged, r, m, out[m])
