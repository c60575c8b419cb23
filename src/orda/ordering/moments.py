"""The primitive for D̂ = ‖Ĉ_s − Ĉ_t‖²_F with batch-centred covariances: CORAL, from the points and no Gram matrix.

The state keeps Δ_m = Ĉ_s − Ĉ_t and both means of every minibatch. Put y in the place of row r's member x, of weight w.
Without x, the members of its side have the mean h = (b − w x)/(1 − w), where b is the mean with it, and weigh 1 − w. A
point of weight w beside them adds w(1 − w) ŷŷᵀ to the covariance, ŷ = y − h. So, with x̂ = x − h, the side's factor
c = n/(n − 1) and s = ±c w(1 − w), + on the source's side and − on the target's, Δ becomes Δ + s(ŷŷᵀ − x̂x̂ᵀ), and

    D̂(y) = D̂ + 2s(ŷᵀΔŷ − x̂ᵀΔx̂) + s²(‖ŷ‖⁴ + ‖x̂‖⁴ − 2(ŷ·x̂)²)

whatever k is: O(d²) for a pair, and for a replacement. Of Δ, which is symmetric, the upper triangle is kept, row after
row. ŷᵀΔŷ for all elements of a row is a product of matrices, in the precision of the points and in blocks of a fixed
order; all the rest is in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orda.compiled import compiled, compiled_sums
from orda.ordering.covariance import dot, place

BLOCK = 4  # rows of Δ and points that are multiplied at a time; members that are added to Δ at a time


@compiled
def prepare(problem: Any, state: Any, arranged: Any) -> None:
    """Δ, means and D̂, from their definitions."""
    for m in range(arranged.shape[1]):
        state.values[m] = from_points(problem, arranged[:, m], state.moments[m], state.means[m])


@compiled
def measure(problem: Any, arranged: Any, values: Any) -> None:
    """D̂ of every minibatch from its definition alone."""
    d = problem.points.shape[1]
    moments, means = np.empty(d * (d + 1) // 2), np.empty((2, d))
    for m in range(arranged.shape[1]):
        values[m] = from_points(problem, arranged[:, m], moments, means)


@compiled
def from_points(problem: Any, column: Any, moments: Any, means: Any) -> float:
    """Fill in one minibatch's means and Δ = Σ_g s_g a_g a_gᵀ, a_g = z_g less the mean of its side; D̂ = ‖Δ‖²."""
    rows, points = len(column), problem.points
    means[:], moments[:] = 0.0, 0.0
    for r in range(rows):
        own, h = place(problem, r)
        add(means[own], problem.weight[own, h], points[column[r]])
    a, s = np.zeros((BLOCK, points.shape[1])), np.zeros(BLOCK)
    for first in range(0, rows, BLOCK):
        s[:] = 0.0
        for r in range(first, min(first + BLOCK, rows)):
            own, h = place(problem, r)
            s[r - first] = problem.signed[own, h]
            about(points[column[r]], means[own], a[r - first])
        add_outer(moments, s, a)
    return squared_norm(moments, points.shape[1])


@compiled
def add(mean: Any, w: float, point: Any) -> None:
    """mean += w · point."""
    for i in range(len(mean)):
        mean[i] += w * float(point[i])


@compiled
def about(point: Any, centre: Any, out: Any) -> None:
    """point − centre, in float64."""
    for i in range(len(out)):
        out[i] = float(point[i]) - centre[i]


@compiled_sums
def add_outer(moments: Any, s: Any, a: Any) -> None:
    """Δ += Σ_g s_g a_g a_gᵀ of four vectors: Δ passes through the cache once for them."""
    d, start = a.shape[1], 0
    for i in range(d):
        line, one, two, three, four = moments[start : start + d - i], a[0, i:], a[1, i:], a[2, i:], a[3, i:]
        p, q, t, u = s[0] * one[0], s[1] * two[0], s[2] * three[0], s[3] * four[0]
        for j in range(len(line)):
            line[j] += p * one[j] + q * two[j] + t * three[j] + u * four[j]
        start += d - i


@compiled_sums
def squared_norm(moments: Any, d: int) -> float:
    """‖Δ‖²: an entry beside the diagonal stands for two."""
    total, start = 0.0, 0
    for i in range(d):
        line, beside = moments[start : start + d - i], 0.0
        for j in range(1, len(line)):
            beside += line[j] * line[j]
        total += 2 * beside + line[0] * line[0]
        start += d - i
    return total


@compiled
def others(problem: Any, state: Any, arranged: Any, r: int, m: int, mean: Any) -> float:
    """Fill in h; s. A side of one member has no others, and s = 0."""
    (own, h), x = place(problem, r), problem.points[arranged[r, m]]
    b, w = state.means[m, own], problem.weight[own, h]
    for i in range(len(mean)):
        mean[i] = (b[i] - w * float(x[i])) / (1.0 - w) if w < 1.0 else 0.0
    s: float = problem.signed[own, h] * (1.0 - w)
    return s


@compiled
def change(s: float, forms: float, yy: float, xx: float, xy: float) -> float:
    """D̂(y) − D̂ from ŷᵀΔŷ − x̂ᵀΔx̂, ‖ŷ‖², ‖x̂‖² and ŷ·x̂."""
    return 2 * s * forms + s * s * (yy * yy + xx * xx - 2 * xy * xy)


