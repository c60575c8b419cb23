"""tr C_0² without bias from one minibatch: U-statistics over pairs, triples and quadruples, in O(k²) from Gram entries.

Three invariants of k examples, S their sample covariance and a_i = x_i − x̄:

    I_k = ( tr S²,  (tr S)²,  Q ),     Q = Σ_i ‖a_i‖⁴ / (k − 1)

For independent draws from a distribution with covariance Σ, and θ = (tr Σ², (tr Σ)², E‖x − μ‖⁴), E I_k = G_k θ with

    G_k = ⎡ 1 − 2/k + 1/(k−1)    1/(k−1) − 1/k    1/k ⎤      from  E S_ab S_cd = Σ_ab Σ_cd + κ_abcd/k
          ⎢ 2/(k−1) − 2/k        1 − 1/k          1/k ⎥                          + (Σ_ac Σ_bd + Σ_ad Σ_bc)/(k−1),
          ⎣ 2β                   β                α   ⎦      κ_abcd the fourth cumulants

    α = k/(k−1) ((1 − 1/k)⁴ + (k−1)/k⁴),    β = k/(k−1) (1 − 1/k)² − α

(the last row: a_i is a sum of independent terms with coefficients 1 − 1/k and −1/k). So U_k = G_k⁻¹ I_k is unbiased for
θ; it is a mean over all pairs, triples and quadruples of different indices. Such means are inherited: of k distinct
draws from N examples, E U_k = U_N. Hence, for the N examples themselves, whose C_0 has the divisor N − 1,

    independent draws    E (N/(N−1))² (U_k)_1 = tr C_0²
    distinct draws       E (G_N U_k)_1 = (I_N)_1 = tr C_0²

both of them exactly. A quadruple needs k ≥ 4.
"""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch import Tensor

from orda.devices import constant
from orda.records import FloatArray


def expected_invariants(k: int) -> FloatArray:
    """G_k (3, 3)."""
    pair, alpha = 1 / (k - 1), k / (k - 1) * ((1 - 1 / k) ** 4 + (k - 1) / k**4)
    beta = (k - 1) / k - alpha
    return np.array([
        [1 - 2 / k + pair, pair - 1 / k, 1 / k],
        [2 * pair - 2 / k, 1 - 1 / k, 1 / k],
        [2 * beta, beta, alpha],
    ])  # fmt: skip


@functools.cache
def inverse_invariants(k: int) -> tuple[float, ...]:
    """G_k⁻¹, row after row."""
    return tuple(np.linalg.inv(expected_invariants(k)).ravel().tolist())


def squared_covariance(x: Tensor, own: Tensor) -> Tensor:
    """(G_N G_k⁻¹ I_k)_1 of x (..., k, d), with 1/N = ``own`` (...); own = 0 is N → ∞, where G_N is the identity."""
    k = x.shape[-2]
    a = x - x.mean(-2, keepdim=True)
    norms = a.square().sum(-1)
    invariants = torch.stack(
        [
            inner_squares(a, a) / (k - 1) ** 2,
            (norms.sum(-1) / (k - 1)).square(),
            norms.square().sum(-1) / (k - 1),
        ],
        -1,
    )
    pair = own / (1 - own)
    row = torch.stack([1 - 2 * own + pair, pair - own, own], -1)
    solved = row @ constant(inverse_invariants(k), row.device, row.dtype).view(3, 3)
    return (solved * invariants).sum(-1)


def covariance_product(x: Tensor, y: Tensor) -> Tensor:
    """tr S_x S_y of the sample covariances: unbiased, since the two domains are drawn independently."""
    a, b = x - x.mean(-2, keepdim=True), y - y.mean(-2, keepdim=True)
    return inner_squares(a, b) / ((x.shape[-2] - 1) * (y.shape[-2] - 1))


def inner_squares(a: Tensor, b: Tensor) -> Tensor:
    """Σ_ij (a_i·b_j)²."""
    return (a @ b.mT).square().sum((-2, -1))
