"""The primitive for D̂ = ‖Ĉ_s − Ĉ_t‖²_F with batch-centred covariances: CORAL, from inner products.

Put y in the place of row r's member x, of weight w. Let b be the mean of r's side and c = n/(n − 1) there, b' and c'
those of the other side, ỹ = y − b and x̃ = x − b. The covariance of r's side becomes Ĉ + cN, and with F = Ĉ − Ĉ_other

    N = w(ỹỹᵀ − x̃x̃ᵀ) − w²(y − x)(y − x)ᵀ        D̂(y) = ‖F + cN‖² = D̂ + 2c⟨F, N⟩ + c²‖N‖²

F = Σ_g s_g a_g a_gᵀ over all members g, a_g = z_g less the mean of its side, s_g = c w_g on r's side and −c' w_g on the
other. In inner products p_g = z_g·y, x_g = z_g·x, B_g = z_g·b, and their weighted means over a side, p̄ = Σ w_g p_g,

    ⟨F, N⟩/w = T − c (p̄ − x̄)((1 − w)p̄ + (1 + w)x̄ − 2B̄) of r's side + c' (…) of the other
           T = Σ_g s_g (p_g − x_g)((1 − w)p_g + (1 + w)x_g − 2B_g)
    ‖N‖²/w² = ‖ỹ‖⁴ + ‖x̃‖⁴ − 2(ỹ·x̃)² − 2w(‖ỹ‖² − ‖x̃‖²)δ² + w²δ⁴,        δ² = ‖y − x‖²

T and the two p̄ are sums over the members, O(R) a pair; no field can be kept as for MMD, since B_g changes for all g
with every member. x_g, B_g, x̄ and B̄ are looked up in the state: the inner products of each minibatch's members and
means. Side 0 is the source's (rows 0..k−1), side 1 the target's (rows k..2k−1).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orda.compiled import compiled, compiled_sums


@compiled
def prepare(problem: Any, state: Any, arranged: Any) -> None:
    """Inner products of members and means, and D̂, from their definitions."""
    for e in range(len(problem.gram)):
        state.diagonal[e] = problem.gram[e, e]
    for m in range(arranged.shape[1]):
        members, inner = state.members[m], state.inner[:, m]
        state.values[m] = from_gram(problem, arranged[:, m], members, inner, state.means[m], state.norms[m])


@compiled
def measure(problem: Any, arranged: Any, values: Any) -> None:
    """D̂ of every minibatch from its definition alone."""
    k, rows = problem.weight.shape[1], len(arranged)
    members, inner = np.empty((2, k), np.int64), np.empty((rows, 2, k))
    means, norms = np.empty((2, 2, k)), np.empty(3)
    for m in range(arranged.shape[1]):
        values[m] = from_gram(problem, arranged[:, m], members, inner, means, norms)


@compiled_sums
def from_gram(problem: Any, column: Any, members: Any, inner: Any, means: Any, norms: Any) -> float:
    """Fill in the inner products of one minibatch; D̂ = Σ_gh s_g s_h (a_g·a_h)², with s_g > 0 at the source's members.

    a_g·a_h = z_g·z_h − b_h·z_g − b_g·z_h + b_g·b_h, where b_g is the mean of z_g's side.
    """
    k, weight, signed, total = problem.weight.shape[1], problem.weight, problem.signed, 0.0
    for r in range(len(column)):
        own, h = place(problem, r)
        members[own, h] = column[r]
    for r in range(len(column)):
        (own, h), line = place(problem, r), problem.gram[column[r]]
        for side in range(2):
            for g in range(k):
                inner[r, side, g] = line[members[side, g]]
        means_along(weight, inner[r], means, own, h)
    lengths(weight, means, norms)
    for r in range(len(column)):
        (own, h), part = place(problem, r), 0.0
        for side in range(2):
            shift = (norms[own] if side == own else norms[2]) - means[side, own, h]
            for g in range(k):
                part += signed[side, g] * (inner[r, side, g] - means[own, side, g] + shift) ** 2
        total += signed[own, h] * part
    return total


@compiled
def means_along(weight: Any, line: Any, means: Any, side: int, h: int) -> None:
    """b_s·z and b_t·z of a side's member h, from its inner products with all members."""
    means[0, side, h], means[1, side, h] = dot(weight[0], line[0]), dot(weight[1], line[1])


