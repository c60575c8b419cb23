"""ORDERED: stratify, draw M examples per stratum, arrange them into M minibatches close to the full data."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np

from orda.approximations import MEMORY_BUDGET, RANK, Scale
from orda.discrepancies import MMD, Discrepancy
from orda.errors import SettingError, UnknownName
from orda.kernels import Linear, warn_if_blind
from orda.ordering import (
    OBJECTIVES,
    OPTIMISERS,
    Assignment,
    Optimiser,
    Ordering,
    OrderingTask,
    initial_arrangement,
    ordering_task,
)
from orda.records import Features, Plan
from orda.samplers.base import Sampler
from orda.samplers.stratified import (
    as_plan,
    check_discrepancy,
    check_divides,
    check_draws,
    check_min_size,
    describe,
    means,
    stratify_both,
)
from orda.samplers.views import check_map, describe_map, pool_kernels, reference, view
from orda.seeds import children
from orda.stratification import draw


class Ordered(Sampler):
    """The paper's pipeline. Each stratum's M-tuple is drawn without replacement and keeps its weight |S_h|/n; the
    optimiser then permutes the tuples so that the minibatches' estimates meet D0.

    ``optimiser``  "assignment" (default), "greedy" (the paper's Algorithm 2), "exchange", "annealing", "tabu", or an
                   ``Optimiser`` with settings of its own.
    ``objective``  "scalar": Σ(D̂ − D0)², the paper's; "embedding": Σ‖v_m − v_0‖².
    ``min_size``   n_min; ``None`` (default) means the horizon M times ``draws``; with one draw M, as in the paper.
    ``draws``      examples that a minibatch takes from a stratum: 1, or 2 (from k/2 strata), as an unbiased estimate
                   needs. ``None`` (default): as many as the discrepancy's estimator needs. The scalar objective is of
                   that same estimate.
    ``approximation``, ``rank``, ``memory_budget``: from which size on what stands for the Gram matrices of all data and
                   of the drawn examples, see ``approximations.Scale``.
    """

    name: ClassVar[str] = "ordered"
    unbiased: ClassVar[bool] = True

    def __init__(
        self,
        discrepancy: Discrepancy | None = None,
        *,
        optimiser: str | Optimiser = "assignment",
        objective: str = "scalar",
        min_size: int | None = None,
        draws: int | None = None,
        approximation: str = "auto",
        rank: int = RANK,
        memory_budget: int = MEMORY_BUDGET,
    ) -> None:
        self.discrepancy = check_discrepancy(MMD(gammas="median") if discrepancy is None else discrepancy)
        self.optimiser = make_optimiser(optimiser)
        if objective not in OBJECTIVES:
            raise UnknownName("objective", objective, OBJECTIVES)
        self.objective = objective
        self.min_size = None if min_size is None else check_min_size(min_size)
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
        for_strata, for_source, for_target, for_order, for_map = children(rng, 5)
        discrepancy = self.discrepancy.resolved(features)
        seen = view(discrepancy, features, self.scale, for_map)
        if previous is None:
            warn_if_blind(seen.embedding.kernel, seen.embedding.source, seen.embedding.target)
        min_size = self.draws * horizon if self.min_size is None else self.min_size
        source, target = stratify_both(seen, strata, min_size, for_strata, previous, self.scale.memory_budget)
        found = check_map(seen, source, target, for_map)
        stratified = time.perf_counter()
        pools = (
            draw(source.strata, horizon, for_source, self.draws),
            draw(target.strata, horizon, for_target, self.draws),
        )
        linear = isinstance(seen.embedding.kernel, Linear)
        within = None if linear else (source.mean_kernel, target.mean_kernel)
        task = ordering_task(
            discrepancy,
            features,
            *pools,
            objective=self.objective,
            embedding=seen.embedding,
            reference=reference(discrepancy, features, within, found),
            memory_budget=self.scale.memory_budget,
            maps=lambda: pool_kernels(seen, self.scale, for_map),
        )
        prepared = time.perf_counter()
        ordering = self.optimiser(task.problem, initial_arrangement(2 * batch_size, horizon), for_order)
        positions, centres = ordering.arranged % horizon, means(features)
        seconds = {
            "stratify": stratified - began,
            "prepare": prepared - stratified,
            "order": ordering.seconds,
            "total": time.perf_counter() - began,
        }
        diagnostics = {
            "sampler": self.name,
            "unbiased": self.unbiased,
            "seconds": seconds,
            "strata": {"source": describe(source), "target": describe(target)},
            "approximation": describe_map(found, discrepancy),
            "ordering": self.describe_ordering(task, ordering),
        }
        return Plan(
            as_plan(pools[0], source.strata, centres[0], positions[:batch_size]),
            as_plan(pools[1], target.strata, centres[1], positions[batch_size:]),
            diagnostics,
        )

    def describe_ordering(self, task: OrderingTask, ordering: Ordering) -> dict[str, Any]:
        """Objective at the start and after every pass, and where D̂ ended, all at the discrepancy's scale."""
        scale = task.scale
        cost_scale = scale**2 if task.problem.scalar else scale
        values, d0 = scale * ordering.values, scale * task.problem.reference
        return {
            "optimiser": self.optimiser.name,
            "objective": self.objective,
            "problem": type(task.problem).__name__,
            "objectives": [cost_scale * value for value in ordering.objectives],
            "lower_bound": None if task.lower_bound is None else cost_scale * task.lower_bound,
            "passes": ordering.passes,
            "d0": d0,
            "mean": float(values.mean()),
            "bias": float(values.mean() - d0),
            "variance": float(values.var()),
            "mean_squared_error": float(np.square(values - d0).mean()),
        }

    def settings(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "discrepancy": self.discrepancy.settings(),
            "optimiser": self.optimiser.settings(),
            "objective": self.objective,
            "min_size": self.min_size,
            "draws": self.draws,
            **self.scale.settings(),
        }


def make_optimiser(optimiser: str | Optimiser) -> Optimiser:
    """An optimiser by name, with its default settings; an ``Optimiser`` is used as it is."""
    if isinstance(optimiser, Optimiser):
        return optimiser
    if not isinstance(optimiser, str):
        raise SettingError("optimiser must be a name or an Optimiser", type(optimiser).__name__, f"E.g. {Assignment()}")
    if optimiser not in OPTIMISERS:
        raise UnknownName("optimiser", optimiser, OPTIMISERS)
    return OPTIMISERS[optimiser]()
