"""The primitive for D̂ = ‖Ĉ_s − Ĉ_t‖²_F with batch-centred covariances: CORAL, from inner products.

Take row r's side. Over its *other* rows A = Σ w_g z_g z_gᵀ and b = Σ w_g z_g; c = n/(n−1); w = w_r, q = w − w²;
E = c(A − b bᵀ) − Ĉ_other. Then with y in row r's place Ĉ = c(A + w yyᵀ − (b + wy)(b + wy)ᵀ), so

    D̂(y) = ‖E‖² + 2c(q yᵀEy − 2w bᵀEy) + c²(q²‖y‖⁴ + 2w²(‖b‖²‖y‖² + (b·y)²) − 4wq‖y‖²(b·y))

and with sums over rows g ≠ r (β_g = b·z_g, b' the other side's mean, s_g = c w_g on this side and −c' w_g on the other)

    b·y   = Σ_{g here} w_g z_g·y                      yᵀEy = Σ_g s_g (z_g·y)² − c(b·y)² + c'(b'·y)²
    b'·y  = Σ_{g other} w_g z_g·y                     bᵀEy = Σ_g s_g β_g (z_g·y) − c‖b‖²(b·y) + c'(b·b')(b'·y)

Only differences of D̂(y) are ever needed, so ‖E‖² is not; and four sums over the rows give the rest, O(R) a pair. No
field can be kept as for MMD: β_g changes for all g with every member of the minibatch.

The state keeps the inner products of each minibatch's members (``inner[g, h, m]``), of its two means with them
(``means[0, g, m]`` = b_s·z_g, ``means[1, g, m]`` = b_t·z_g) and of the means (``norms[:, m]``: ‖b_s‖², ‖b_t‖²,
b_s·b_t). Minibatches come last, so that loops over them are vectorised. Rows 0..k−1 are the source's, k..2k−1 the
target's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orda.compiled import compiled, compiled_sums


@compiled
def prepare(problem: Any, state: Any, arranged: Any) -> None:
    """Inner products of members and means, and D̂, from their definitions."""
    rows, horizon = arranged.shape
    line, means, norms = np.empty(rows), np.empty((2, rows)), np.empty(3)
    for m in range(horizon):
        for g in range(rows):
            for h in range(rows):
                product = problem.gram[arranged[g, m], arranged[h, m]]
                line[h], state.inner[g, h, m] = product, product
            means_along(problem.weight, line, means, g)
        lengths(problem.weight, means, norms)
        state.means[:, :, m], state.norms[:, m] = means, norms
    measure(problem, arranged, state.values)


@compiled
def means_along(weight: Any, line: Any, means: Any, g: int) -> None:
    """b_s·z_g and b_t·z_g from the inner products of z_g."""
    k = len(weight) // 2
    means[0, g], means[1, g] = dot(weight[:k], line[:k]), dot(weight[k:], line[k:])


@compiled
def lengths(weight: Any, means: Any, norms: Any) -> None:
    """‖b_s‖², ‖b_t‖² and b_s·b_t."""
    k = len(weight) // 2
    norms[0], norms[1] = dot(weight[:k], means[0, :k]), dot(weight[k:], means[1, k:])
    norms[2] = dot(weight[:k], means[1, :k])


@compiled_sums
def dot(x: Any, y: Any) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@compiled_sums
def measure(problem: Any, arranged: Any, values: Any) -> None:
    """‖Ĉ_s‖² + ‖Ĉ_t‖² − 2⟨Ĉ_s, Ĉ_t⟩ = Σ_gh s_g s_h (a_g·a_h)² of every minibatch from its definition alone.

    Here s = ``signed`` and a_g is z_g about the mean of its own side: a_g·a_h = z_g·z_h − b_h·z_g − b_g·z_h + b_g·b_h.
    """
    rows, horizon = arranged.shape
    k, gram, weight, signed = rows // 2, problem.gram, problem.weight, problem.signed
    products, means, norms = np.empty((rows, rows)), np.empty((2, rows)), np.empty(3)
    for m in range(horizon):
        members = arranged[:, m].copy()
        for g in range(rows):
            line = gram[members[g]]
            for h in range(rows):
                products[g, h] = line[members[h]]
            means_along(weight, products[g], means, g)
        lengths(weight, means, norms)
        total = 0.0
        for g in range(rows):
            own = 0 if g < k else 1
            to_source, to_target = norms[2 * own] - means[0, g], norms[2 - own] - means[1, g]
            part = 0.0
            for h in range(k):
                part += signed[h] * (products[g, h] - means[own, h] + to_source) ** 2
            for h in range(k, rows):
                part += signed[h] * (products[g, h] - means[own, h] + to_target) ** 2
            total += signed[g] * part
        values[m] = total


@compiled
def other_rows(problem: Any, r: int) -> tuple[int, float, float, Any, Any]:
    """Row r's side (0 or 1), c there and c' on the other, and w_g and s_g of the other rows (0 for r itself)."""
    side = 0 if r < len(problem.weight) // 2 else 1
    weight, s = problem.weight.copy(), (1.0 - 2.0 * side) * problem.signed
    weight[r], s[r] = 0.0, 0.0
    return side, problem.correction[side], problem.correction[1 - side], weight, s


@compiled
def beyond(
    c: float, c_o: float, w: float, bb: float, bc: float, yy: float, by: float, bo: float, squares: float, betas: float
) -> float:
    """D̂(y) − ‖E‖², from ‖b‖², b·b', ‖y‖², b·y, b'·y, Σ s_g (z_g·y)² and Σ s_g β_g (z_g·y)."""
    q = w - w * w
    yey = squares - c * by * by + c_o * bo * bo
    bey = betas - c * bb * by + c_o * bc * bo
    quartic = q * q * yy * yy + 2 * w * w * (bb * yy + by * by) - 4 * w * q * yy * by
    return 2 * c * (q * yey - 2 * w * bey) + c * c * quartic


@compiled
def every_minibatch(state: Any, r: int) -> tuple[Any, Any, Any, Any]:
    """What the state says of row r's members, of both means with all members, of norms and D̂."""
    return state.inner[r], state.means, state.norms, state.values


