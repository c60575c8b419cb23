"""Figures as SVG: text stays text, colours follow the page into the dark, and a value is told under the pointer."""

from orda.experiments.report.draw.bars import Dot, Entry, Part, dots, stacked
from orda.experiments.report.draw.legend import legend, swatch
from orda.experiments.report.draw.marks import cloud, colour_class, element, tip, words
from orda.experiments.report.draw.panel import Panel
from orda.experiments.report.draw.scale import Scale

__all__ = [
    "Dot",
    "Entry",
    "Panel",
    "Part",
    "Scale",
    "cloud",
    "colour_class",
    "dots",
    "element",
    "legend",
    "stacked",
    "swatch",
    "tip",
    "words",
]
