"""The primitive for D̂ = ‖Ĉ_s − Ĉ_t‖²_F with batch-centred covariances: CORAL, from inner products.

Take row r's side. Over its *other* rows A = Σ w_g z_g z_gᵀ and b = Σ w_g z_g; c = n/(n−1); w = w_r, q = w − w²;
E = c(A − b bᵀ) − Ĉ_other. Then with y in row r's place Ĉ = c(A + w yyᵀ − (b + wy)(b + wy)ᵀ), so

    D̂(y) = ‖E‖² + 2c(q yᵀEy − 2w bᵀEy) + c²(q²‖y‖⁴ + 2w²(‖b‖²‖y‖² + (b·y)²) − 4wq‖y‖²(b·y))

and with sums over rows g ≠ r (β_g = b·z_g, b' the other side's mean, s_g = c w_g on this side and −c' w_g on the other)

    b·y   = Σ_{g here} w_g z_g·y                      yᵀEy = Σ_g s_g (z_g·y)² − c(b·y)² + c'(b'·y)²
    b'·y  = Σ_{g other} w_g z_g·y                     bᵀEy = Σ_g s_g β_g (z_g·y) − c‖b‖²(b·y) + c'(b·b')(b'·y)

Only differences of D̂(y) are ever needed, so ‖E‖² is not. The state keeps the inner products of each minibatch's
members (``inner``), of its two means with them (``first``: the source's, ``second``: the target's) and of the means
(``norms``: ‖b_s‖², ‖b_t‖², b_s·b_t). Rows 0..k−1 are the source's, rows k..2k−1 the target's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orda.compiled import compiled, compiled_sums


@compiled
def prepare(problem: Any, state: Any, arranged: Any) -> None:
    """Members' inner products, means and D̂ of every minibatch, from their definitions."""
    rows, horizon = arranged.shape
    for m in range(horizon):
        for g in range(rows):
            for h in range(rows):
                state.inner[m, g, h] = problem.gram[arranged[g, m], arranged[h, m]]
        for g in range(rows):
            means_along(problem, state, m, g)
        lengths(problem, state, m)
        state.values[m] = definition(problem, state, m)


@compiled
def means_along(problem: Any, state: Any, m: int, r: int) -> None:
    """b_s·z_r and b_t·z_r."""
    k, line = len(problem.weight) // 2, state.inner[m, r]
    state.first[m, r] = dot(problem.weight[:k], line[:k])
    state.second[m, r] = dot(problem.weight[k:], line[k:])


@compiled
def lengths(problem: Any, state: Any, m: int) -> None:
    """‖b_s‖², ‖b_t‖² and b_s·b_t."""
    k = len(problem.weight) // 2
    state.norms[m, 0] = dot(problem.weight[:k], state.first[m, :k])
    state.norms[m, 1] = dot(problem.weight[k:], state.second[m, k:])
    state.norms[m, 2] = dot(problem.weight[:k], state.second[m, :k])


@compiled_sums
def dot(x: Any, y: Any) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@compiled
def definition(problem: Any, state: Any, m: int) -> float:
    """‖Ĉ_s‖² + ‖Ĉ_t‖² − 2⟨Ĉ_s, Ĉ_t⟩ = Σ_gh s_g s_h (a_g·a_h)², a the members about the mean of their own side."""
    rows, total = len(problem.weight), 0.0
    k, norms = rows // 2, state.norms[m]
    for g in range(rows):
        for h in range(rows):
            g_to_mean_h = state.first[m, g] if h < k else state.second[m, g]
            h_to_mean_g = state.first[m, h] if g < k else state.second[m, h]
            means = norms[2] if (g < k) != (h < k) else (norms[0] if g < k else norms[1])
            a = state.inner[m, g, h] - g_to_mean_h - h_to_mean_g + means
            total += problem.signed[g] * problem.signed[h] * a * a
    return total


@compiled
def ends(problem: Any, r: int) -> tuple[int, float, float, float]:
    """Of row r's side: 0 or 1, c there, c' on the other, and the sign that turns ``signed`` into s_g."""
    side = 0 if r < len(problem.weight) // 2 else 1
    return side, problem.correction[side], problem.correction[1 - side], 1.0 - 2.0 * side