@compiled
def one_minibatch(state: Any, r: int, m: int) -> tuple[Any, Any, Any, Any]:
    one = slice(m, m + 1)
    return state.inner[r, :, one], state.means[:, :, one], state.norms[:, one], state.values[one]


@compiled
def without(problem: Any, r: int, now: Any, beta: Any, known: Any) -> None:
    """What does not hang on y, of the minibatches as they are ``now``: beta[g] = s_g β_g; known = ‖E‖², ‖b‖², b·b'."""
    (side, c, c_o, _, s), w = other_rows(problem, r), problem.weight[r]
    (member, means, norms, values), lost = now, np.zeros(known.shape)
    member_sums(s, w, member, means[side], beta, lost)
    for m in range(known.shape[1]):
        own, other, norm = means[side, r, m], means[1 - side, r, m], float(member[r, m])
        bb, bc = norms[side, m] - 2 * w * own + w * w * norm, norms[2, m] - w * other
        there = beyond(c, c_o, w, bb, bc, norm, own - w * norm, other, lost[0, m], lost[1, m])
        known[0, m], known[1, m], known[2, m] = values[m] - there, bb, bc


@compiled_sums
def member_sums(s: Any, w: float, member: Any, means: Any, beta: Any, lost: Any) -> None:
    """beta[g] = s_g β_g; lost = Σ_g s_g (z_g·x)² and Σ_g s_g β_g (z_g·x) of the member x that is there now."""
    rows, horizon = member.shape
    for g in range(rows):
        for m in range(horizon):  # three short loops instead of one: each is vectorised
            beta[g, m] = s[g] * (means[g, m] - w * member[g, m])
        for m in range(horizon):
            lost[0, m] += s[g] * member[g, m] * member[g, m]
        for m in range(horizon):
            lost[1, m] += beta[g, m] * member[g, m]


@compiled_sums
def line_sums(line: Any, arranged: Any, start: int, weight: Any, s: Any, beta: Any, sums: Any) -> None:
    """With p = z_g·y along y's Gram line, over all g: Σ w_g p of the source and of the target, Σ s_g p², Σ s_g β_g p.

    Right for minibatches m ≥ start. The sums run over all of them: whole vectors are faster than fewer numbers.
    """
    rows, horizon = arranged.shape
    p = np.zeros(horizon)
    sums[:] = 0.0
    for g in range(rows):
        side = 0 if g < rows // 2 else 1
        for m in range(start, horizon):
            p[m] = line[arranged[g, m]]
        for m in range(horizon):
            sums[side, m] += weight[g] * p[m]
        for m in range(horizon):
            sums[2, m] += s[g] * p[m] * p[m]
        for m in range(horizon):
            sums[3, m] += beta[g, m] * p[m]


@compiled
def here(problem: Any, state: Any, arranged: Any, r: int, m: int, out: Any) -> None:
    """Minibatch m with each element of row r in turn: the four sums of a whole row, several Gram lines at a time."""
    rows, horizon = arranged.shape
    k, gram, w, first, members = rows // 2, problem.gram, problem.weight[r], r * horizon, arranged[:, m].copy()
    side, c, c_o, weight, s = other_rows(problem, r)
    beta, known, sums = np.empty((rows, 1)), np.empty((3, 1)), np.zeros((4, horizon))
    without(problem, r, one_minibatch(state, r, m), beta, known)
    add_runs(gram, members[:k], first, weight[:k], s[:k], beta[:k, 0], sums[side], sums[2], sums[3])
    add_runs(gram, members[k:], first, weight[k:], s[k:], beta[k:, 0], sums[1 - side], sums[2], sums[3])
    for j in range(horizon):
        yy = float(gram[first + j, first + j])
        at = beyond(c, c_o, w, known[1, 0], known[2, 0], yy, sums[0, j], sums[1, j], sums[2, j], sums[3, j])
        out[j] = known[0, 0] + at


