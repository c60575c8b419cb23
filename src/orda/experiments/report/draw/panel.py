"""One pair of axes, as an SVG of its own: as wide as a phone, so that its text is as large there as anywhere."""

from __future__ import annotations

from collections.abc import Sequence

from orda.experiments.report.draw.marks import Point, area, element, marker, path, tip, words
from orda.experiments.report.draw.scale import Scale, power_of_ten
from orda.plots import Style

WIDTH, HEIGHT = 340.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 10.0, 12.0, 38.0
MARKS = 8  # of a line, at most
POINTS = 60  # of a line, about: more cannot be told apart


def thinned(points: Sequence[Point]) -> list[Point]:
    """Every so many of the points, the first and the last among them."""
    every = max(1, len(points) // POINTS)
    return [at for number, at in enumerate(points[:-1]) if number % every == 0] + list(points[-1:])


class Panel:
    """Axes that lines are drawn into; ``svg`` closes it."""

    def __init__(self, title: str, x: Scale, y: Scale) -> None:
        self.title, self.x, self.y = title, x, y
        self.parts: list[str] = []

    def place(self, x: float, y: float) -> Point:
        """Where a pair of values is."""
        return (
            LEFT + self.x(x) * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - self.y(y) * (HEIGHT - TOP - BOTTOM),
        )

    def band(self, x: Sequence[float], low: Sequence[float], high: Sequence[float], style: Style) -> None:
        """What lies between two lines."""
        upper = [self.place(*at) for at in zip(x, high, strict=True)]
        lower = [self.place(*at) for at in zip(x, low, strict=True)]
        self.parts.append(area(upper, lower, style))

    def thin(self, x: Sequence[float], y: Sequence[float], style: Style, title: str = "") -> None:
        """One of several."""
        self.parts.append(path(thinned([self.place(*at) for at in zip(x, y, strict=True)]), style, "thin", title))

    def thick(self, x: Sequence[float], y: Sequence[float], style: Style, name: str) -> None:
        """The line that counts, with markers that tell its values."""
        points = [self.place(*at) for at in zip(x, y, strict=True)]
        self.parts.append(path(thinned(points), style, "thick", name))
        if not style.marker:
            return
        every = -(-len(points) // MARKS)
        for number, (left, top) in enumerate(points):
            if (len(points) - 1 - number) % every == 0:
                told = f"{name}: {self.y.text(float(f'{y[number]:.4g}'))} at {self.x.text(x[number])}"
                self.parts.append(marker(left, top, style, 3.2, title=told))

    def svg(self, description: str) -> str:
        """The whole picture; ``description`` says in words what it shows."""
        content = [tip(f"{self.title}. {description}"), *self._grid(), *self.parts]
        size = f"0 0 {WIDTH:.0f} {HEIGHT:.0f}"
        return element("svg", "".join(content), viewBox=size, role="img", cls="panel")

    def _grid(self) -> list[str]:
        right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
        found = []
        for value, text in self.y.ticks():
            y = self.place(self.x.low, value)[1]
            found.append(element("path", d=f"M{LEFT} {y:.1f}H{right}", cls="grid"))
            found.append(words(LEFT - 5, y + 3.5, text, "tick", "end"))
        if self.y.power:
            found.append(words(LEFT - 5, TOP - 2, f"× {power_of_ten(self.y.power)}", "tick", "end"))
        for value, text in self.x.ticks():
            x = self.place(value, self.y.low)[0]
            found.append(element("path", d=f"M{x:.1f} {bottom}v4", cls="axis"))
            found.append(words(x, bottom + 15, text, "tick", "middle"))
        found.append(element("path", d=f"M{LEFT} {TOP}V{bottom}H{right}", cls="axis"))
        found.append(words((LEFT + right) / 2, HEIGHT - 6, self.x.label, "label", "middle"))
        return found