@compiled
def mean_lengths(side: int, w: float, first: Any, second: Any, norms: Any, r: int, norm: float) -> tuple[float, float]:
    """‖b‖² and b·b' of a minibatch, b without row r, whose member has squared length ``norm``."""
    own, other = (first[r], second[r]) if side == 0 else (second[r], first[r])
    return norms[side] - 2 * w * own + w * w * norm, norms[2] - w * other


@compiled
def bare(
    c: float, c_o: float, w: float, bb: float, bc: float, yy: float, by: float, bo: float, squares: float, betas: float
) -> float:
    """D̂(y) − ‖E‖², from ‖b‖², b·b', ‖y‖², b·y, b'·y, Σ s_g (z_g·y)² and Σ s_g β_g (z_g·y)."""
    q = w - w * w
    yey = squares - c * by * by + c_o * bo * bo
    bey = betas - c * bb * by + c_o * bc * bo
    quartic = q * q * yy * yy + 2 * w * w * (bb * yy + by * by) - 4 * w * q * yy * by
    return 2 * c * (q * yey - 2 * w * bey) + c * c * quartic


@compiled_sums
def row_sums(weight: Any, signed: Any, means: Any, member: Any, line: Any, r: int) -> tuple[float, float, float, float]:
    """Over rows g ≠ r, p = line: Σ w_g p_g of the source and of the target, Σ s_g p_g² and Σ s_g β_g p_g (as signed)."""
    k, w = len(weight) // 2, weight[r]
    to_source, to_target, squares, betas = 0.0, 0.0, 0.0, 0.0
    for g in range(k):
        to_source += weight[g] * line[g]
    for g in range(k, len(weight)):
        to_target += weight[g] * line[g]
    for g in range(len(weight)):
        scaled = signed[g] * line[g]
        squares += scaled * line[g]
        betas += scaled * (means[g] - w * member[g])
    scaled = signed[r] * line[r]
    if r < k:
        to_source -= w * line[r]
    else:
        to_target -= w * line[r]
    return to_source, to_target, squares - scaled * line[r], betas - scaled * (means[r] - w * member[r])


@compiled_sums
def exchange_sums(
    weight: Any, signed: Any, means: Any, member: Any, line: Any, r: int
) -> tuple[float, float, float, float, float, float]:
    """``row_sums`` of line, and its last two of the member itself, in one go."""
    k, w = len(weight) // 2, weight[r]
    to_source, to_target, squares, betas, lost_squares, lost_betas = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for g in range(k):
        to_source += weight[g] * line[g]
    for g in range(k, len(weight)):
        to_target += weight[g] * line[g]
    for g in range(len(weight)):
        beta = means[g] - w * member[g]
        scaled, lost = signed[g] * line[g], signed[g] * member[g]
        squares += scaled * line[g]
        betas += scaled * beta
        lost_squares += lost * member[g]
        lost_betas += lost * beta
    beta = means[r] - w * member[r]
    scaled, lost = signed[r] * line[r], signed[r] * member[r]
    if r < k:
        to_source -= w * line[r]
    else:
        to_target -= w * line[r]
    lost_sums = lost_squares - lost * member[r], lost_betas - lost * beta
    return to_source, to_target, squares - scaled * line[r], betas - scaled * beta, lost_sums[0], lost_sums[1]


@compiled
def along(problem: Any, state: Any, r: int, m: int, line: Any, yy: float) -> float:
    """D̂(y) − ‖E‖² of y from line[g] = z_g·y over the rows of minibatch m."""
    side, c, c_o, sign = ends(problem, r)
    w, member, means = problem.weight[r], state.inner[m, r], state.first[m] if side == 0 else state.second[m]
    bb, bc = mean_lengths(side, w, state.first[m], state.second[m], state.norms[m], r, member[r])
    to_source, to_target, squares, betas = row_sums(problem.weight, problem.signed, means, member, line, r)
    by, bo = (to_source, to_target) if side == 0 else (to_target, to_source)
    value: float = bare(c, c_o, w, bb, bc, yy, by, bo, sign * squares, sign * betas)
    return value


