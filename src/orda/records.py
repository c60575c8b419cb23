"""The frozen records that pass between the stages.

    Features ──stratify──> Strata ──draw──> Pool ──order──> Pool ──> DomainPlan, DomainPlan = Plan

Letters in shapes: n examples of a domain, d features, k strata (= examples of a domain in a minibatch, ``batch_size``),
M minibatches planned at once (``horizon``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Features:
    """The features of both domains: checked, of one floating dtype, on one device."""

    source: Tensor  # (n_s, d)
    target: Tensor  # (n_t, d)


@dataclass(frozen=True, slots=True)
class Strata:
    """A partition of one domain into k strata (the paper's S_h or T_h)."""

    labels: IntArray  # (n,) the stratum of every example, 0..k-1
    sizes: IntArray  # (k,) |S_h|, at least 1 each

    @property
    def k(self) -> int:
        return len(self.sizes)

    @property
    def n(self) -> int:
        return len(self.labels)

    def weights(self) -> FloatArray:
        """|S_h| / n: what one example drawn from each stratum must weigh for an unbiased mean."""
        return np.asarray(self.sizes / self.n, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Pool:
    """M-tuples from the strata of one domain (the paper's S̃_h or T̃_h); column m is minibatch m.

    A stratum has one row, or two that share no example, so that no minibatch holds one twice.
    """

    index: IntArray  # (k, M) indices into the domain
    weight: FloatArray  # (k,) the weight of any member of the row in its minibatch; they sum to 1
    stratum: IntArray  # (k,) the stratum from which the row was drawn
    own: FloatArray  # (k,) one over the size of that stratum, see Drawn


class Drawn(Protocol):
    """How examples were drawn: all that an estimate must know of a sampler. Plans and minibatches both say it."""

    @property
    def weight(self) -> Tensor:
        """(..., k) in every minibatch they sum to 1."""

    @property
    def stratum(self) -> Tensor:
        """(..., k) int64: examples of one stratum are draws from one and the same set."""

    @property
    def own(self) -> Tensor | None:
        """(..., k) 1/n_h where a minibatch's draws from a stratum of n_h examples are distinct, 0 (or None) where they
        are independent: the chance that two independent draws are the same example, which distinct ones miss."""

    @property
    def centre(self) -> Tensor | None:
        """(d,) the mean of the features planned from; None where the sampler does not look at features."""

    @property
    def draws(self) -> int | None:
        """The fewest examples that a minibatch takes from a stratum; None where nobody has counted."""


@dataclass(frozen=True, slots=True)
class DomainPlan:
    """The next M minibatches of one domain."""

    index: Tensor  # (M, k) int64: which examples meet in minibatch m
    weight: Tensor  # (M, k) float32: their weights in it; every row sums to 1
    stratum: Tensor  # (M, k) int64: the stratum each was drawn from (all 0 where the sampler does not stratify)
    strata: Strata | None = None  # the partition itself, from which the next plan may start
    own: Tensor | None = None  # (M, k) float32, see Drawn
    centre: Tensor | None = None  # (d,), see Drawn
    draws: int | None = None  # see Drawn

    @property
    def horizon(self) -> int:
        return int(self.index.shape[0])

    @property
    def batch_size(self) -> int:
        return int(self.index.shape[1])


@dataclass(frozen=True, slots=True)
class Plan:
    """The next M minibatches of both domains, and how they came about."""

    source: DomainPlan
    target: DomainPlan
    diagnostics: Mapping[str, Any] = field(default_factory=dict)  # plain numbers, strings and lists: JSON writes it

    @property
    def horizon(self) -> int:
        return self.source.horizon

    @property
    def batch_size(self) -> int:
        return self.source.batch_size

    def __len__(self) -> int:
        return self.horizon


@dataclass(frozen=True, slots=True)
class DomainBatch:
    """One domain's half of a minibatch of k examples."""

    x: Tensor  # (k, ...) what the network takes
    y: Tensor | None  # (k,) int64 labels; None for the target, whose labels no algorithm may see
    weight: Tensor  # (k,) float32, sum 1
    stratum: Tensor  # (k,) int64
    index: Tensor  # (k,) int64 positions in the domain
    own: Tensor | None = None  # (k,) float32, see Drawn
    centre: Tensor | None = None  # (d,), see Drawn
    draws: int | None = None  # see Drawn


@dataclass(frozen=True, slots=True)
class Batch:
    """One minibatch: what the loader gives and what an algorithm takes."""

    source: DomainBatch
    target: DomainBatch