@compiled
def here(problem: Any, state: Any, arranged: Any, r: int, m: int, out: Any) -> None:
    """Minibatch m with each element of row r, of which x is one."""
    (horizon, d), size = (arranged.shape[1], problem.points.shape[1]), state.scratch.shape[1]
    triangle, rounded = state.scratch[:size], state.scratch[size:]
    mean, y, x = np.empty(d), np.empty(d), np.empty(d)
    yy, xy, forms = np.empty(horizon), np.empty(horizon), np.zeros(len(rounded))
    s, first = others(problem, state, arranged, r, m, mean), r * horizon
    about(problem.points[arranged[r, m]], mean, x)
    for j in range(horizon):
        about(problem.points[first + j], mean, y)
        yy[j], xy[j] = dot(y, y), dot(y, x)
        rounded[j, :d] = y
    unpack(state.moments[m], d, triangle)
    all_forms(triangle, rounded, forms)
    own = arranged[r, m] - first
    for j in range(horizon):
        out[j] = state.values[m] + change(s, forms[j] - forms[own], yy[j], yy[own], xy[j])


@compiled
def unpack(moments: Any, d: int, triangle: Any) -> None:
    """An upper triangular T with yᵀTy = yᵀΔy: entries beside the diagonal are doubled."""
    start = 0
    for i in range(d):
        line, row = moments[start : start + d - i], triangle[i, i:d]
        row[0] = line[0]
        for j in range(1, len(line)):
            row[j] = 2 * line[j]
        start += d - i


@compiled_sums
def all_forms(triangle: Any, y: Any, out: Any) -> None:
    """out[j] += y_jᵀ T y_j: four rows of T and four points at a time, whose sixteen sums stay in registers."""
    zero = triangle.dtype.type(0)
    for i in range(0, len(triangle), BLOCK):
        one, two, three, four = triangle[i, i:], triangle[i + 1, i:], triangle[i + 2, i:], triangle[i + 3, i:]
        for j in range(0, len(y), BLOCK):
            y0, y1, y2, y3 = y[j, i:], y[j + 1, i:], y[j + 2, i:], y[j + 3, i:]
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = c0 = c1 = c2 = c3 = d0 = d1 = d2 = d3 = zero
            for g in range(len(one)):
                p, q, t, u = one[g], two[g], three[g], four[g]
                v0, v1, v2, v3 = y0[g], y1[g], y2[g], y3[g]
                a0, a1, a2, a3 = a0 + p * v0, a1 + p * v1, a2 + p * v2, a3 + p * v3
                b0, b1, b2, b3 = b0 + q * v0, b1 + q * v1, b2 + q * v2, b3 + q * v3
                c0, c1, c2, c3 = c0 + t * v0, c1 + t * v1, c2 + t * v2, c3 + t * v3
                d0, d1, d2, d3 = d0 + u * v0, d1 + u * v1, d2 + u * v2, d3 + u * v3
            out[j] += float(a0) * y0[0] + float(b0) * y0[1] + float(c0) * y0[2] + float(d0) * y0[3]
            out[j + 1] += float(a1) * y1[0] + float(b1) * y1[1] + float(c1) * y1[2] + float(d1) * y1[3]
            out[j + 2] += float(a2) * y2[0] + float(b2) * y2[1] + float(c2) * y2[2] + float(d2) * y2[3]
            out[j + 3] += float(a3) * y3[0] + float(b3) * y3[1] + float(c3) * y3[2] + float(d3) * y3[3]


@compiled
def everywhere(problem: Any, state: Any, arranged: Any, r: int, out: Any) -> None:
    """Each minibatch with each element of row r."""
    for m in range(arranged.shape[1]):
        here(problem, state, arranged, r, m, out[m])


@compiled
def there(problem: Any, state: Any, arranged: Any, r: int, y: int, start: int, out: Any) -> None:
    """Each minibatch m ≥ start with element y of row r."""
    for m in range(start, arranged.shape[1]):
        out[m] = replaced(problem, state, arranged, r, m, y)


@compiled
def replaced(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> float:
    """Minibatch m with element y of row r."""
    d = problem.points.shape[1]
    mean, new, old = np.empty(d), np.empty(d), np.empty(d)
    s = others(problem, state, arranged, r, m, mean)
    about(problem.points[y], mean, new)
    about(problem.points[arranged[r, m]], mean, old)
    forms = difference(state.moments[m], new, old)
    value: float = state.values[m] + change(s, forms, dot(new, new), dot(old, old), dot(new, old))
    return value


@compiled_sums
def difference(moments: Any, new: Any, old: Any) -> float:
    """ŷᵀΔŷ − x̂ᵀΔx̂ = (ŷ − x̂)ᵀ Δ (ŷ + x̂), in one pass through the triangle."""
    apart, both, total, start = new - old, new + old, 0.0, 0
    for i in range(len(new)):
        line, a, b = moments[start : start + len(new) - i], apart[i:], both[i:]
        along, across = 0.0, 0.0
        for j in range(1, len(line)):
            along += line[j] * b[j]
            across += line[j] * a[j]
        total += a[0] * (line[0] * b[0] + along) + b[0] * across
        start += len(line)
    return total


@compiled
def put(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> None:
    """Put element y into row r of minibatch m, and Δ and the mean right; D̂ is the caller's."""
    (own, h), d, x = place(problem, r), problem.points.shape[1], arranged[r, m]
    mean, a, s = np.empty(d), np.zeros((BLOCK, d)), np.zeros(BLOCK)
    s[0] = others(problem, state, arranged, r, m, mean)
    s[1] = -s[0]
    about(problem.points[y], mean, a[0])
    about(problem.points[x], mean, a[1])
    add_outer(state.moments[m], s, a)
    add(state.means[m, own], problem.weight[own, h], problem.points[y])
    add(state.means[m, own], -problem.weight[own, h], problem.points[x])
    arranged[r, m] = y
