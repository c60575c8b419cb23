"""Settings of algorithms: frozen dataclasses whose fields carry their range, checked all at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from orda.errors import SettingError

T = TypeVar("T")


@dataclass(frozen=True)
class Range:
    """What a setting may be; ``None`` leaves a side open."""

    above: float | None = None
    least: float | None = None
    most: float | None = None
    below: float | None = None
    choices: tuple[str, ...] | None = None

    def __str__(self) -> str:
        if self.choices is not None:
            return "one of " + ", ".join(repr(choice) for choice in self.choices)
        words = {"above": "above", "least": "at least", "most": "at most", "below": "below"}
        parts = [f"{word} {getattr(self, side):g}" for side, word in words.items() if getattr(self, side) is not None]
        return " and ".join(parts) or "finite"

    def holds(self, value: Any) -> bool:
        if self.choices is not None:
            return value in self.choices
        return (
            math.isfinite(value)
            and (self.above is None or value > self.above)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
        )


def setting(
    default: T,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    below: float | None = None,
    choices: Sequence[str] | None = None,
) -> T:
    """A dataclass field with a default and a range."""
    span = Range(above, least, most, below, None if choices is None else tuple(choices))
    return field(default=default, metadata={"range": span})


_KINDS: dict[type, tuple[str, tuple[type, ...]]] = {
    float: ("a number", (float, int)),
    int: ("a whole number", (int,)),
    bool: ("True or False", (bool,)),
    str: ("a text", (str,)),
}


@dataclass(frozen=True)
class Settings:
    """What every algorithm has: Adam's learning rate and weight decay (DomainBed's defaults for 224-pixel images)."""

    lr: float = setting(5e-5, above=0)
    weight_decay: float = setting(0.0, least=0)

    def __post_init__(self) -> None:
        faults = self.faults()
        if faults:
            raise SettingError(
                f"settings outside their range ({type(self).__name__})",
                "; ".join(faults),
                "Correct them, or leave them out for their defaults",
            )

    def faults(self) -> list[str]:
        """All that is wrong with the values: "name must be …, not value"."""
        checked = ((f.name, _fault(getattr(self, f.name), f.default, f.metadata["range"])) for f in fields(self))
        return [f"{name} must be {fault}" for name, fault in checked if fault is not None]


def _fault(value: Any, default: Any, span: Range) -> str | None:
    kind, types = _KINDS[type(default)]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        return f"{kind}, not {value!r}"
    return None if isinstance(value, bool) or span.holds(value) else f"{span}, not {value!r}"
