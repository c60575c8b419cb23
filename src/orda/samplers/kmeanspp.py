"""k-means++ minibatches: plain D² sampling, one minibatch at a time.

    first example: uniform;    next: i with probability D_i / Σ_j D_j,    D_i = min over the chosen c of ‖z_i − z_c‖²

There are no local trials (which would make the draw greedy) and no weights: far examples come more often than others,
so the minibatch means are biased towards them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from orda.kernels import Kernel, block_rows, slices
from orda.records import FloatArray, IntArray
from orda.samplers.baseline import Baseline, Notes, standardised

BLOCK = 2048  # examples whose distances are computed, and summed, at a time


@dataclass(frozen=True)
class KMeansPlusPlus(Baseline):
    """D² sampling of every minibatch, from all examples of the domain; O(n k d) a minibatch.

    Once every example left is a copy of one that was chosen, the others are drawn uniformly from those not yet chosen.
    """

    name: ClassVar[str] = "kmeans++"
    unbiased: ClassVar[bool] = False

    def draw(
        self, kernel: Kernel, x: Tensor, batch_size: int, horizon: int, rng: np.random.Generator
    ) -> tuple[IntArray, Notes]:
        del kernel
        points = standardised(x)  # neither a shift nor a scale changes D_i / Σ_j D_j
        uniforms = rng.random((horizon, batch_size))
        rows = block_rows(len(x), points.element_size())  # minibatches at a time: one (rows, n) array of distances
        return np.concatenate([d2_picks(points, uniforms[some]) for some in slices(horizon, rows)]), {}


def d2_picks(points: Tensor, uniforms: FloatArray) -> IntArray:
    """D² sampling of several minibatches in step: from uniform numbers (m, k), the picks (m, k).

    One matrix product a step gives the distances of all examples to the m newest picks.
    """
    (n, d), (m, k) = points.shape, uniforms.shape
    size = min(n, BLOCK)
    nearest = points.new_zeros(m, -(-n // size), size)  # D, in blocks of examples; what pads the last block stays 0
    nearest.view(m, -1)[:, :n] = torch.inf
    # ‖z‖² + ‖c‖² − 2 z·c is wrong by up to d·ε·(‖z‖² + ‖c‖²): that much is taken off, so that copies are at distance 0
    norms = points.square().sum(1) * (1 - (d + 8) * torch.finfo(points.dtype).eps)
    picks = np.empty((m, k), dtype=np.int64)
    picks[:, 0] = np.minimum(uniforms[:, 0] * n, n - 1)
    for j in range(1, k):
        masses = _approach(nearest, points, norms, torch.from_numpy(picks[:, j - 1]).to(points.device))
        picks[:, j] = _inverse_cdf(nearest, masses, uniforms[:, j])
        for row in np.flatnonzero(masses.sum(1) <= 0):
            picks[row, j] = _unchosen(picks[row, :j], n, uniforms[row, j])
    return picks


def _approach(nearest: Tensor, points: Tensor, norms: Tensor, newest: Tensor) -> FloatArray:
    """Lower D (m, blocks, size) by the distances to the newest picks (m,); the sums of its blocks (m, blocks)."""
    centres, centre_norms, zero = points[newest], norms[newest, None], norms.new_zeros(())
    for block, some in enumerate(slices(len(points), nearest.shape[2])):
        squared = torch.addmm(norms[some], centres, points[some].mT, alpha=-2).add_(centre_norms)
        view = nearest[:, block, : squared.shape[1]]
        torch.clamp(squared, zero, view, out=view)
    masses: FloatArray = nearest.sum(2).cpu().numpy()
    return masses


def _inverse_cdf(nearest: Tensor, masses: FloatArray, uniforms: FloatArray) -> IntArray:
    """For each row the first example at which the running sum of D exceeds u·ΣD: first its block, then inside it."""
    rows = np.arange(len(masses))
    block, aim = _first_above(masses, uniforms * masses.sum(1))
    inside = nearest[torch.from_numpy(rows).to(nearest.device), torch.from_numpy(block).to(nearest.device)]
    column, _ = _first_above(inside.cpu().numpy(), aim)
    return block * nearest.shape[2] + column


def _first_above(masses: FloatArray, aim: FloatArray) -> tuple[IntArray, FloatArray]:
    """The first position of each row whose running sum exceeds aim, and how far into its mass aim falls.

    Rounding may push aim past the last sum: the last position with a positive mass is taken then.
    """
    running = masses.cumsum(1)
    position = np.minimum((running <= aim[:, None]).sum(1), (running < running[:, -1:]).sum(1))
    rows = np.arange(len(masses))
    before = np.where(position > 0, running[rows, position - 1], 0.0)
    return position, np.maximum(aim - before, 0.0)


def _unchosen(chosen: IntArray, n: int, u: float) -> int:
    """A uniform draw from 0..n−1 without the chosen."""
    pick = min(int(u * (n - len(chosen))), n - len(chosen) - 1)
    for taken in np.sort(chosen):
        pick += int(pick >= taken)
    return pick
