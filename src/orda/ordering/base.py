"""The contract of an ordering optimiser, and the loop of passes that most of them share."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from orda.errors import SettingError
from orda.ordering.objective import State, objective, prepared
from orda.ordering.problem import Problem
from orda.records import FloatArray, IntArray

SETTLED = 1e-9  # a pass that improves the objective by less than this fraction has converged


@dataclass(frozen=True, slots=True)
class Ordering:
    """An arrangement and how it was reached."""

    arranged: IntArray  # (R, M) element ids
    values: FloatArray  # (M,) D̂ of the minibatches, in the problem's scale
    objectives: tuple[float, ...]  # mean cost at the start and after every pass
    seconds: float

    @property
    def passes(self) -> int:
        return len(self.objectives) - 1


@dataclass(frozen=True, kw_only=True)
class Optimiser(ABC):
    """Permutes an arrangement within its rows so that the mean cost falls. Never ends above where it started.

    ``max_passes`` bounds the work; ``time_budget`` (seconds, looked at between passes) too, at the price that the
    result then depends on the machine.
    """

    max_passes: int = 1
    time_budget: float | None = None
    name: ClassVar[str]

    def __post_init__(self) -> None:
        if self.max_passes < 1:
            raise SettingError("max_passes must be at least 1", self.max_passes)
        if self.time_budget is not None and not self.time_budget > 0:
            raise SettingError("time_budget must be a positive number of seconds", self.time_budget, "Or None")

    @abstractmethod
    def sweep(self, problem: Problem, state: State, arranged: IntArray, rng: np.random.Generator) -> None:
        """One pass: improves ``arranged`` and ``state`` in place."""

    def __call__(self, problem: Problem, arranged: IntArray, rng: np.random.Generator) -> Ordering:
        """Passes until nothing improves, ``max_passes`` or the time budget; the best arrangement seen."""
        began = time.perf_counter()
        arranged = arranged.copy()
        state = prepared(problem, arranged)
        objectives = [objective(problem, state.values)]
        best = arranged.copy(), state.values.copy(), objectives[0]
        for _ in self._passes(began):
            self.sweep(problem, state, arranged, rng)
            state = prepared(problem, arranged)  # from nothing: rounding does not add up over passes
            objectives.append(objective(problem, state.values))
            if objectives[-1] < best[2]:
                best = arranged.copy(), state.values.copy(), objectives[-1]
            if self.settled(objectives):
                break
        return Ordering(best[0], best[1], tuple(objectives), time.perf_counter() - began)

    def settled(self, objectives: list[float]) -> bool:
        """Whether another pass is not worth it."""
        return objectives[-2] - objectives[-1] <= SETTLED * abs(objectives[-2])

    def _passes(self, began: float) -> Iterator[int]:
        for number in range(self.max_passes):
            if number and self.time_budget is not None and time.perf_counter() - began > self.time_budget:
                return
            yield number

    def settings(self) -> dict[str, Any]:
        """The settings as plain values, for the record of a run."""
        return {"name": self.name, **asdict(self)}


def interleaved(rows: int) -> IntArray:
    """Source and target rows in turn, as Algorithm 2 visits them: S̃_1, T̃_1, S̃_2, T̃_2, …"""
    return np.arange(rows, dtype=np.int64).reshape(2, rows // 2).T.reshape(-1).copy()
