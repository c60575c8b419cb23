"""Exact samples of a k-DPP from the spectrum of its kernel.

A k-DPP with the positive semi-definite kernel L = Σ_e λ_e v_e v_eᵀ (n × n, rank r) draws k of n examples,

    P(B) = det(L_B) / e_k(λ),        e_k(λ) = Σ_{|J| = k} Π_{e ∈ J} λ_e        (elementary symmetric polynomial)

in two steps:

1. k eigenvectors J with P(J) = Π_{e ∈ J} λ_e / e_k(λ), from the table of all e_l(λ_1..λ_m), kept as logarithms.
2. B given J has P(B) = det(V_BJ)². Its examples come one at a time: with q the orthonormalised rows chosen so far,
   the next is i with a probability proportional to what of its row v_i (k numbers) they leave over,

       ρ_i = ‖v_i‖² − Σ_q ⟨q, v_i⟩².

   Instead of computing all n of them, candidates with probability ‖v_i‖²/k are accepted with probability ρ_i/‖v_i‖².
   The j-th choice accepts a share (k − j + 1)/k of its candidates, so that a sample looks at k(1 + 1/2 + … + 1/k) of
   them, O(k²) each, however large n is. And a candidate is found by bisection: choose one column of V_J (their masses
   are 1), then a row in proportion to the squares in that column.

Where r < k every det(L_B) is zero. The sampler then draws from the limit of the k-DPP of L + εI as ε → 0,

    P(B) ∝ e_r(L_B) = Σ_{A ⊂ B, |A| = r} det(L_A):        an r-DPP A, completed uniformly from the other examples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from orda.compiled import compiled
from orda.errors import FeatureError
from orda.records import FloatArray, IntArray

ROWS = 64  # rows to a block: only the running masses of blocks are stored


@dataclass(frozen=True)
class Spectrum:
    """The positive eigenvalues of a positive semi-definite kernel and their eigenvectors."""

    values: FloatArray  # (r,) descending
    vectors: FloatArray  # (n, r) orthonormal columns


def spectrum_of_gram(gram: Tensor) -> Spectrum:
    """From the kernel matrix L (n, n) itself: O(n³)."""
    if not bool(torch.isfinite(gram).all()):
        raise FeatureError("kernel values must be finite", "NaN or infinities", "Scale the features down")
    return _spectrum(*_eigh(gram))


def spectrum_of_features(phi: Tensor) -> Spectrum:
    """Of L = ΦΦᵀ, from Φ (n, d): through the dual ΦᵀΦ = U Λ Uᵀ where d < n, as V = Φ U Λ^(−1/2); O(nd² + d³)."""
    n, d = phi.shape
    if n <= d:
        return spectrum_of_gram(phi @ phi.mT)
    values, inner = _eigh(phi.mT @ phi, n)
    vectors = phi @ (inner / values.sqrt())
    if len(values) and values[-1] < 1e-6 * values[0]:
        vectors = torch.linalg.qr(vectors).Q  # division by a small √λ has cost them their orthogonality
    return _spectrum(values, vectors)


def _eigh(matrix: Tensor, n: int = 0) -> tuple[Tensor, Tensor]:
    """The eigenvalues above rounding error (of n terms), descending, and their eigenvectors."""
    values, vectors = torch.linalg.eigh(matrix)
    error = max(n, len(values)) * torch.finfo(values.dtype).eps * float(values[-1])
    positive = values > max(error, 0.0)
    return values[positive].flip(0), vectors[:, positive].flip(1)


def _spectrum(values: Tensor, vectors: Tensor) -> Spectrum:
    return Spectrum(values.cpu().numpy(), np.ascontiguousarray(vectors.cpu().numpy()))


def sample(spectrum: Spectrum, k: int, count: int, rng: np.random.Generator) -> IntArray:
    """``count`` independent samples of k examples: (count, k)."""
    n, rank = spectrum.vectors.shape
    drawn = np.empty((count, min(k, rank)), dtype=np.int64)
    if rank:
        logs = np.log(spectrum.values / spectrum.values[0])
        table = log_elementary(logs, drawn.shape[1])
        _sample_all(logs, table, spectrum.vectors, _running_masses(spectrum.vectors), rng, drawn)
    if rank >= k:
        return drawn
    everyone = np.arange(n)
    rest = [rng.choice(np.delete(everyone, row), k - rank, replace=False) for row in drawn]
    return np.concatenate([drawn, np.stack(rest)], axis=1)


def _running_masses(vectors: FloatArray) -> FloatArray:
    """(blocks, r): Σ v² of every column over the rows up to the end of each block."""
    n, rank = vectors.shape
    sums = [np.square(vectors[start : start + ROWS]).sum(0) for start in range(0, n, ROWS)]
    return np.cumsum(np.reshape(sums, (-1, rank)), axis=0)


@compiled
def log_elementary(logs: FloatArray, k: int) -> FloatArray:
    """(k + 1, r + 1): log e_l(λ_1..λ_m) at [l, m], by e_l(λ_1..λ_m) = e_l(λ_1..λ_{m−1}) + λ_m e_{l−1}(λ_1..λ_{m−1})."""
    table = np.full((k + 1, len(logs) + 1), -np.inf)
    table[0, :] = 0.0
    for size in range(1, k + 1):
        for m in range(size, len(logs) + 1):
            without, with_m = table[size, m - 1], logs[m - 1] + table[size - 1, m - 1]
            larger = max(without, with_m)
            table[size, m] = larger + np.log1p(np.exp(min(without, with_m) - larger))
    return table


@compiled
def choose_vectors(logs: FloatArray, table: FloatArray, rng: np.random.Generator, chosen: IntArray) -> None:
    """Step 1: eigenvector m is in J with probability λ_m e_{l−1}(λ_1..λ_{m−1}) / e_l(λ_1..λ_m), l still to choose."""
    left = len(chosen)
    for m in range(len(logs), 0, -1):
        if left == 0:
            break
        if np.log(rng.random()) < logs[m - 1] + table[left - 1, m - 1] - table[left, m]:
            left -= 1
            chosen[left] = m - 1


@compiled
def _candidate(vectors: FloatArray, running: FloatArray, column: int, u: float) -> int:
    """The row at which the running sum of a column's squares exceeds u times the whole; −1 if rounding hides it."""
    aim = u * running[-1, column]
    low, high = 0, len(running) - 1
    while low < high:
        middle = (low + high) // 2
        if running[middle, column] > aim:
            high = middle
        else:
            low = middle + 1
    total = running[low - 1, column] if low > 0 else 0.0
    for row in range(low * ROWS, min((low + 1) * ROWS, len(vectors))):
        total += vectors[row, column] ** 2
        if total > aim:
            return row
    return -1


