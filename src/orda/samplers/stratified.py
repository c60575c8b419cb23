"""Stratified sampling (VaRDASS): one independent draw per stratum and minibatch, weighted by the stratum's share."""

from __future__ import annotations

import time
import warnings
from typing import Any, ClassVar

import numpy as np
import torch

from orda.discrepancies import MMD, Discrepancy, Embedding
from orda.errors import SettingError, StratumWarning
from orda.kernels import warn_if_blind
from orda.records import DomainPlan, Features, IntArray, Plan, Pool, Strata
from orda.samplers.base import Sampler
from orda.seeds import children
from orda.stratification import Stratification, Workspace, draw_independent, stratify


class Stratified(Sampler):
    """Each domain is cut into k strata by the discrepancy's own map; a minibatch takes one random example of each.

    The strata minimise Σ_h n_h SSE_h, which over n² is exactly the variance of the weighted mean embedding under such
    draws. ``min_size`` is the smallest stratum allowed (VaRDASS has no such rule: 1).
    """

    name: ClassVar[str] = "stratified"
    unbiased: ClassVar[bool] = True

    def __init__(self, discrepancy: Discrepancy | None = None, *, min_size: int = 1) -> None:
        self.discrepancy = check_discrepancy(MMD(gammas="median") if discrepancy is None else discrepancy)
        self.min_size = check_min_size(min_size)

    def plan(
        self,
        features: Features,
        batch_size: int,
        horizon: int,
        rng: np.random.Generator,
        previous: Plan | None = None,
    ) -> Plan:
        began = time.perf_counter()
        for_strata, for_source, for_target = children(rng, 3)
        embedding = self.discrepancy.embedding(features)
        if previous is None:
            warn_if_blind(embedding.kernel, embedding.source, embedding.target)
        source, target = stratify_both(embedding, batch_size, self.min_size, for_strata, previous)
        pools = (
            draw_independent(source.strata, horizon, for_source),
            draw_independent(target.strata, horizon, for_target),
        )
        diagnostics = {
            "sampler": self.name,
            "unbiased": self.unbiased,
            "seconds": time.perf_counter() - began,
            "strata": {"source": describe(source), "target": describe(target)},
        }
        return Plan(as_plan(pools[0], source.strata), as_plan(pools[1], target.strata), diagnostics)

    def settings(self) -> dict[str, Any]:
        return {"name": self.name, "discrepancy": self.discrepancy.settings(), "min_size": self.min_size}


def stratify_both(
    embedding: Embedding, k: int, min_size: int, rng: np.random.Generator, previous: Plan | None
) -> tuple[Stratification, Stratification]:
    """Strata of both domains, in one working memory, starting from the last plan's where there is one."""
    workspace, points = Workspace(), (embedding.source, embedding.target)
    if previous is None:  # said once, not with every plan
        warn_if_lowered(len(embedding.source), len(embedding.target), k, min_size)
    before = (previous.source, previous.target) if previous else (None, None)
    source, target = (
        stratify(
            z,
            embedding.kernel,
            k,
            min_size=min(min_size, len(z) // k),
            rng=stream,
            start=start_labels(last, len(z), k),
            workspace=workspace,
        )
        for z, stream, last in zip(points, children(rng, 2), before, strict=True)
    )
    return source, target


def warn_if_lowered(n_s: int, n_t: int, k: int, min_size: int) -> None:
    """One warning where n examples of a domain cannot fill k strata of ``min_size``."""
    if k * min_size <= min(n_s, n_t):
        return
    warnings.warn(
        f"strata of at least min_size examples need n ≥ batch_size·min_size; got batch_size={k}, min_size={min_size} "
        f"and n={n_s} in the source, {n_t} in the target. The least size is lowered to "
        f"{min(min_size, n_s // k)} and {min(min_size, n_t // k)}. A smaller batch_size or horizon avoids it",
        StratumWarning,
        stacklevel=4,
    )


def start_labels(previous: DomainPlan | None, n: int, k: int) -> IntArray | None:
    """The last plan's labels, if it stratified the same examples into as many strata."""
    strata = previous.strata if previous is not None else None
    return strata.labels if strata is not None and strata.n == n and strata.k == k else None


def as_plan(pool: Pool, strata: Strata, arranged: IntArray | None = None) -> DomainPlan:
    """A pool's column m (of its elements as ``arranged``, if given) becomes minibatch m."""
    index = pool.index if arranged is None else np.take_along_axis(pool.index, arranged, axis=1)
    horizon = index.shape[1]
    weight = torch.from_numpy(pool.weight / pool.weight.sum()).to(torch.float32)
    return DomainPlan(
        index=torch.from_numpy(np.ascontiguousarray(index.T)),
        weight=weight.repeat(horizon, 1),
        stratum=torch.from_numpy(pool.stratum).repeat(horizon, 1),
        strata=strata,
    )


def describe(stratification: Stratification) -> dict[str, Any]:
    """What is worth keeping of a stratification."""
    sizes = stratification.strata.sizes
    return {
        "objective": stratification.objective,
        "embedding_variance": stratification.objective / stratification.strata.n**2,
        "sweeps": stratification.sweeps,
        "min_size": stratification.min_size,
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "method": stratification.method,
        "seconds": dict(stratification.seconds),
    }


def check_discrepancy(discrepancy: Any) -> Discrepancy:
    if not isinstance(discrepancy, Discrepancy):
        raise SettingError(
            "discrepancy must be an orda.MMD or an orda.CORAL", type(discrepancy).__name__, "E.g. Ordered(orda.CORAL())"
        )
    return discrepancy


def check_min_size(min_size: Any) -> int:
    if isinstance(min_size, bool) or not isinstance(min_size, (int, np.integer)) or min_size < 1:
        raise SettingError("min_size must be an integer of at least 1", repr(min_size))
    return int(min_size)
