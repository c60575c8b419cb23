"""The primitive for D̂ = ‖Σ_h u_h φ(x_h)‖² − Σ_pairs e ‖φ(x_r) − φ(x_r')‖²: MMD, from kernel values.

The state keeps the field of every minibatch, F_m(x) = Σ_g u_g κ(x_g, x), at all elements x of the pool. Put y in the
place of row r's member a, whose partner is b, and only row r's own kernel values have to be taken out of it:

    D̂_m(y) = D̂_m + T(y) − T(a),    T(y) = 2u_r (F_m(y) − u_r κ(a, y)) + u_r² κ(y, y) − e_r (κ(y, y) − 2κ(b, y))

So a replacement is looked up in O(1), and made in O(P): F_m(x) += u_r (κ(y, x) − κ(a, x)), along two Gram lines. Where
there is no pair e = 0, and b is a itself, whose line is at hand.
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
            total += u[r] * field[arranged[r, m]] - apart(problem, arranged, r, m)
        state.values[m] = total


@compiled
def apart(problem: Any, arranged: Any, r: int, m: int) -> float:
    """e_r (κ(a, a) − κ(a, b)), a row r's member and b its partner: over both rows of a pair, e ‖φ(a) − φ(b)‖²."""
    a, b, e = arranged[r, m], arranged[problem.partner[r], m], problem.pair[r]
    return e * (float(problem.gram[a, a]) - float(problem.gram[a, b])) if e != 0.0 else 0.0


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
            total += 2 * u[r] * others + u[r] * u[r] * line[arranged[r, m]] - apart(problem, arranged, r, m)
        values[m] = total


@compiled
def here(problem: Any, state: Any, arranged: Any, r: int, m: int, out: Any) -> None:
    """Minibatch m with each element of row r in turn."""
    horizon, first, a = arranged.shape[1], r * arranged.shape[1], arranged[r, m]
    u, pair, field, diagonal = problem.signed[r], problem.pair[r], state.field[m], state.diagonal
    own = u * u - pair
    line, partner = problem.gram[a], problem.gram[arranged[problem.partner[r], m]]
    base = state.values[m] - 2 * u * (field[a] - u * diagonal[a]) - own * diagonal[a] - 2 * pair * partner[a]
    for e in range(first, first + horizon):
        out[e - first] = base + 2 * u * (field[e] - u * line[e]) + own * diagonal[e] + 2 * pair * partner[e]


@compiled
def there(problem: Any, state: Any, arranged: Any, r: int, y: int, start: int, out: Any) -> None:
    """Each minibatch m' ≥ start with element y of row r."""
    gram, u, pair, field, diagonal, values = (
        problem.gram, problem.signed[r], problem.pair[r], state.field, state.diagonal, state.values
    )  # fmt: skip
    line, own, partner = gram[y], u * u - pair, problem.partner[r]
    for m in range(start, arranged.shape[1]):
        a = arranged[r, m]
        around = u * (field[m, y] - field[m, a] - u * (line[a] - diagonal[a]))
        out[m] = values[m] + 2 * around + own * (diagonal[y] - diagonal[a])
    if pair != 0.0:
        for m in range(start, arranged.shape[1]):
            b = arranged[partner, m]
            out[m] += 2 * pair * (float(line[b]) - float(gram[arranged[r, m], b]))


@compiled
def everywhere(problem: Any, state: Any, arranged: Any, r: int, out: Any) -> None:
    """Each minibatch with each element of row r."""
    for m in range(arranged.shape[1]):
        here(problem, state, arranged, r, m, out[m])


@compiled
def replaced(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> float:
    """Minibatch m with element y of row r."""
    gram, field, diagonal = problem.gram, state.field, state.diagonal
    a, u, pair = arranged[r, m], problem.signed[r], problem.pair[r]
    around = u * (field[m, y] - field[m, a] - u * (gram[a, y] - diagonal[a]))
    value: float = state.values[m] + 2 * around + (u * u - pair) * (diagonal[y] - diagonal[a])
    if pair != 0.0:
        b = arranged[problem.partner[r], m]
        value += 2 * pair * (float(gram[y, b]) - float(gram[a, b]))
    return value


@compiled
def put(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> None:
    """Put element y into row r of minibatch m, and the field right; D̂ is the caller's."""
    u, field, old, new = problem.signed[r], state.field[m], problem.gram[arranged[r, m]], problem.gram[y]
    for e in range(len(field)):
        field[e] += u * (float(new[e]) - float(old[e]))
    arranged[r, m] = y