@compiled
def now(problem: Any, state: Any, r: int, m: int) -> float:
    """D̂ − ‖E‖² of minibatch m as it is."""
    return along(problem, state, r, m, state.inner[m, r], state.inner[m, r, r])


@compiled
def here(problem: Any, state: Any, arranged: Any, r: int, m: int, out: Any) -> None:
    """Minibatch m with each element of row r in turn: the four sums, one run of a Gram line at a time."""
    rows, horizon = arranged.shape
    k, gram, first, w, member = rows // 2, problem.gram, r * horizon, problem.weight[r], state.inner[m, r]
    side, c, c_o, sign = ends(problem, r)
    means = state.first[m] if side == 0 else state.second[m]
    to_source, to_target, squares, betas = np.zeros((4, horizon))
    for g in range(rows):
        if g != r:
            line = gram[arranged[g, m], first : first + horizon]
            s, w_g, mean = sign * problem.signed[g], problem.weight[g], to_source if g < k else to_target
            beta = s * (means[g] - w * member[g])
            for j in range(horizon):
                product = np.float64(line[j])
                mean[j] += w_g * product
                squares[j] += s * product * product
                betas[j] += beta * product
    bb, bc = mean_lengths(side, w, state.first[m], state.second[m], state.norms[m], r, member[r])
    by, bo = (to_source, to_target) if side == 0 else (to_target, to_source)
    base = state.values[m] - now(problem, state, r, m)
    for j in range(horizon):
        yy = np.float64(gram[first + j, first + j])
        out[j] = base + bare(c, c_o, w, bb, bc, yy, by[j], bo[j], squares[j], betas[j])


@compiled
def there(problem: Any, state: Any, arranged: Any, r: int, m: int, start: int, out: Any) -> None:
    """Each minibatch m' ≥ start with the member that row r has in m, gathered along that member's one Gram line."""
    rows, horizon = arranged.shape
    line, products, a = problem.gram[arranged[r, m]], np.empty(rows), arranged[r, m]
    side, c, c_o, sign = ends(problem, r)
    weight, signed, w, aa = problem.weight, problem.signed, problem.weight[r], np.float64(line[a])
    all_means = state.first if side == 0 else state.second
    for other in range(start, horizon):
        for g in range(rows):
            products[g] = line[arranged[g, other]]
        member, first, second = state.inner[other, r], state.first[other], state.second[other]
        norm = member[r]
        bb, bc = mean_lengths(side, w, first, second, state.norms[other], r, norm)
        to_source, to_target, squares, betas, lost_squares, lost_betas = exchange_sums(
            weight, signed, all_means[other], member, products, r
        )
        by, bo = (to_source, to_target) if side == 0 else (to_target, to_source)
        new = bare(c, c_o, w, bb, bc, aa, by, bo, sign * squares, sign * betas)
        by, bo = (first[r] - w * norm, second[r]) if side == 0 else (second[r] - w * norm, first[r])
        old = bare(c, c_o, w, bb, bc, norm, by, bo, sign * lost_squares, sign * lost_betas)
        out[other] = state.values[other] + new - old


@compiled
def replaced(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> float:
    """D̂ of minibatch m with element y in row r, alone."""
    rows, line = arranged.shape[0], problem.gram[y]
    products = np.empty(rows)
    for g in range(rows):
        products[g] = line[arranged[g, m]]
    change = along(problem, state, r, m, products, np.float64(line[y])) - now(problem, state, r, m)
    value: float = state.values[m] + change
    return value


@compiled
def put(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> None:
    """Put element y into row r of minibatch m, and its inner products right; D̂ is the caller's."""
    rows = arranged.shape[0]
    line, member, w = problem.gram[y], state.inner[m, r], problem.weight[r]
    means = state.first[m] if r < rows // 2 else state.second[m]
    for g in range(rows):
        if g != r:
            product = np.float64(line[arranged[g, m]])
            means[g] += w * (product - member[g])
            member[g] = product
            state.inner[m, g, r] = product
    member[r] = np.float64(line[y])
    arranged[r, m] = y
    means_along(problem, state, m, r)
    lengths(problem, state, m)
