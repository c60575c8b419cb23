"""Ordering problems on made-up features, each with its literal twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numba
import numpy as np
import torch
from references import discrepancies as literal
from references import ordering as twins

import orda
from orda.ordering import Ordering, OrderingTask, initial_arrangement, ordering_task
from orda.ordering.objective import State, everywhere, here, replaced, there
from orda.ordering.problem import Problem
from orda.records import Features, FloatArray, IntArray, Pool, Strata
from orda.stratification import draw

F = TypeVar("F", bound=Callable[..., Any])
DISCREPANCIES: dict[str, orda.Discrepancy] = {
    "linear": orda.MMD("linear"),
    "rbf": orda.MMD(gammas=(0.02, 0.2, 2.0)),
    "coral": orda.CORAL(),
    "coral, mean": orda.CORAL("mean"),
    "coral, deep": orda.CORAL("deep"),
    "coral, moments": orda.CORAL(),  # without a Gram matrix
}
PROBLEMS = [(name, "scalar") for name in DISCREPANCIES] + [(n, "embedding") for n in ("linear", "rbf", "coral")]
NAMES = [f"{name}, {objective}" for name, objective in PROBLEMS]


def fresh(function: F) -> F:
    """Compiled anew in every process: what is kept is good while the function's own folder stays the same, and a change
    of ``orda.ordering``, whose functions are compiled into a test's, would go unseen.
    """
    return cast(F, numba.njit(nogil=True, error_model="numpy")(function))


@fresh
def say_all(problem: Problem, state: State, arranged: IntArray, out: FloatArray) -> None:
    """out[way, r, m, j]: what the primitive says, in four ways, of minibatch m with row r's element j."""
    rows, horizon = arranged.shape
    row = np.empty(horizon)
    for r in range(rows):
        everywhere(problem, state, arranged, r, out[0, r])
        for m in range(horizon):
            here(problem, state, arranged, r, m, out[1, r, m])
            for j in range(horizon):
                out[2, r, m, j] = replaced(problem, state, arranged, r, m, r * horizon + j)
        for j in range(horizon):
            there(problem, state, arranged, r, r * horizon + j, 0, row)
            out[3, r, :, j] = row


@dataclass(frozen=True, slots=True)
class Made:
    task: OrderingTask
    estimate: twins.Estimate  # D̂ in the discrepancy's own scale
    cost: twins.Cost
    d0: float
    source: IntArray  # (k, M) indices of examples, as drawn
    target: IntArray

    @property
    def start(self) -> IntArray:
        return initial_arrangement(2 * len(self.source), self.source.shape[1])

    def columns(self, arranged: IntArray) -> tuple[IntArray, IntArray]:
        """The examples (k, M) of an arrangement of elements."""
        (k, horizon), places = self.source.shape, arranged % self.source.shape[1]
        assert np.array_equal(arranged // horizon, np.repeat(np.arange(2 * k)[:, None], horizon, 1))
        return np.take_along_axis(self.source, places[:k], 1), np.take_along_axis(self.target, places[k:], 1)

    def values(self, arranged: IntArray) -> np.ndarray:
        """D̂ of every minibatch, in the problem's scale."""
        source, target = self.columns(arranged)
        found = [self.estimate(source[:, m], target[:, m]) for m in range(arranged.shape[1])]
        return np.array(found) / self.task.scale

    def mean_cost(self, arranged: IntArray) -> float:
        return twins.mean_cost(self.cost, *self.columns(arranged))

    def told(self, ordering: Ordering) -> np.ndarray:
        """The objectives that an ordering reports, as the literal twin counts them: about v_0, in the own scale.

        Σ_m v_m is the same in any order, so that Σ_m ‖v_m‖² and Σ_m ‖v_m − v_0‖² differ by a constant.
        """
        values, scale = np.array(ordering.objectives), self.task.scale
        if self.task.problem.scalar:
            return scale**2 * values
        return values + self.mean_cost(self.start) - float(self.values(self.start).mean())


def made(name: str, objective: str, seed: int, k: int = 3, horizon: int = 5, d: int = 3) -> Made:
    """Strata are random, none smaller than the horizon: no example comes twice, and there are no ties."""
    rng = np.random.default_rng(seed)
    n_s, n_t = (int(k * horizon + rng.integers(1, 3 + k * horizon // 2)) for _ in range(2))
    z = [rng.normal(size=(n, d)) * rng.uniform(0.5, 2, size=d) + 0.5 * rng.normal(size=d) for n in (n_s, n_t)]
    features = Features(*(torch.from_numpy(part) for part in z))
    pools = [draw(random_strata(rng, n, k, horizon), horizon, rng) for n in (n_s, n_t)]
    discrepancy = DISCREPANCIES[name]
    budget = 0 if name == "coral, moments" else None
    task = ordering_task(discrepancy, features, *pools, objective=objective, memory_budget=budget)
    return Made(task, *twin(name, objective, z[0], z[1], pools[0], pools[1]), pools[0].index, pools[1].index)


def random_strata(rng: np.random.Generator, n: int, k: int, least: int) -> Strata:
    labels = rng.permutation(np.concatenate([np.repeat(np.arange(k), least), rng.integers(k, size=n - k * least)]))
    return Strata(labels, np.bincount(labels, minlength=k))


def twin(
    name: str, objective: str, zs: np.ndarray, zt: np.ndarray, source: Pool, target: Pool
) -> tuple[twins.Estimate, twins.Cost, float]:
    """The literal estimate, cost and D0."""
    ws, wt = source.weight, target.weight
    if name.startswith("coral") and objective == "scalar":
        d = zs.shape[1]
        scale = {"coral, mean": d**-2, "coral, deep": d**-2 / 4}.get(name, 1.0)
        estimate, d0 = twins.coral(zs, zt, ws, wt, scale), scale * literal.coral_reference(zs, zt)
        return estimate, twins.scalar(estimate, d0), d0
    points = np.concatenate([zs, zt])
    if name == "coral":  # about the domains' own means
        points = np.concatenate([zs - zs.mean(0), zt - zt.mean(0)])
    kernel = {
        "linear": literal.linear,
        "rbf": lambda x, y: literal.rbf_mixture(x, y, (0.02, 0.2, 2.0)),
        "coral": literal.squared_inner,
    }[name]
    gram = np.array([[kernel(x, y) for y in points] for x in points])
    estimate = twins.mmd(gram, len(zs), ws, wt)
    if objective == "embedding":
        return estimate, twins.distance_to_all(gram, len(zs), ws, wt), float("nan")
    n_s = len(zs)
    d0 = float(gram[:n_s, :n_s].mean() + gram[n_s:, n_s:].mean() - 2 * gram[:n_s, n_s:].mean())
    return estimate, twins.scalar(estimate, d0), d0
