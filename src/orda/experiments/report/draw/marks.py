"""What stands in a figure: elements of SVG as text, everything from outside escaped, coordinates short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from math import cos, pi, sin

from orda.plots import Style

Point = tuple[float, float]
DASHES = {"-": "", "--": "6 3", ":": "1.5 3"}


def element(name: str, content: str = "", /, **attributes: object) -> str:
    """``<name …>content</name>``; an underscore stands for a hyphen, ``cls`` for class, ``None`` for none."""
    named = {{"cls": "class"}.get(key, key.replace("_", "-")): value for key, value in attributes.items()}
    given = "".join(f' {key}="{escape(_short(value))}"' for key, value in named.items() if value is not None)
    return f"<{name}{given}>{content}</{name}>" if content or name == "text" else f"<{name}{given}/>"


def colour_class(style: Style) -> str:
    """The class that gives an element the style's colour, in light and in dark (``sheet.py``)."""
    return f"c{style.colour.lstrip('#').lower()}"


def words(x: float, y: float, text: str, cls: str = "", anchor: str | None = None) -> str:
    """A line of text."""
    return element("text", escape(text), x=x, y=y, cls=cls or None, text_anchor=anchor)


def tip(text: str) -> str:
    """What is shown under the pointer, and read out."""
    return f"<title>{escape(text)}</title>"


def path(points: Iterable[Point], style: Style, cls: str, title: str = "") -> str:
    """A line through the points."""
    dash = DASHES[style.line] or None
    d = "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in points)
    return element("path", tip(title) if title else "", d=d, cls=f"{cls} {colour_class(style)}", stroke_dasharray=dash)


def area(upper: Sequence[Point], lower: Sequence[Point], style: Style) -> str:
    """What lies between two lines."""
    d = "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in [*upper, *reversed(lower)]) + "Z"
    return element("path", d=d, cls=f"area {colour_class(style)}")


def marker(x: float, y: float, style: Style, size: float = 4.0, cls: str = "mark", title: str = "") -> str:
    """The style's marker at a place."""
    d = marker_path(style.marker, x, y, size)
    return element("path", tip(title) if title else "", d=d, cls=f"{cls} {colour_class(style)}")


def cloud(points: Iterable[Point], style: Style, size: float = 2.2) -> str:
    """Many markers as one path."""
    d = "".join(marker_path(style.marker, x, y, size) for x, y in points)
    return element("path", d=d, cls=f"cloud {colour_class(style)}")


def marker_path(kind: str, x: float, y: float, size: float) -> str:
    """The outline of a marker, by matplotlib's letter for it."""
    if kind == "o":
        return f"M{_short(x - size)} {_short(y)}a{size} {size} 0 1 0 {2 * size} 0a{size} {size} 0 1 0 {-2 * size} 0"
    corners = outline(kind)
    first, *rest = [(x + size * u, y + size * v) for u, v in corners]
    return f"M{_short(first[0])} {_short(first[1])}" + "".join(f"L{_short(u)} {_short(v)}" for u, v in rest) + "Z"


@cache
def outline(kind: str) -> tuple[Point, ...]:
    """The corners of a marker about the origin; y points down."""
    if kind in ("P", "X"):
        a, b = 0.38, 1.1
        plus = [(-a, -b), (a, -b), (a, -a), (b, -a), (b, a), (a, a), (a, b), (-a, b), (-a, a), (-b, a), (-b, -a)]
        plus.append((-a, -a))
        return tuple(plus) if kind == "P" else tuple((0.72 * (u - v), 0.72 * (u + v)) for u, v in plus)
    if kind == "*":
        return tuple(_polar(1.35 if i % 2 == 0 else 0.58, i / 10) for i in range(10))
    corners, turn, radius = {
        "^": (3, 0.0, 1.25),
        "v": (3, 0.5, 1.25),
        "<": (3, 0.75, 1.25),
        ">": (3, 0.25, 1.25),
        "s": (4, 0.125, 1.25),
        "D": (4, 0.0, 1.25),
        "d": (4, 0.0, 1.25),
        "p": (5, 0.0, 1.15),
        "h": (6, 0.0, 1.15),
    }.get(kind, (12, 0.0, 1.0))
    found = tuple(_polar(radius, turn + i / corners) for i in range(corners))
    return tuple((0.62 * u, v) for u, v in found) if kind == "d" else found


def _polar(radius: float, turn: float) -> Point:
    """A full turn is 1; 0 points up."""
    return radius * sin(2 * pi * turn), -radius * cos(2 * pi * turn)


def _short(value: object) -> str:
    """A number with one digit after the point where it has more."""
    return f"{value + 0.0:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
