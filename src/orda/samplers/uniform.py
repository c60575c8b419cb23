"""Uniform random minibatches: what training without any sampler does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from orda.errors import SettingError
from orda.kernels import Kernel
from orda.records import IntArray
from orda.samplers.baseline import Baseline, Notes


@dataclass(frozen=True)
class Uniform(Baseline):
    """Every example equally likely in every slot of every minibatch.

    ``replacement=True``: all draws independent, so that a minibatch may hold an example twice (DomainBed's loader).
    ``replacement=False``: the domain is gone through in epochs, reshuffled each time (see ``epochs``).
    """

    replacement: bool = True
    name: ClassVar[str] = "uniform"
    unbiased: ClassVar[bool] = True
    independent: ClassVar[bool] = True
    needs_features: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.replacement, bool):
            raise SettingError("replacement must be True or False", repr(self.replacement), "Pass a bool")

    @property
    def distinct(self) -> bool:
        return not self.replacement

    def draw(
        self, kernel: Kernel, x: Tensor, batch_size: int, horizon: int, rng: np.random.Generator
    ) -> tuple[IntArray, Notes]:
        del kernel
        if self.replacement:
            return rng.integers(len(x), size=(horizon, batch_size)), {}
        return epochs(len(x), batch_size, horizon, rng), {}


def epochs(n: int, k: int, horizon: int, rng: np.random.Generator) -> IntArray:
    """Permutations of 0..n−1 one after another, cut into minibatches (M, k) of k distinct examples each; k ≤ n.

    An epoch need not end with a minibatch. The minibatch in which one ends is completed by the first examples of the
    next permutation that it does not hold yet; those that were passed over follow later in that permutation. So

    - the k examples of a minibatch are distinct;
    - at any moment every example has been seen as often as any other, or once more;
    - every example is equally likely in every slot, since the rule treats all examples alike.
    """
    stream = np.empty(0, dtype=np.int64)
    while len(stream) < horizon * k:
        held = len(stream) % k  # examples in the minibatch left open by the last epoch
        permutation = rng.permutation(n)
        fresh = np.flatnonzero(~np.isin(permutation, stream[len(stream) - held :]))
        first = fresh[: k - held] if held else fresh[:0]
        stream = np.concatenate([stream, permutation[first], np.delete(permutation, first)])
    return stream[: horizon * k].reshape(horizon, k)
