"""The primitive for D̂ = Σ_{g≠h} u_g u_h κ(x_g, x_h) + Σ_h v_h κ(x_h, x_h): MMD, from kernel values.

The state keeps the field of every minibatch, F_m(e) = Σ_g u_g κ(x_g, e), at all elements e of the pool. Put y in the
place of row r's member a, and only the two kernel values of row r itself have to be taken out of it:

    D̂_m(y) = D̂_m + 2u_r (F_m(y) − u_r κ(a, y)) − 2u_r (F_m(a) − u_r κ(a, a)) + v_r (κ(y, y) − κ(a, a))

So a replacement is looked up in O(1), and made in O(P): F_m(e) += u_r (κ(y, e) − κ(a, e)), along two Gram lines.
"""

from __future__ import annotations

from typing import Any

from orda.compiled import compiled, compiled_sums


@compiled_sums
def prepare(problem: Any, state: Any, arranged: Any) -> None:
    """Fields and D̂, from their definitions."""
    gram, u = problem.gram, problem.signed
    rows, horizon = arranged.shape
    for e in range(len(gram)):
        state.diagonal[e] = gram[e, e]
    state.field[:] = 0.0
    for m in range(horizon):
        field = state.field[m]
        for r in range(0, rows - 3, 4):  # four Gram lines at a time: the field passes through the cache less often
            one, two, three, four = (
                gram[arranged[r, m]],
                gram[arranged[r + 1, m]],
                gram[arranged[r + 2, m]],
                gram[arranged[r + 3, m]],
            )
            for e in range(len(field)):
                field[e] += u[r] * one[e] + u[r + 1] * two[e] + u[r + 2] * three[e] + u[r + 3] * four[e]
        for r in range(rows - rows % 4, rows):
            one = gram[arranged[r, m]]
            for e in range(len(field)):
                field[e] += u[r] * one[e]
        total = 0.0
        for r in range(rows):
            x = arranged[r, m]
            total += u[r] * (field[x] - u[r] * gram[x, x]) + problem.own[r] * gram[x, x]
        state.values[m] = total


@compiled
def measure(problem: Any, arranged: Any, values: Any) -> None:
    """D̂ of every minibatch from its definition alone."""
    gram, u = problem.gram, problem.signed
    rows, horizon = arranged.shape
    for m in range(horizon):
        total = 0.0
        for r in range(rows):
            line, others = gram[arranged[r, m]], 0.0
            for g in range(r):
                others += u[g] * line[arranged[g, m]]
            total += 2 * u[r] * others + problem.own[r] * line[arranged[r, m]]
        values[m] = total


@compiled
def here(problem: Any, state: Any, arranged: Any, r: int, m: int, out: Any) -> None:
    """Minibatch m with each element of row r in turn."""
    horizon, first, a = arranged.shape[1], r * arranged.shape[1], arranged[r, m]
    u, own, field, diagonal = problem.signed[r], problem.own[r], state.field[m], state.diagonal
    base = state.values[m] - 2 * u * (field[a] - u * diagonal[a]) - own * diagonal[a]
    line = problem.gram[a]
    for e in range(first, first + horizon):
        out[e - first] = base + 2 * u * (field[e] - u * line[e]) + own * diagonal[e]


@compiled
def there(problem: Any, state: Any, arranged: Any, r: int, y: int, start: int, out: Any) -> None:
    """Each minibatch m' ≥ start with element y of row r."""
    u, own, field, diagonal, line = problem.signed[r], problem.own[r], state.field, state.diagonal, problem.gram[y]
    for m in range(start, arranged.shape[1]):
        a = arranged[r, m]
        around = field[m, y] - field[m, a] - u * (line[a] - diagonal[a])
        out[m] = state.values[m] + 2 * u * around + own * (diagonal[y] - diagonal[a])


@compiled
def everywhere(problem: Any, state: Any, arranged: Any, r: int, out: Any) -> None:
    """Each minibatch with each element of row r."""
    for m in range(arranged.shape[1]):
        here(problem, state, arranged, r, m, out[m])


@compiled
def replaced(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> float:
    """Minibatch m with element y of row r."""
    a, u, field, diagonal = arranged[r, m], problem.signed[r], state.field[m], state.diagonal
    around = field[y] - field[a] - u * (problem.gram[a, y] - diagonal[a])
    value: float = state.values[m] + 2 * u * around + problem.own[r] * (diagonal[y] - diagonal[a])
    return value


@compiled
def put(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> None:
    """Put element y into row r of minibatch m, and the field right; D̂ is the caller's."""
    u, field, old, new = problem.signed[r], state.field[m], problem.gram[arranged[r, m]], problem.gram[y]
    for e in range(len(field)):
        field[e] += u * (float(new[e]) - float(old[e]))
    arranged[r, m] = y
