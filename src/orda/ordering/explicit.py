"""The primitive for D̂ = ‖Σ_h u_h φ(x_h)‖² − Σ_pairs e ‖φ(x_r) − φ(x_r')‖²: MMD, from φ itself and no Gram matrix.

The state keeps V_m = Σ_g u_g φ(x_g) of every minibatch, which stands for the field of ``quadratic.py``:
F_m(x) = ⟨V_m, φ(x)⟩. Put y in the place of row r's member a, whose partner is b:

    D̂_m(y) = D̂_m + T(y) − T(a),    T(y) = ⟨2u_r (V_m − u_r φ(a)) + 2e_r φ(b), φ(y)⟩ + (u_r² − e_r) κ(y, y)

So a replacement costs O(D), and so does making it: V_m += u_r (φ(y) − φ(a)). An approximate φ has κ(x, x) = ‖φ(x)‖² +
``extra``: of that there is more to the last term, and to κ(b, y) where b and y are the one example of a stratum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orda.compiled import compiled, compiled_sums


@compiled
def prepare(problem: Any, state: Any, arranged: Any) -> None:
    """V and D̂, from their definitions."""
    phi = problem.phi
    for e in range(len(phi)):
        state.diagonal[e] = dot(phi[e], phi[e]) + problem.extra[e]
    for m in range(arranged.shape[1]):
        embed(problem, arranged, m, state.total[m])
        state.values[m] = from_total(problem, arranged, m, state.total[m])


@compiled
def measure(problem: Any, arranged: Any, values: Any) -> None:
    """D̂ of every minibatch from its definition alone."""
    total = np.empty(problem.phi.shape[1])
    for m in range(arranged.shape[1]):
        embed(problem, arranged, m, total)
        values[m] = from_total(problem, arranged, m, total)


@compiled_sums
def embed(problem: Any, arranged: Any, m: int, total: Any) -> None:
    """V_m."""
    total[:] = 0.0
    for r in range(len(arranged)):
        u, row = problem.signed[r], problem.phi[arranged[r, m]]
        for j in range(len(total)):
            total[j] += u * row[j]


@compiled
def from_total(problem: Any, arranged: Any, m: int, total: Any) -> float:
    """‖V‖² + Σ u_r u_r' extra − Σ_pairs e ‖φ(x_r) − φ(x_r')‖²; a pair is met twice, as a and as b."""
    value = dot(total, total)
    for r in range(len(arranged)):
        other, u, e = problem.partner[r], problem.signed[r], problem.pair[r]
        a, b = arranged[r, m], arranged[other, m]
        value += u * u * problem.extra[a]
        if other != r and problem.example[a] == problem.example[b]:
            value += u * problem.signed[other] * problem.extra[a]
        elif e != 0.0:
            x, y = problem.phi[a], problem.phi[b]
            value -= e * (dot(x, x) - dot(x, y) + problem.extra[a])
    return value


@compiled_sums
def dot(x: Any, y: Any) -> float:
    total = 0.0
    for i in range(len(x)):
        total += float(x[i]) * float(y[i])
    return total


@compiled_sums
def direction(problem: Any, state: Any, arranged: Any, r: int, m: int, out: Any) -> None:
    """What T is linear in: 2u (V_m − u φ(a)) + 2e φ(b)."""
    u, e, total = problem.signed[r], problem.pair[r], state.total[m]
    own, partner = problem.phi[arranged[r, m]], problem.phi[arranged[problem.partner[r], m]]
    for j in range(len(out)):
        out[j] = 2 * u * (total[j] - u * own[j])
    if e != 0.0:
        for j in range(len(out)):
            out[j] += 2 * e * partner[j]


@compiled
def beside(problem: Any, state: Any, r: int, b: int, y: int) -> float:
    """What T(y) has beside its linear part."""
    u, e, other = problem.signed[r], problem.pair[r], problem.partner[r]
    value = (u * u - e) * state.diagonal[y]
    if other != r and problem.example[b] == problem.example[y]:
        value += 2 * (u * problem.signed[other] + e) * problem.extra[y]
    return float(value)


@compiled
def here(problem: Any, state: Any, arranged: Any, r: int, m: int, out: Any) -> None:
    """Minibatch m with each element of row r in turn."""
    horizon, first, a = arranged.shape[1], r * arranged.shape[1], arranged[r, m]
    b = arranged[problem.partner[r], m]
    along = np.empty(problem.phi.shape[1])
    direction(problem, state, arranged, r, m, along)
    products(problem.phi, first, along, out)
    base = state.values[m] - out[a - first] - beside(problem, state, r, b, a)
    for j in range(horizon):
        out[j] += base + beside(problem, state, r, b, first + j)


@compiled_sums
def products(phi: Any, first: int, along: Any, out: Any) -> None:
    """out[j] = ⟨along, φ(first + j)⟩, four at a time."""
    count = len(out)
    for j in range(0, count - 3, 4):
        one, two, three, four = phi[first + j], phi[first + j + 1], phi[first + j + 2], phi[first + j + 3]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for i in range(len(along)):
            x = along[i]
            a += x * one[i]
            b += x * two[i]
            c += x * three[i]
            d += x * four[i]
        out[j], out[j + 1], out[j + 2], out[j + 3] = a, b, c, d
    for j in range(count - count % 4, count):
        out[j] = dot(along, phi[first + j])


@compiled
def there(problem: Any, state: Any, arranged: Any, r: int, y: int, start: int, out: Any) -> None:
    """Each minibatch m ≥ start with element y of row r."""
    for m in range(start, arranged.shape[1]):
        out[m] = replaced(problem, state, arranged, r, m, y)


@compiled_sums
def replaced(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> float:
    """Minibatch m with element y of row r: along 2u (V_m − u φ(a)) + 2e φ(b), without writing that down."""
    a, b, u, e = arranged[r, m], arranged[problem.partner[r], m], problem.signed[r], problem.pair[r]
    old, new, total, partner = problem.phi[a], problem.phi[y], state.total[m], problem.phi[b]
    value = 0.0
    for j in range(len(total)):
        value += u * (total[j] - u * old[j]) * (float(new[j]) - float(old[j]))
    if e != 0.0:
        for j in range(len(total)):
            value += e * partner[j] * (float(new[j]) - float(old[j]))
    found: float = state.values[m] + 2 * value + beside(problem, state, r, b, y) - beside(problem, state, r, b, a)
    return found


@compiled
def everywhere(problem: Any, state: Any, arranged: Any, r: int, out: Any) -> None:
    """Each minibatch with each element of row r."""
    for m in range(arranged.shape[1]):
        here(problem, state, arranged, r, m, out[m])


@compiled
def put(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> None:
    """Put element y into row r of minibatch m, and V_m right; D̂ is the caller's."""
    u, total, old, new = problem.signed[r], state.total[m], problem.phi[arranged[r, m]], problem.phi[y]
    for j in range(len(total)):
        total[j] += u * (float(new[j]) - float(old[j]))
    arranged[r, m] = y