@compiled
def lengths(weight: Any, means: Any, norms: Any) -> None:
    """‖b_s‖², ‖b_t‖² and b_s·b_t."""
    norms[0], norms[1] = dot(weight[0], means[0, 0]), dot(weight[1], means[1, 1])
    norms[2] = dot(weight[0], means[1, 0])


@compiled_sums
def dot(x: Any, y: Any) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@compiled
def place(problem: Any, r: int) -> tuple[int, int]:
    """Row r's side, and its number there."""
    k = problem.weight.shape[1]
    return (0, r) if r < k else (1, r - k)


@compiled
def change(
    c: float, c_o: float, w: float, bb: float, bo: float, xx: float, bx: float, ox: float,
    yy: float, xy: float, by: float, oy: float, t: float,
) -> float:  # fmt: skip
    """D̂(y) − D̂ from ‖b‖², b·b', ‖x‖², b·x, b'·x, and ‖y‖², x·y, b·y, b'·y, T."""
    own = (by - bx) * ((1 - w) * by + (1 + w) * bx - 2 * bb)
    other = (oy - ox) * ((1 - w) * oy + (1 + w) * ox - 2 * bo)
    y_norm, x_norm, product = yy - 2 * by + bb, xx - 2 * bx + bb, xy - by - bx + bb
    apart = y_norm + x_norm - 2 * product
    quartic = y_norm**2 + x_norm**2 - 2 * product**2 - 2 * w * (y_norm - x_norm) * apart + (w * apart) ** 2
    return 2 * c * w * (t - c * own + c_o * other) + (c * w) ** 2 * quartic


@compiled_sums
def between(problem: Any, state: Any, r: int, y: int, line: Any, start: int, stop: int, out: Any) -> None:
    """out[m] = D̂ of minibatches m = start..stop−1 with element y of row r, whose Gram line is given."""
    (own, h), weight, signed, correction = place(problem, r), problem.weight, problem.signed, problem.correction
    members, inner, means, norms, values = state.members, state.inner, state.means, state.norms, state.values
    other, sign, w, yy = 1 - own, 1.0 - 2 * own, weight[own, h], state.diagonal[y]
    for m in range(start, stop):
        by, oy, t = 0.0, 0.0, 0.0
        for side in range(2):
            mean = 0.0
            for g in range(weight.shape[1]):
                p, x = float(line[members[m, side, g]]), float(inner[r, m, side, g])
                mean += weight[side, g] * p
                t += signed[side, g] * (p - x) * ((1 - w) * p + (1 + w) * x - 2 * means[m, own, side, g])
            by, oy = (mean, oy) if side == own else (by, mean)
        bb, bo, bx, ox = norms[m, own], norms[m, 2], means[m, own, own, h], means[m, other, own, h]
        xx, xy = float(inner[r, m, own, h]), float(line[members[m, own, h]])
        out[m] = values[m] + change(correction[own], correction[other], w, bb, bo, xx, bx, ox, yy, xy, by, oy, sign * t)


@compiled
def there(problem: Any, state: Any, arranged: Any, r: int, y: int, start: int, out: Any) -> None:
    """Each minibatch m ≥ start with element y of row r; its Gram line comes into the cache in one go, by a copy."""
    between(problem, state, r, y, problem.gram[y].copy(), start, len(out), out)


