"""Random search: the distribution of every setting, as data, and reproducible draws from it.

Every draw has its own stream, named by the setting: adding a setting to a space never moves the draws of the others.
Draw 0 is the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from orda import seeds
from orda.errors import SettingError

Value = float | int | str | bool


class Distribution(Protocol):
    """Something a setting's value can be drawn from."""

    def draw(self, rng: np.random.Generator) -> Value: ...


@dataclass(frozen=True)
class Uniform:
    """U(low, high)."""

    low: float
    high: float

    def draw(self, rng: np.random.Generator) -> float:
        return float(rng.uniform(self.low, self.high))


@dataclass(frozen=True)
class LogUniform:
    """10^U(low, high)."""

    low: float
    high: float

    def draw(self, rng: np.random.Generator) -> float:
        return float(10 ** rng.uniform(self.low, self.high))


@dataclass(frozen=True)
class PowerOfTwo:
    """⌊2^U(low, high)⌋, an integer."""

    low: float
    high: float

    def draw(self, rng: np.random.Generator) -> int:
        return int(2 ** rng.uniform(self.low, self.high))


@dataclass(frozen=True)
class Choice:
    """One of ``values``, all equally likely."""

    values: tuple[Value, ...]

    def draw(self, rng: np.random.Generator) -> Value:
        return self.values[int(rng.integers(len(self.values)))]


Space = Mapping[str, Distribution]


def draw_values(space: Space, seed: int, number: int) -> dict[str, Value]:
    """Draw ``number`` of a search: values for all the names of ``space``; draw 0 is empty, which means the defaults."""
    if number < 0:
        raise SettingError("a draw's number must be at least 0", number, "Draw 0 is the defaults, 1, 2, … are random")
    if number == 0:
        return {}
    return {name: space[name].draw(seeds.generator(seed, "search", number, name)) for name in space}
