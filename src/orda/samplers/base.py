"""The contract of a sampler: features of both domains in, a plan out. It never sees a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch

from orda.records import DomainPlan, Features, IntArray, Plan


class Sampler(ABC):
    """Chooses which examples meet in the next M minibatches.

    A sampler holds settings only. What a plan must hand to the next one (labels to start from) is in the plan itself.
    """

    name: ClassVar[str]
    unbiased: ClassVar[bool]
    """Whether the weighted minibatch embedding Σ w_h φ(z_h), averaged over the minibatches of a plan and over the
    draws, is the full-data mean embedding, whatever φ (design: D5). The contract tests check the claim."""
    independent: ClassVar[bool] = False
    """Whether, besides, the examples of different strata are independent in a minibatch: what the unbiased estimates
    of squares rest on. Not so where examples are chosen to suit each other."""
    needs_features: ClassVar[bool] = True
    """Whether features matter to it. Where they do not, only their numbers of rows are looked at, and a training loop
    need not extract any."""

    @abstractmethod
    def plan(
        self,
        features: Features,
        batch_size: int,
        horizon: int,
        rng: np.random.Generator,
        previous: Plan | None = None,
    ) -> Plan:
        """Plan ``horizon`` minibatches of ``batch_size`` examples a domain.

        ``features`` are checked already: finite, two-dimensional, of one dtype, with at least ``batch_size`` rows.
        ``previous`` is the last plan over the same examples, to start from where that helps.
        """

    def settings(self) -> dict[str, Any]:
        """The settings as plain values, for the record of a run."""
        return {key: value for key, value in vars(self).items() if not key.startswith("_")}


def equal_weight_plan(index: IntArray, own: float = 0.0) -> DomainPlan:
    """The plan of one domain whose examples all weigh 1/k and are draws from all of it, from indices (M, k)."""
    horizon, batch_size = index.shape
    return DomainPlan(
        index=torch.from_numpy(np.ascontiguousarray(index, dtype=np.int64)),
        weight=torch.full((horizon, batch_size), 1 / batch_size, dtype=torch.float32),
        stratum=torch.zeros((horizon, batch_size), dtype=torch.int64),
        own=torch.full((horizon, batch_size), own, dtype=torch.float32),
        draws=batch_size,
    )
