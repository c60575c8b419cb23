"""The primitive for D̂ = Σ_{g≠h} u_g u_h κ(x_g, x_h) + Σ_h v_h κ(x_h, x_h): MMD, from kernel values.

With t_r(y) = Σ_{g≠r} u_g κ(x_g, y) over the other rows of the minibatch, and y in the place of row r's member a,

    D̂(y) = D̂ + 2u_r (t_r(y) − t_r(a)) + v_r (κ(y, y) − κ(a, a))

The state keeps t_r of the members themselves: ``state.first[m, r]`` = t_r(x_r).
"""

from __future__ import annotations

from typing import Any

from orda.compiled import compiled


@compiled
def prepare(problem: Any, state: Any, arranged: Any) -> None:
    """D̂ and t_r(x_r) of every minibatch, from their definitions."""
    rows, horizon = arranged.shape
    for m in range(horizon):
        total = 0.0
        for r in range(rows):
            x = arranged[r, m]
            t = around(problem, arranged, r, m, x)
            state.first[m, r] = t
            total += problem.signed[r] * t + problem.own[r] * problem.gram[x, x]
        state.values[m] = total


@compiled
def around(problem: Any, arranged: Any, r: int, m: int, y: int) -> float:
    """t_r(y) in minibatch m."""
    line, total = problem.gram[y], 0.0
    for g in range(arranged.shape[0]):
        if g != r:
            total += problem.signed[g] * line[arranged[g, m]]
    return total


@compiled
def here(problem: Any, state: Any, arranged: Any, r: int, m: int, out: Any) -> None:
    """Minibatch m with each element of row r in turn: t_r of a whole row, one run of a Gram line at a time."""
    rows, horizon = arranged.shape
    gram, first = problem.gram, r * horizon
    u_r, own, a = problem.signed[r], problem.own[r], arranged[r, m]
    out[:] = 0.0
    u = problem.signed.copy()
    u[r] = 0.0
    for g in range(0, rows - 3, 4):  # four lines at a time: they are far apart in memory, and one wait serves all
        one, two = gram[arranged[g, m], first : first + horizon], gram[arranged[g + 1, m], first : first + horizon]
        three, four = (
            gram[arranged[g + 2, m], first : first + horizon],
            gram[arranged[g + 3, m], first : first + horizon],
        )
        for j in range(horizon):
            out[j] += u[g] * one[j] + u[g + 1] * two[j] + u[g + 2] * three[j] + u[g + 3] * four[j]
    for g in range(rows - rows % 4, rows):
        one = gram[arranged[g, m], first : first + horizon]
        for j in range(horizon):
            out[j] += u[g] * one[j]
    base = state.values[m] - 2 * u_r * state.first[m, r] - own * gram[a, a]
    for j in range(horizon):
        out[j] = base + 2 * u_r * out[j] + own * gram[first + j, first + j]


@compiled
def there(problem: Any, state: Any, arranged: Any, r: int, m: int, start: int, out: Any) -> None:
    """Each minibatch m' ≥ start with the member that row r has in m: t_r gathered along that member's one Gram line."""
    rows, horizon = arranged.shape
    gram, a = problem.gram, arranged[r, m]
    u_r, own, line = problem.signed[r], problem.own[r], problem.gram[a]
    out[start:] = 0.0
    for g in range(rows):
        if g != r:
            members, u = arranged[g], problem.signed[g]
            for other in range(start, horizon):
                out[other] += u * line[members[other]]
    for other in range(start, horizon):
        b = arranged[r, other]
        change = 2 * u_r * (out[other] - state.first[other, r]) + own * (line[a] - gram[b, b])
        out[other] = state.values[other] + change


@compiled
def replaced(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> float:
    """D̂ of minibatch m with element y in row r, alone."""
    a, gram = arranged[r, m], problem.gram
    change = around(problem, arranged, r, m, y) - state.first[m, r]
    value: float = state.values[m] + 2 * problem.signed[r] * change + problem.own[r] * (gram[y, y] - gram[a, a])
    return value


@compiled
def put(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> None:
    """Put element y into row r of minibatch m, and t_g of its other members right; D̂ is the caller's."""
    old, new = problem.gram[arranged[r, m]], problem.gram[y]
    for g in range(arranged.shape[0]):
        if g != r:
            x = arranged[g, m]
            state.first[m, g] += problem.signed[r] * (new[x] - old[x])
    arranged[r, m] = y
    state.first[m, r] = around(problem, arranged, r, m, y)
