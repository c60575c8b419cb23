"""One row at a time. With all other rows fixed, a minibatch's D̂ depends on its member of row r alone, so one table

    costs[m, j] = cost(D̂ of minibatch m with the row's j-th element)

says what any permutation of the row is worth: Σ_m costs[m, π(m)]. A swap within the row changes the objective by four
of its entries, however many swaps were made before.
"""

from __future__ import annotations

from orda.compiled import compiled
from orda.ordering.objective import State, cost, everywhere, put
from orda.ordering.problem import Problem
from orda.records import FloatArray, IntArray


@compiled
def replacement_values(
    problem: Problem, state: State, arranged: IntArray, r: int, values: FloatArray, costs: FloatArray
) -> None:
    """values[m, j] = D̂ of minibatch m with row r's element j, and the cost of that less the cost as it is."""
    horizon = arranged.shape[1]
    everywhere(problem, state, arranged, r, values)
    for m in range(horizon):
        now = cost(problem, state.values[m])
        for j in range(horizon):
            costs[m, j] = cost(problem, values[m, j]) - now


@compiled
def permute(problem: Problem, state: State, arranged: IntArray, r: int, chosen: IntArray, values: FloatArray) -> None:
    """Put element chosen[m] of row r into minibatch m, for all m."""
    first = r * arranged.shape[1]
    for m in range(arranged.shape[1]):
        if arranged[r, m] != first + chosen[m]:
            put(problem, state, arranged, r, m, first + chosen[m])
            state.values[m] = values[m, chosen[m]]


@compiled
def swap_change(costs: FloatArray, chosen: IntArray, m: int, other: int) -> float:
    """What swapping the elements of two minibatches adds to Σ_m costs[m, chosen[m]]; swapping back adds minus that."""
    a, b = chosen[m], chosen[other]
    change: float = (costs[m, b] - costs[m, a]) + (costs[other, a] - costs[other, b])
    return change