@compiled
def replaced(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> float:
    """Minibatch m with element y of row r."""
    between(problem, state, r, y, problem.gram[y], m, m + 1, state.scratch)
    value: float = state.scratch[m]
    return value


@compiled
def here(problem: Any, state: Any, arranged: Any, r: int, m: int, out: Any) -> None:
    """Minibatch m with each element of row r, a row at once: T = Σ_g p_g(α_g p_g + γ_g) − Σ_g x_g(α_g x_g + γ_g)."""
    (own, h), horizon, first = place(problem, r), arranged.shape[1], r * arranged.shape[1]
    other, gram, weight, members = 1 - own, problem.gram, problem.weight, state.members[m]
    w, x, means, norms = weight[own, h], state.inner[r, m], state.means[m], state.norms[m]
    alpha, gamma, constant = np.empty(x.shape), np.empty(x.shape), 0.0
    for side in range(2):
        for g in range(x.shape[1]):
            s = (1.0 - 2 * own) * problem.signed[side, g]
            alpha[side, g], gamma[side, g] = (1 - w) * s, 2 * s * (w * x[side, g] - means[own, side, g])
            constant += x[side, g] * (alpha[side, g] * x[side, g] + gamma[side, g])
    by, oy, t = np.zeros(horizon), np.zeros(horizon), np.zeros(horizon)
    add_runs(gram, members[own], first, weight[own], alpha[own], gamma[own], by, t)
    add_runs(gram, members[other], first, weight[other], alpha[other], gamma[other], oy, t)
    bb, bo, xx, bx, ox = norms[own], norms[2], float(x[own, h]), means[own, own, h], means[other, own, h]
    line, diagonal, value = gram[arranged[r, m]], state.diagonal, state.values[m]
    c, c_o = problem.correction[own], problem.correction[other]
    for j in range(horizon):
        yy, xy = diagonal[first + j], float(line[first + j])
        out[j] = value + change(c, c_o, w, bb, bo, xx, bx, ox, yy, xy, by[j], oy[j], t[j] - constant)


@compiled_sums
def add_runs(gram: Any, members: Any, first: int, weight: Any, alpha: Any, gamma: Any, mean: Any, t: Any) -> None:
    """With p = z_g·y_j: mean[j] += Σ_g w_g p and t[j] += Σ_g p(α_g p + γ_g), g over the members.

    Four runs at a time: they are far apart in memory, and one wait serves all.
    """
    end = first + len(mean)
    for g in range(0, len(members) - 3, 4):
        one, two = gram[members[g], first:end], gram[members[g + 1], first:end]
        three, four = gram[members[g + 2], first:end], gram[members[g + 3], first:end]
        for j in range(len(mean)):
            a, b, c, d = float(one[j]), float(two[j]), float(three[j]), float(four[j])
            mean[j] += weight[g] * a + weight[g + 1] * b + weight[g + 2] * c + weight[g + 3] * d
            t[j] += a * (alpha[g] * a + gamma[g]) + b * (alpha[g + 1] * b + gamma[g + 1])
            t[j] += c * (alpha[g + 2] * c + gamma[g + 2]) + d * (alpha[g + 3] * d + gamma[g + 3])
    for g in range(len(members) - len(members) % 4, len(members)):
        one = gram[members[g], first:end]
        for j in range(len(mean)):
            a = float(one[j])
            mean[j] += weight[g] * a
            t[j] += a * (alpha[g] * a + gamma[g])


@compiled
def everywhere(problem: Any, state: Any, arranged: Any, r: int, out: Any) -> None:
    """Each minibatch with each element of row r."""
    for m in range(arranged.shape[1]):
        here(problem, state, arranged, r, m, out[m])


@compiled
def put(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> None:
    """Put element y into row r of minibatch m, and its inner products right; D̂ is the caller's."""
    (own, h), line, inner = place(problem, r), problem.gram[y], state.inner
    members, means, w = state.members[m], state.means[m], problem.weight[own, h]
    arranged[r, m], members[own, h] = y, y
    g = 0
    for side in range(2):
        for i in range(members.shape[1]):
            product = line[members[side, i]]
            means[own, side, i] += w * (float(product) - float(inner[r, m, side, i]))
            inner[r, m, side, i], inner[g, m, own, h] = product, product
            g += 1
    means_along(problem.weight, inner[r, m], means, own, h)
    lengths(problem.weight, means, state.norms[m])
