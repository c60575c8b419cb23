"""From values to places on an axis, and the ticks of the axis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Literal, Self

STEPS = (1, 2, 2.5, 5, 10)
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
Numbers = Literal["plain", "percent", "signed"]


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis from ``low`` to ``high``; its values become shares 0..1 of the axis' length."""

    low: float
    high: float
    log: bool = False
    label: str = ""
    numbers: Numbers = "plain"

    @classmethod
    def over(
        cls,
        values: Iterable[float],
        *,
        log: bool = False,
        label: str = "",
        numbers: Numbers = "plain",
        zero: bool = False,
        margin: float = 0.04,
    ) -> Self:
        """An axis that holds all the finite values with a margin; with ``zero``, zero too."""
        found = [v for v in values if isfinite(v) and (v > 0 or not log)]
        if zero and not log:
            found.append(0.0)
        low, high = (min(found), max(found)) if found else (1.0, 10.0) if log else (0.0, 1.0)
        if log:
            low, high = (low / 2, high * 2) if low == high else (low, high)
            reach = (high / low) ** margin
            return cls(low / reach, high * reach, True, label, numbers)
        if low == high:
            low, high = low - (abs(low) / 10 or 0.5), high + (abs(high) / 10 or 0.5)
        reach = (high - low) * margin
        ends = (low if zero and low == 0 else low - reach, high if zero and high == 0 else high + reach)
        return cls(*ends, False, label, numbers)

    def __call__(self, value: float) -> float:
        """The place of a value, not outside the axis."""
        if self.log:
            share = (log10(max(value, self.low)) - log10(self.low)) / (log10(self.high) - log10(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, share))

    def ticks(self, about: int = 5) -> list[tuple[float, str]]:
        """Round values with their texts."""
        values = self._log_ticks(about) if self.log else self._linear_ticks(about)
        return [(value, self.text(value / 10.0**self.power)) for value in values]

    @property
    def power(self) -> int:
        """Ticks are written in units of ten to this power: 0 unless all values are small."""
        most = max(abs(self.low), abs(self.high))
        return 0 if self.log or self.numbers != "plain" or most >= 1e-2 else floor(log10(most))

    def text(self, value: float) -> str:
        """How a value is written beside the axis."""
        if self.numbers == "percent":
            return f"{100 * value:.4g} %"
        if value and not 1e-3 <= abs(value) < (1e4 if self.log else 1e5):
            power = floor(log10(abs(value)) + 1e-9)
            times = f"{value / 10**power:.3g}".replace("-", "−")
            return ("" if times == "1" else f"{times}·") + power_of_ten(power)
        sign = "+" if self.numbers == "signed" and value > 0 else ""
        return sign + (f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}").replace("-", "−")

    def _linear_ticks(self, about: int) -> list[float]:
        rough = (self.high - self.low) / about
        unit = 10 ** floor(log10(rough))
        step = next(unit * s for s in STEPS if unit * s >= rough * 0.999)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [round(i * step, 12) for i in range(first, last + 1)]

    def _log_ticks(self, about: int) -> list[float]:
        first, last = floor(log10(self.low)), ceil(log10(self.high))
        every = max(1, ceil((last - first) / about))
        factors = (1, 2, 5) if last - first <= 2 else (1, 3) if last - first <= 3 else (1,)
        values = [factor * 10.0**power for power in range(first, last + 1, every) for factor in factors]
        return [value for value in values if self.low <= value <= self.high]


def power_of_ten(power: int) -> str:
    return f"10{str(power).translate(SUPERSCRIPTS)}"
