"""k-DPP minibatches: a set B of k examples is drawn with a probability proportional to det(L_B).

The determinant is the squared volume that the examples span in feature space, so that likely minibatches are diverse.
No weights undo what this changes: examples that span much come more often, and the minibatch means are biased.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from orda.discrepancies import Discrepancy, Embedding
from orda.discrepancies.mmd import make_kernel
from orda.errors import SettingError
from orda.kernels import Kernel, gram_matrix
from orda.records import Features, IntArray
from orda.samplers.baseline import Baseline, Notes, standardised, view_by
from orda.samplers.kdpp import Spectrum, sample, spectrum_of_features, spectrum_of_gram


@dataclass(frozen=True)
class DPP(Baseline):
    """Exact k-DPP of every minibatch, independent of the other minibatches.

    ``kernel``: the name of a kernel, a ``Kernel``, or a ``Discrepancy`` (its map φ). The linear kernel is
    L = (Z − z̄)(Z − z̄)ᵀ: centred, as neither MMD nor CORAL sees a shift, and the volume should not depend on one.
    ``candidates``: a kernel without an explicit map needs the eigenvectors of its Gram matrix. In a domain with more
    examples than this, every plan takes a fresh uniform subset S of that many, and its minibatches are exact k-DPPs of
    L_S. Averaged over S, P(B) ∝ det(L_B) · E[1/e_k(L_S) | B ⊂ S]: only the last factor is not the k-DPP of all
    examples, and it is nearly the same for all B, as e_k(L_S) is a sum over all k-subsets of S: with 100 candidates of
    400 examples, k = 16 and median gammas, no quarter of the examples came more than 5 % too often or too rarely.
    (Nyström features would serve worse: where the kernel is near a multiple of the identity, as wide mixtures are,
    they give all volume to their landmarks.)

    When L has a rank below k, the limit of L + εI is sampled: see ``kdpp``.
    """

    kernel: Kernel | Discrepancy | str = "linear"
    candidates: int = 2000
    name: ClassVar[str] = "dpp"
    unbiased: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.candidates, bool) or not isinstance(self.candidates, int) or self.candidates < 1:
            raise SettingError(
                "candidates must be an integer of at least 1", repr(self.candidates), "The default is 2000"
            )
        if not isinstance(self.kernel, Discrepancy):
            object.__setattr__(self, "kernel", make_kernel(self.kernel))

    def view(self, features: Features) -> Embedding:
        assert not isinstance(self.kernel, str)
        return view_by(self.kernel, features)

    def draw(
        self, kernel: Kernel, x: Tensor, batch_size: int, horizon: int, rng: np.random.Generator
    ) -> tuple[IntArray, Notes]:
        candidates, spectrum = self._spectrum(kernel, x, batch_size, rng)
        index = candidates[sample(spectrum, batch_size, horizon, rng)]
        return index, {"candidates": len(candidates), "rank": len(spectrum.values)}

    def _spectrum(
        self, kernel: Kernel, x: Tensor, batch_size: int, rng: np.random.Generator
    ) -> tuple[IntArray, Spectrum]:
        """The examples that minibatches are drawn from, and the spectrum of their kernel."""
        everyone = np.arange(len(x))
        if kernel.explicit(x[:1]) is not None:
            phi = kernel.explicit(standardised(x))  # a common factor of L changes nothing
            assert phi is not None
            return everyone, spectrum_of_features(phi)
        limit = max(self.candidates, batch_size)
        chosen = everyone if len(x) <= limit else np.sort(rng.choice(len(x), limit, replace=False))
        points = x[torch.from_numpy(chosen).to(x.device)].detach().double()
        return chosen, spectrum_of_gram(gram_matrix(kernel, points))