@compiled_sums
def add_runs(
    gram: Any, members: Any, first: int, weight: Any, s: Any, beta: Any, mean: Any, squares: Any, betas: Any
) -> None:
    """With p = z_g·y_j: mean[j] += Σ_g w_g p, squares[j] += Σ_g s_g p², betas[j] += Σ_g s_g β_g p, g over the members.

    Four runs at a time: they are far apart in memory, and one wait serves all.
    """
    end = first + len(mean)
    for g in range(0, len(members) - 3, 4):
        one, two = gram[members[g], first:end], gram[members[g + 1], first:end]
        three, four = gram[members[g + 2], first:end], gram[members[g + 3], first:end]
        for j in range(len(mean)):
            a, b, c, d = float(one[j]), float(two[j]), float(three[j]), float(four[j])
            mean[j] += weight[g] * a + weight[g + 1] * b + weight[g + 2] * c + weight[g + 3] * d
            squares[j] += s[g] * a * a + s[g + 1] * b * b + s[g + 2] * c * c + s[g + 3] * d * d
            betas[j] += beta[g] * a + beta[g + 1] * b + beta[g + 2] * c + beta[g + 3] * d
    for g in range(len(members) - len(members) % 4, len(members)):
        one = gram[members[g], first:end]
        for j in range(len(mean)):
            a = float(one[j])
            mean[j] += weight[g] * a
            squares[j] += s[g] * a * a
            betas[j] += beta[g] * a


@compiled
def there(problem: Any, state: Any, arranged: Any, r: int, y: int, start: int, out: Any) -> None:
    """Each minibatch m ≥ start with element y of row r, along that element's one Gram line."""
    horizon = arranged.shape[1]
    beta, known, sums = np.empty(arranged.shape), np.empty((3, horizon)), np.empty((4, horizon))
    without(problem, r, every_minibatch(state, r), beta, known)
    along(problem, arranged, r, y, start, beta, known, sums, out)


@compiled
def along(problem: Any, arranged: Any, r: int, y: int, start: int, beta: Any, known: Any, sums: Any, out: Any) -> None:
    """out[m] = D̂ with element y of row r, from what ``without`` gives."""
    line, w, (side, c, c_o, weight, s) = problem.gram[y], problem.weight[r], other_rows(problem, r)
    yy, own, other = float(line[y]), side, 1 - side
    line_sums(line, arranged, start, weight, s, beta, sums)
    for m in range(start, len(out)):
        at = beyond(c, c_o, w, known[1, m], known[2, m], yy, sums[own, m], sums[other, m], sums[2, m], sums[3, m])
        out[m] = known[0, m] + at


@compiled
def everywhere(problem: Any, state: Any, arranged: Any, r: int, out: Any) -> None:
    """Each minibatch with each element of row r: ``there`` for one element after another."""
    horizon = arranged.shape[1]
    beta, known, sums = np.empty(arranged.shape), np.empty((3, horizon)), np.empty((4, horizon))
    column = np.empty(horizon)
    without(problem, r, every_minibatch(state, r), beta, known)
    for j in range(horizon):
        along(problem, arranged, r, r * horizon + j, 0, beta, known, sums, column)
        out[:, j] = column


@compiled
def replaced(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> float:
    """Minibatch m with element y of row r."""
    beta, known, sums, out = np.empty((len(arranged), 1)), np.empty((3, 1)), np.empty((4, 1)), np.empty(1)
    without(problem, r, one_minibatch(state, r, m), beta, known)
    along(problem, arranged[:, m : m + 1], r, y, 0, beta, known, sums, out)
    value: float = out[0]
    return value


@compiled
def put(problem: Any, state: Any, arranged: Any, r: int, m: int, y: int) -> None:
    """Put element y into row r of minibatch m, and its inner products right; D̂ is the caller's."""
    rows, line, inner, weight = arranged.shape[0], problem.gram[y], state.inner, problem.weight
    side, products, means, norms = 0 if r < rows // 2 else 1, np.empty(rows), np.empty((2, rows)), np.empty(3)
    arranged[r, m] = y
    for g in range(rows):
        product = line[arranged[g, m]]
        state.means[side, g, m] += weight[r] * (float(product) - float(inner[r, g, m]))
        products[g], inner[r, g, m], inner[g, r, m] = product, product, product
    means[:] = state.means[:, :, m]
    means_along(weight, products, means, r)
    lengths(weight, means, norms)
    state.means[:, r, m], state.norms[:, m] = means[:, r], norms
