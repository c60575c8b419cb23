"""Random Fourier features of the RBF mixture.

    ψ(z) = ( m_γ^(−1/2) cos ω·z, m_γ^(−1/2) sin ω·z ),       ω_1, …, ω_{m_γ} ~ N(0, 2γ I)  for every γ of the mixture

E ⟨ψ(z), ψ(z')⟩ = Σ_γ exp(−γ‖z − z'‖²), since E cos ω·δ = exp(−γ‖δ‖²); the error falls with m^(−1/2) whatever the data
are. ⟨ψ(z), ψ(z)⟩ is κ(z, z) exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from orda.approximations.base import FeatureMap
from orda.errors import SettingError
from orda.kernels import Kernel, RBFMixture


@dataclass(frozen=True, eq=False)
class FourierMap(FeatureMap):
    """ψ by frequencies ω (d, m), of which each stands for ``amplitude``² (m,) of the kernel."""

    frequencies: Tensor
    amplitude: Tensor
    name: ClassVar[str] = "fourier"

    @property
    def rank(self) -> int:
        return 2 * int(self.frequencies.shape[1])

    def __call__(self, x: Tensor) -> Tensor:
        angle = x @ self.frequencies
        return torch.cat([self.amplitude * angle.cos(), self.amplitude * angle.sin()], -1)


def fourier_map(kernel: Kernel, points: Tensor, rank: int, rng: np.random.Generator) -> FourierMap:
    """``rank`` / 2 frequencies, shared out evenly among the γ; of ``points`` only d, dtype and device count."""
    if not isinstance(kernel, RBFMixture) or isinstance(kernel.gammas, str):
        raise SettingError(
            "Fourier features are those of an RBF mixture with its gammas fixed", repr(kernel), 'Use "nystroem"'
        )
    gammas = sorted(kernel.gammas)
    if rank < 2 * len(gammas):
        raise SettingError(
            f"Fourier features of {len(gammas)} gammas need a rank of {2 * len(gammas)} or more", rank, "Raise rank"
        )
    shares = [len(part) for part in np.array_split(np.arange(rank // 2), len(gammas))]
    frequencies = np.concatenate(
        [
            np.sqrt(2 * gamma) * rng.standard_normal((share, points.shape[1]))
            for gamma, share in zip(gammas, shares, strict=True)
        ]
    )
    amplitude = np.concatenate([np.full(share, share**-0.5) for share in shares])
    return FourierMap(torch.from_numpy(frequencies.T.copy()).to(points), torch.from_numpy(amplitude).to(points))
