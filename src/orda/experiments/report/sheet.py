"""The style sheet: ``style.css``, that of the tables, and the colours of ``orda.plots`` in light and in dark."""

from __future__ import annotations

from importlib import resources

from orda.experiments.report.draw import colour_class
from orda.experiments.report.draw.shades import channels, contrast
from orda.experiments.tables import STYLE
from orda.plots import STYLES

DARK = "#15191e"  # the page in the dark, as in style.css
CONTRAST = 4.0  # of a colour against it, at least


def style_sheet() -> str:
    """All of it."""
    own = resources.files("orda.experiments.report").joinpath("style.css").read_text(encoding="utf-8")
    colours = {colour_class(style): style.colour for style in STYLES.values()}
    light = "\n".join(f".{name} {{ --c: {colour}; }}" for name, colour in colours.items())
    dark = "\n".join(f"  .{name} {{ --c: {on_dark(colour)}; }}" for name, colour in colours.items())
    return f"{STYLE.lstrip()}{own}{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def on_dark(colour: str) -> str:
    """The colour with as much white in it as it takes to be seen on a dark page; of a grey its negative, so that black
    stays what is furthest from the page."""
    own = channels(colour)
    if len(set(own)) == 1:
        return "#" + 3 * f"{255 - own[0]:02x}"
    for share in range(0, 101, 5):
        mixed = [round(value + (255 - value) * share / 100) for value in own]
        if contrast(mixed, channels(DARK)) >= CONTRAST:
            return "#" + "".join(f"{value:02x}" for value in mixed)
    return "#ffffff"