@compiled
def choose_rows(
    vectors: FloatArray, running: FloatArray, columns: IntArray, rng: np.random.Generator, drawn: IntArray
) -> None:
    """Step 2: the projection DPP onto the span of the given columns."""
    k = len(columns)
    basis = np.zeros((k, k))  # basis[:, j] is the j-th q; this way round the inner loops run along memory
    row, along = np.empty(k), np.empty(k)
    j = 0
    while j < k:
        i = _candidate(vectors, running, columns[min(int(rng.random() * k), k - 1)], rng.random())
        if i < 0:
            continue
        mass = 0.0
        along[:j] = 0.0
        for a in range(k):
            row[a] = vectors[i, columns[a]]
            mass += row[a] * row[a]
            for q in range(j):
                along[q] += row[a] * basis[a, q]
        left = mass
        for q in range(j):
            left -= along[q] * along[q]
        if not rng.random() * mass < left:
            continue
        for _ in range(2):  # Gram-Schmidt, twice: once leaves errors when little of the row is left over
            along[:j] = 0.0
            for a in range(k):
                for q in range(j):
                    along[q] += row[a] * basis[a, q]
            for a in range(k):
                for q in range(j):
                    row[a] -= along[q] * basis[a, q]
        basis[:, j] = row / np.sqrt(np.sum(row * row))
        drawn[j] = i
        j += 1


@compiled
def _sample_all(
    logs: FloatArray,
    table: FloatArray,
    vectors: FloatArray,
    running: FloatArray,
    rng: np.random.Generator,
    drawn: IntArray,
) -> None:
    columns = np.empty(drawn.shape[1], dtype=np.int64)
    for sample in range(len(drawn)):
        choose_vectors(logs, table, rng, columns)
        choose_rows(vectors, running, columns, rng, drawn[sample])
