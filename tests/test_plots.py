"""How figures look: names with styles of their own, nothing on top of the data, files that are the same every time."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.image import imread

from orda.errors import UnknownName
from orda.experiments.simulate import bias_figure, dimension, drift, min_size, variance_vs_k
from orda.ordering import OPTIMISERS
from orda.plots import (
    ESTIMATES,
    STYLES,
    Band,
    curve,
    dots,
    estimates_key,
    finish,
    in_order,
    letter,
    level,
    log_ticks,
    look,
    new_figure,
    plain_ticks,
    save,
    style,
)
from orda.samplers import SAMPLERS

TOGETHER = {  # names that one panel shows
    "samplers": ("uniform", "kmeans++", "dpp", "anticlustering", "stratified", "greedy", "assignment"),
    "optimisers": ("as drawn", "greedy", "exchange", "assignment", "annealing", "tabu", "bound"),
    "dimension": dimension.SERIES,
    "drift": drift.DRAWN,
    "min-size": min_size.SERIES,
    "variance-vs-k": variance_vs_k.SERIES,
    "parts": ("greedy", "bound", "above the bound", "of the first tenth"),
    "bias": bias_figure.SERIES,
}


def test_every_sampler_and_optimiser_has_a_style() -> None:
    for name in (*SAMPLERS, *OPTIMISERS):
        assert style(name).label


def test_an_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'greedy'"):
        style("greedi")


@pytest.mark.parametrize("names", TOGETHER.values(), ids=list(TOGETHER))
def test_names_in_one_panel_differ_in_colour_and_in_marker(names: tuple[str, ...]) -> None:
    for a, b in itertools.combinations(map(style, names), 2):
        assert a.colour != b.colour or not b.marker  # a line without markers, dotted
        assert a.marker != b.marker
        assert a.label != b.label


MACHADO = {  # linear RGB → what dichromats see (Machado, Oliveira and Fernandes 2009, severity 1)
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(colour: str, vision: str) -> np.ndarray:
    """CIE L*a*b* (D65) of a colour as somebody sees it."""
    srgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(MACHADO[vision]) @ linear, 0, 1)
    matrix = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    f = np.cbrt(np.array(matrix) @ seen / [0.95047, 1.0, 1.08883])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", MACHADO)
@pytest.mark.parametrize("names", [TOGETHER["variance-vs-k"], TOGETHER["samplers"], TOGETHER["min-size"]])
def test_colours_are_told_apart_with_any_vision(names: tuple[str, ...], vision: str) -> None:
    for a, b in itertools.combinations(names, 2):
        apart = np.linalg.norm(lab(style(a).colour, vision) - lab(style(b).colour, vision))
        assert apart > 10, (a, b, vision)


def test_order_is_that_of_the_styles() -> None:
    assert in_order({"assignment", "uniform", "greedy"}) == ["uniform", "greedy", "assignment"]
    with pytest.raises(UnknownName):
        in_order(["nobody"])


def test_settings_outside_are_left_alone() -> None:
    before = dict(matplotlib.rcParams)
    with look():
        assert matplotlib.rcParams["svg.fonttype"] == "none"
    assert dict(matplotlib.rcParams) == before


def drawn(title: str = "A title", caption: str = "A caption. " * 30) -> Any:
    with look():
        figure, axes = new_figure(1, 2, height=2.0)
        x = np.array([1.0, 10.0, 100.0])
        for name in ("uniform", "stratified", "greedy", "assignment"):
            value = x ** (-1 - len(name) / 10)
            curve(axes[0, 0], x, Band(value, value / 2, value * 2), name)
            curve(axes[0, 0], x, value / 3, name, estimate="unbiased")
        axes[0, 0].set(xscale="log", yscale="log", xlabel="examples")
        plain_ticks(axes[0, 0].xaxis, (1, 10, 100))
        estimates_key(axes[0, 0])
        level(axes[0, 1], 0.4, "bound")
        band = Band(np.array([1.0, 2.0]), np.array([0.5, 1.0]), np.array([2.0, 4.0]))
        dots(axes[0, 1], band, ["uniform", "greedy"])
        letter(axes[0, 0], "first", 0)
        letter(axes[0, 1], "second", 1)
        finish(figure, title, caption)
    return figure


def test_files_are_the_same_every_time_and_hold_what_was_drawn(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(drawn(), tmp_path / f"{name}.png", tmp_path / f"{name}.svg")
    for kind in ("png", "svg"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    assert imread(tmp_path / "a.png").shape[1] == 1440
    svg = (tmp_path / "a.svg").read_text()
    for text in ("A title", "A caption.", "(a) first", "(b) second", "examples", "ordered, greedy (paper)"):
        assert text in svg
    assert "<dc:date>" not in svg


def test_the_legend_has_every_sampler_and_estimate_once() -> None:
    figure = drawn()
    assert len(figure.legends) == 1
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert sorted(labels) == sorted([
        *(STYLES[name].label for name in ("uniform", "stratified", "greedy", "assignment", "bound")),
        *(estimate.label for estimate in ESTIMATES.values()),
    ])  # fmt: skip


def test_nothing_overlaps_whatever_the_caption() -> None:
    for caption in ("Short.", "A longer caption. " * 40):
        figure = drawn(caption=caption)
        figure.draw_without_rendering()
        height = figure.get_window_extent().height
        panels = [axes.get_tightbbox() for axes in figure.axes]
        legend = figure.legends[0].get_window_extent()
        title, text = (found.get_window_extent() for found in figure.texts)
        assert max(panel.y1 for panel in panels) <= title.y0 + 1
        assert min(panel.y0 for panel in panels) >= legend.y1 - 1
        assert legend.y0 >= text.y1 - 1
        assert title.y1 <= height
        assert text.y0 >= 0
        assert max(panel.x1 for panel in panels) <= figure.get_window_extent().width
        assert text.x1 <= figure.get_window_extent().width


def test_ticks_are_written_out() -> None:
    with look():
        figure, axes = new_figure(1, 1, height=2.0)
        axes[0, 0].set(xscale="log", yscale="log", xlim=(1, 200), ylim=(0.02, 2))
        plain_ticks(axes[0, 0].xaxis, (2, 20, 200))
        log_ticks(axes[0, 0].yaxis)
        figure.draw_without_rendering()
        shown = [label.get_text() for label in axes[0, 0].get_xticklabels()]
        assert shown == ["2", "20", "200"]
        written = {label.get_text() for label in axes[0, 0].get_yticklabels() if label.get_text()}
        assert {"0.03", "0.1", "0.3", "1"} <= written
        assert all(re.fullmatch(r"[\d.]+", label) for label in written)
