"""Elements and markers: escaped, distinct, where they should be."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orda.experiments.report.draw import Dot, Entry, Panel, Part, Scale, dots, element, legend, stacked
from orda.experiments.report.draw.marks import marker_path, outline
from orda.experiments.report.draw.shades import bright, channels, contrast
from orda.experiments.report.sheet import CONTRAST, DARK, on_dark
from orda.plots import STYLES

WORDS = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=12)
STYLE = STYLES["ordered"]


@given(WORDS)
def test_any_text_survives_in_attributes_and_figures(text: str) -> None:
    assert ElementTree.fromstring(element("a", cls=text)).get("class") == text
    panel = Panel(text, Scale(0, 1, label=text), Scale(0, 1))
    panel.thick([0, 1], [0, 1], STYLE, text)
    entries = [Entry(text, STYLE, (Dot(0.5, 0.2, 0.8, text),), text)]
    part = [(text, text, [Part(text, STYLE, 0.5)])]
    for svg in (panel.svg(text), dots(text, text, entries, Scale(0, 1)), stacked(text, text, part, Scale(0, 1), "s")):
        assert ElementTree.fromstring(svg).tag == "svg"
    ElementTree.fromstring(legend([(text, STYLE)]))


@pytest.mark.parametrize("kind", sorted({style.marker for style in STYLES.values()} - {"o", ""}))
def test_markers_are_of_one_size_about_their_place(kind: str) -> None:
    corners = np.array(outline(kind))
    assert np.abs(corners.mean(0)).max() < 0.05
    assert 0.8 < np.abs(corners).max() < 1.4
    numbers = [float(v) for v in re.findall(r"-?[\d.]+", marker_path(kind, 100.0, 50.0, 4.0))]
    assert np.allclose(np.array(numbers).reshape(-1, 2), corners * 4 + [100, 50], atol=0.051)


def test_markers_differ() -> None:
    kinds = sorted({style.marker for style in STYLES.values()} - {""})
    assert len({marker_path(kind, 0.0, 0.0, 10.0) for kind in kinds}) == len(kinds)


def test_a_line_goes_through_its_values() -> None:
    panel = Panel("", Scale(0, 10), Scale(0, 1))
    left, right = panel.place(0, 0), panel.place(10, 1)
    panel.thin([0, 10], [0, 1], STYLE)
    d = ElementTree.fromstring(panel.parts[-1]).get("d")
    assert [float(v) for v in re.findall(r"[\d.]+", d or "")] == pytest.approx([*left, *right], abs=0.051)
    assert left[0] < right[0]
    assert left[1] > right[1]  # up is less in SVG


def test_parts_add_up_to_the_whole() -> None:
    values = [3.0, 1.0, 4.0]
    svg = stacked("", "", [("a", "8", [Part("p", STYLE, v) for v in values])], Scale(0, 8), "s")
    bars = [node for node in ElementTree.fromstring(svg).iter() if node.tag == "rect"]
    widths = [float(bar.get("width", "")) for bar in bars]
    assert np.allclose(widths, np.array(values) / 8 * (340 - 16), atol=0.06)
    ends = [float(bar.get("x", "")) + width for bar, width in zip(bars, widths, strict=True)]
    assert np.allclose(ends[:-1], [float(bar.get("x", "")) for bar in bars[1:]], atol=0.11)


@pytest.mark.parametrize("colour", sorted({style.colour for style in STYLES.values()}))
def test_colours_are_seen_on_either_page(colour: str) -> None:
    assert contrast(channels(on_dark(colour)), channels(DARK)) >= CONTRAST
    ink = [0, 0, 0] if bright(colour) else [255, 255, 255]
    assert contrast(ink, channels(colour)) >= 4.5


def test_contrast_is_wcags() -> None:
    assert contrast([0, 0, 0], [255, 255, 255]) == pytest.approx(21)
    assert contrast([119, 119, 119], [255, 255, 255]) == pytest.approx(4.48, abs=0.01)
    assert on_dark("#000000") == "#ffffff"
