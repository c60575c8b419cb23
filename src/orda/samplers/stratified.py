"""Stratified sampling (VaRDASS): independent draws from every stratum, weighted by the stratum's share."""

from __future__ import annotations

import time
import warnings
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from orda.approximations import MEMORY_BUDGET, RANK, Scale
from orda.discrepancies import MMD, Discrepancy
from orda.discrepancies.base import UNBIASED
from orda.errors import SettingError, StratumWarning
from orda.kernels import mean, warn_if_blind
from orda.records import DomainPlan, Features, IntArray, Plan, Pool, Strata
from orda.samplers.base import Sampler
from orda.samplers.views import View, check_map, describe_map, view
from orda.seeds import children
from orda.stratification import Stratification, Workspace, draw_independent, stratify
from orda.threads import in_pieces


class Stratified(Sampler):
    """Each domain is cut into k strata by the discrepancy's own map; a minibatch takes one random example of each.

    The strata minimise Σ_h n_h SSE_h, which over n² is exactly the variance of the weighted mean embedding under such
    draws.

    ``min_size``  the smallest stratum allowed (VaRDASS has no such rule: 1).
    ``draws``     examples that a minibatch takes from a stratum. 2 (two different ones, from k/2 strata) is what an
                  unbiased estimate needs, and the default for a discrepancy with estimator="unbiased"; else 1.
    ``approximation``, ``rank``, ``memory_budget``: from which size on what stands for the Gram matrix of all data, see
                  ``approximations.Scale``.
    """

    name: ClassVar[str] = "stratified"
    unbiased: ClassVar[bool] = True
    independent: ClassVar[bool] = True

    def __init__(
        self,
        discrepancy: Discrepancy | None = None,
        *,
        min_size: int = 1,
        draws: int | None = None,
        approximation: str = "auto",
        rank: int = RANK,
        memory_budget: int = MEMORY_BUDGET,
    ) -> None:
        self.discrepancy = check_discrepancy(MMD(gammas="median") if discrepancy is None else discrepancy)
        self.min_size = check_min_size(min_size)
        self.draws = check_draws(draws, self.discrepancy)
        self.scale = Scale(approximation, rank, memory_budget)

    def plan(
        self,
        features: Features,
        batch_size: int,
        horizon: int,
        rng: np.random.Generator,
        previous: Plan | None = None,
    ) -> Plan:
        began, strata = time.perf_counter(), check_divides(self.draws, batch_size)
        for_strata, for_source, for_target, for_map = children(rng, 4)
        seen = view(self.discrepancy, features, self.scale, for_map)
        if previous is None:
            warn_if_blind(seen.embedding.kernel, seen.embedding.source, seen.embedding.target)
        source, target = stratify_both(seen, strata, self.min_size, for_strata, previous, self.scale.memory_budget)
        found = check_map(seen, source, target, for_map)
        pools = (
            draw_independent(source.strata, horizon, for_source, self.draws),
            draw_independent(target.strata, horizon, for_target, self.draws),
        )
        diagnostics = {
            "sampler": self.name,
            "unbiased": self.unbiased,
            "seconds": time.perf_counter() - began,
            "strata": {"source": describe(source), "target": describe(target)},
            "approximation": describe_map(found, self.discrepancy),
        }
        centres = means(features)
        return Plan(
            as_plan(pools[0], source.strata, centres[0]), as_plan(pools[1], target.strata, centres[1]), diagnostics
        )

    def settings(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "discrepancy": self.discrepancy.settings(),
            "min_size": self.min_size,
            "draws": self.draws,
            **self.scale.settings(),
        }


def stratify_both(
    seen: View, k: int, min_size: int, rng: np.random.Generator, previous: Plan | None, memory_budget: int
) -> tuple[Stratification, Stratification]:
    """Strata of both domains, in one working memory, starting from the last plan's where there is one."""
    workspace, points = Workspace(), (seen.embedding.source, seen.embedding.target)
    if previous is None:  # said once, not with every plan
        warn_if_lowered(len(points[0]), len(points[1]), k, min_size)
    before = (previous.source, previous.target) if previous else (None, None)
    source, target = (
        stratify(
            z,
            kernel,
            k,
            min_size=min(min_size, len(z) // k),
            rng=stream,
            start=start_labels(last, len(z), k),
            memory_budget=memory_budget,
            workspace=workspace,
        )
        for z, kernel, stream, last in zip(points, seen.kernels, children(rng, 2), before, strict=True)
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


def means(features: Features) -> list[Tensor]:
    """The mean of the features of either domain, in their dtype."""
    domains = [features.source, features.target]
    return [found.to(features.source.dtype) for found in in_pieces(mean, domains, features.source.device)]


def as_plan(pool: Pool, strata: Strata, centre: Tensor, arranged: IntArray | None = None) -> DomainPlan:
    """A pool's column m (of its elements as ``arranged``, if given) becomes minibatch m."""
    index = pool.index if arranged is None else np.take_along_axis(pool.index, arranged, axis=1)
    horizon = index.shape[1]
    weight = torch.from_numpy(pool.weight / pool.weight.sum()).to(torch.float32)
    return DomainPlan(
        index=torch.from_numpy(np.ascontiguousarray(index.T)),
        weight=weight.repeat(horizon, 1),
        stratum=torch.from_numpy(pool.stratum).repeat(horizon, 1),
        strata=strata,
        own=torch.from_numpy(pool.own).to(torch.float32).repeat(horizon, 1),
        centre=centre.cpu(),
        draws=len(pool.weight) // strata.k,
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


def check_draws(draws: Any, discrepancy: Discrepancy) -> int:
    """Draws from a stratum: as asked for, or as many as the discrepancy's estimator needs."""
    needed = 2 if discrepancy.estimator == UNBIASED else 1
    if draws is None:
        return needed
    if isinstance(draws, bool) or draws not in (1, 2):
        raise SettingError("draws from a stratum must be 1 or 2", repr(draws), "Leave it out: the estimator decides")
    if draws < needed:
        raise SettingError(
            "an unbiased estimate needs two draws from every stratum",
            f"draws={draws} for {discrepancy.name} with estimator={discrepancy.estimator!r}",
            'Leave draws out, or use estimator="plug-in"',
        )
    return int(draws)


def check_divides(draws: int, batch_size: int) -> int:
    """The number of strata of a minibatch of ``batch_size`` examples."""
    if batch_size % draws:
        raise SettingError(
            f"with {draws} draws from every stratum batch_size must be a multiple of {draws}",
            batch_size,
            f"Pass batch_size={batch_size + 1}",
        )
    return batch_size // draws
