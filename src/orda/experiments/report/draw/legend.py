"""The legend of a figure, in HTML, so that it breaks its lines as the page does."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from orda.experiments.report.draw.marks import colour_class, element, marker, path
from orda.plots import Style


def legend(entries: Iterable[tuple[str, Style]], kind: str = "line") -> str:
    """Names with what stands for them: a "line" with its marker, a "mark", or a "patch"."""
    items = "".join(f"<li>{swatch(style, kind)} {escape(name)}</li>" for name, style in entries)
    return f'<ul class="legend">{items}</ul>\n'


def swatch(style: Style, kind: str = "line") -> str:
    """A small picture of a style."""
    if kind == "patch":
        drawn = element("rect", x=4, y=2, width=18, height=10, cls=f"part {colour_class(style)}")
    else:
        drawn = path([(0.0, 7.0), (26.0, 7.0)], style, "thick") if kind == "line" else ""
        drawn += marker(13.0, 7.0, style, 4.0) if style.marker else ""
    return element("svg", drawn, viewBox="0 0 26 14", cls="swatch", aria_hidden="true")
