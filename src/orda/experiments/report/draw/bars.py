"""Figures with one line a name: values on their intervals, and parts of a whole. The names stand above their lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orda.experiments.report.draw.marks import colour_class, element, marker, tip, words
from orda.experiments.report.draw.scale import Scale
from orda.experiments.report.draw.shades import bright
from orda.plots import Style

WIDTH = 340.0
SIDE = 8.0
STEP = 36.0
FOOT = 40.0
LINE = 13.0
LETTER = 6.2  # width of a small letter, about


@dataclass(frozen=True, slots=True)
class Dot:
    """A value on its interval; ``hollow``: another value of the same line."""

    value: float
    low: float | None = None
    high: float | None = None
    told: str = ""
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a figure."""

    name: str
    style: Style
    dots: tuple[Dot, ...]
    beside: str = ""  # a text at the right end of the name's line
    below: str = ""  # a second line of the name


def dots(title: str, description: str, entries: Sequence[Entry], scale: Scale, level: float | None = None) -> str:
    """One line an entry, top to bottom, its values as markers; ``level``: where a vertical line stands."""
    step = STEP + (LINE if any(entry.below for entry in entries) else 0)
    height = step * len(entries) + FOOT
    parts = [tip(f"{title}. {description}"), *_axis(scale, height)]
    if level is not None and scale.low <= level <= scale.high:
        parts.append(element("path", d=f"M{_x(scale, level):.1f} 4V{height - FOOT}", cls="level"))
    for number, entry in enumerate(entries):
        top = step * number
        parts += _names(entry.name, entry.beside, top + 13)
        if entry.below:
            parts += _names(entry.below, "", top + 13 + LINE)
        parts += [_dot(dot, entry, scale, top + step - 11) for dot in entry.dots]
    return element("svg", "".join(parts), viewBox=f"0 0 {WIDTH:.0f} {height:.0f}", role="img", cls="panel")


def _names(name: str, beside: str, y: float) -> list[str]:
    """A name, cut where it would run into what stands at the right."""
    room = int((WIDTH - 2 * SIDE) / LETTER) - len(beside) - (2 if beside else 0)
    shown = name if len(name) <= room else name[: room - 1].rstrip() + "…"
    found = [words(SIDE, y, shown, "name")]
    return [*found, words(WIDTH - SIDE, y, beside, "beside", "end")] if beside else found


def _dot(dot: Dot, entry: Entry, scale: Scale, y: float) -> str:
    drawn = ""
    if dot.low is not None and dot.high is not None:
        d = f"M{_x(scale, dot.low):.1f} {y}H{_x(scale, dot.high):.1f}"
        drawn = element("path", tip(dot.told), d=d, cls=f"reach {colour_class(entry.style)}")
    cls = "hollow" if dot.hollow else "mark"
    return drawn + marker(_x(scale, dot.value), y, entry.style, 4.6, cls, dot.told)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a whole."""

    name: str
    style: Style
    value: float


def stacked(
    title: str, description: str, lines: Sequence[tuple[str, str, Sequence[Part]]], scale: Scale, unit: str
) -> str:
    """Lines (name, text beside it, parts): the parts one after another, each with its name where there is room."""
    step = STEP + 6
    height = step * len(lines) + FOOT
    parts = [tip(f"{title}. {description}"), *_axis(scale, height)]
    for number, (name, beside, found) in enumerate(lines):
        top = step * number
        parts += _names(name, beside, top + 13)
        sofar = 0.0
        for part in found:
            parts.append(_part(part, sofar, scale, top + 18, unit))
            sofar += part.value
    return element("svg", "".join(parts), viewBox=f"0 0 {WIDTH:.0f} {height:.0f}", role="img", cls="panel")


def _part(part: Part, before: float, scale: Scale, y: float, unit: str) -> str:
    left, right = _x(scale, before), _x(scale, before + part.value)
    told = tip(f"{part.name}: {part.value:.3g} {unit}")
    drawn = element("rect", told, x=left, y=y, width=right - left, height=18.0, cls=f"part {colour_class(part.style)}")
    if right - left > LETTER * len(part.name) + 6:
        cls = "inside dark" if bright(part.style.colour) else "inside"
        drawn += words((left + right) / 2, y + 12.5, part.name, cls, "middle")
    return drawn


def _axis(scale: Scale, height: float) -> list[str]:
    bottom = height - FOOT
    found = []
    for value, text in scale.ticks(4):
        x = _x(scale, value)
        found.append(element("path", d=f"M{x:.1f} 4V{bottom + 4}", cls="grid"))
        found.append(words(min(max(x, 12.0), WIDTH - 16), bottom + 16, text, "tick", "middle"))
    found.append(words(WIDTH / 2, height - 6, scale.label, "label", "middle"))
    return found


def _x(scale: Scale, value: float) -> float:
    return SIDE + scale(value) * (WIDTH - 2 * SIDE)
