"""Made-up domains. Float64, so that estimates far below single precision can be told apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from orda.records import Features, FloatArray, IntArray


def normal(rng: np.random.Generator, n: int, d: int) -> Features:
    """Source and target are n standard normal points each: the paper's simulations, where the true discrepancy is 0."""
    return features(rng.normal(size=(n, d)), rng.normal(size=(n, d)))


@dataclass(frozen=True, slots=True)
class Labelled:
    """Features and the cluster of every example."""

    features: Features
    source: IntArray  # (n_s,)
    target: IntArray  # (n_t,)


def clustered(
    rng: np.random.Generator,
    n_source: int,
    n_target: int,
    d: int,
    *,
    clusters: int = 10,
    noise: float = 0.5,
    shift: float = 0.3,
) -> Features:
    """Two domains over the same clusters, of unequal sizes, unlike in the two domains.

    Centres are N(0, I), points lie about them with a standard deviation of ``noise``, and the target's clusters are all
    displaced by one vector of length about ``shift``·√d. In the source cluster c has a share ∝ 1/c, in the target
    the shares run the other way round.
    """
    return labelled(rng, n_source, n_target, d, clusters=clusters, noise=noise, shift=shift).features


def labelled(
    rng: np.random.Generator,
    n_source: int,
    n_target: int,
    d: int,
    *,
    clusters: int = 10,
    noise: float = 0.5,
    shift: float = 0.3,
    skew: float = 1.0,
) -> Labelled:
    """The same with labels; shares ∝ c^(−skew): with ``skew`` 0 all clusters are as large in both domains."""
    centres = rng.normal(size=(clusters, d))
    share = np.arange(1, clusters + 1) ** -skew
    share /= share.sum()
    move = shift * rng.normal(size=d)
    of_source = rng.choice(clusters, n_source, p=share)
    source = centres[of_source] + noise * rng.normal(size=(n_source, d))
    of_target = rng.choice(clusters, n_target, p=share[::-1])
    target = centres[of_target] + move + noise * rng.normal(size=(n_target, d))
    return Labelled(features(source, target), of_source, of_target)


def smooth_field(rng: np.random.Generator, z: FloatArray, waves: int = 64) -> Callable[[FloatArray], FloatArray]:
    """A smooth random map g: R^d → R^d by random Fourier features, in the scale of the points z (n, d).

        g(z) = c Σ_f a_f cos(ω_f·z + b_f),    a_f ~ N(0, I),  ω_f ~ N(0, I/ℓ²),  b_f uniform

    ℓ² is the mean squared distance of z from its mean: g changes over distances like those between clusters. c makes
    the mean of ‖g(z)‖² equal to ℓ², so that s·g(z) moves points by the part s of the data's spread.
    """
    d = z.shape[1]
    spread = float(np.sqrt(np.square(z - z.mean(0)).sum(1).mean()))
    frequency = rng.normal(size=(d, waves)) / spread
    phase = rng.uniform(0, 2 * np.pi, size=waves)
    amplitude = rng.normal(size=(waves, d))

    def raw(points: FloatArray) -> FloatArray:
        moved: FloatArray = np.cos(points @ frequency + phase) @ amplitude
        return moved

    scale = spread / float(np.sqrt(np.square(raw(z)).sum(1).mean()))
    return lambda points: scale * raw(points)


def features(source: FloatArray, target: FloatArray) -> Features:
    return Features(torch.from_numpy(source), torch.from_numpy(target))
