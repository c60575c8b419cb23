"""The contract of an ordering optimiser, and the loop around its passes."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np

from orda.errors import SettingError
from orda.ordering.objective import State, measured, objective, prepared
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


@dataclass(frozen=True, slots=True)
class Clock:
    """The time budget of one call."""

    budget: float | None
    began: float = field(default_factory=time.perf_counter)

    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def used(self) -> float:
        """The share of the budget that is used up; 0 without one."""
        return 0.0 if self.budget is None else self.seconds() / self.budget


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
        faults = list(self.faults())
        if faults:
            raise SettingError(f"settings of {type(self).__name__}: " + "; ".join(faults))

    def faults(self) -> Iterator[str]:
        """What is wrong with the settings: rule, value and remedy of each."""
        if isinstance(self.max_passes, bool) or not isinstance(self.max_passes, int) or self.max_passes < 1:
            yield f"max_passes must be a whole number of at least 1, got {self.max_passes!r}"
        if self.time_budget is not None and not (isinstance(self.time_budget, (int, float)) and self.time_budget > 0):
            yield f"time_budget must be a positive number of seconds, or None for no limit, got {self.time_budget!r}"

    @abstractmethod
    def passes(
        self, problem: Problem, state: State, arranged: IntArray, rng: np.random.Generator, clock: Clock
    ) -> Iterator[IntArray]:
        """Change ``arranged`` and ``state`` in place, pass by pass; after each, the best arrangement of the pass."""

    def __call__(self, problem: Problem, arranged: IntArray, rng: np.random.Generator) -> Ordering:
        """Passes until nothing improves, ``max_passes`` or the time budget; the best arrangement seen."""
        clock = Clock(self.time_budget)
        arranged = arranged.copy()
        state = prepared(problem, arranged)
        values = state.values.copy()
        objectives = [objective(problem, values)]
        best = arranged.copy(), values, objectives[0]
        for found in self.passes(problem, state, arranged, rng, clock):
            values = measured(problem, found)
            if found is arranged:
                state.values[:] = values  # from nothing: rounding does not add up over passes
            objectives.append(objective(problem, values))
            if objectives[-1] < best[2]:
                best = found.copy(), values, objectives[-1]
            if len(objectives) > self.max_passes or self.settled(objectives) or clock.used() >= 1:
                break
        return Ordering(best[0], best[1], tuple(objectives), clock.seconds())

    def settled(self, objectives: list[float]) -> bool:
        """Whether another pass is not worth it."""
        return objectives[-2] - objectives[-1] <= SETTLED * abs(objectives[-2])

    def settings(self) -> dict[str, Any]:
        """The settings as plain values, for the record of a run."""
        return {"name": self.name, **asdict(self)}


def interleaved(rows: int) -> IntArray:
    """Source and target rows in turn, as Algorithm 2 visits them: S̃_1, T̃_1, S̃_2, T̃_2, …"""
    return np.arange(rows, dtype=np.int64).reshape(2, rows // 2).T.reshape(-1).copy()
