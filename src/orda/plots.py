"""How figures look: the one place that knows the colour and the marker of every sampler, optimiser and solver.

A figure is drawn in three steps, all inside ``look()``:

    figure, axes = new_figure(columns=2, height=3.2)
    curve(axes[0, 0], x, Band(value, low, high), "greedy")
    finish(figure, title="…", caption="…")        # title above, legend and caption below, nothing on top of the data

and ``save`` writes it as PNG and as SVG, the same bytes every time, the text of the SVG as text.
Colours are Okabe and Ito's where they suffice and Tol's for the rest: told apart with any colour vision. Every name
also has a marker of its own, so that nothing hangs on colour alone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from orda.errors import UnknownName
from orda.records import FloatArray

WIDTH = 7.2  # inches: two columns of a journal page
DPI = 200
FONT = 8.0  # points
LINE = 0.16  # inches from one line of small text to the next
MARGIN = 0.06  # inches at the edges


@dataclass(frozen=True, slots=True)
class Style:
    """How one name is drawn wherever it appears."""

    label: str
    colour: str
    marker: str
    line: str = "-"


STYLES: dict[str, Style] = {
    "uniform": Style("uniform", "#000000", "o"),
    "kmeans++": Style("k-means++", "#999933", "P"),
    "dpp": Style("k-DPP", "#56B4E9", "X"),
    "anticlustering": Style("anticlustering", "#CC79A7", "D"),
    "stratified": Style("stratified (VaRDASS)", "#E69F00", "s"),
    "ordered": Style("ordered", "#0072B2", "^"),
    "as drawn": Style("pool as drawn", "#777777", "p"),
    "greedy": Style("ordered, greedy (paper)", "#D55E00", "v"),
    "exchange": Style("ordered, exchange", "#009E73", "<"),
    "assignment": Style("ordered, assignment", "#0072B2", "^"),
    "annealing": Style("ordered, annealing", "#332288", "*"),
    "tabu": Style("ordered, tabu", "#882255", "h"),
    "assignment embedding": Style("ordered, assignment, embedding", "#88CCEE", ">", "--"),
    "greedy embedding": Style("ordered, greedy, embedding", "#DDAA77", "d", "--"),
    "bound": Style("lower bound of the pool", "#777777", "", ":"),
    "off-diagonal": Style("mean kernel value off the diagonal / on it", "#777777", "", ":"),
    "above the bound": Style("above the bound: the single pass", "#CC79A7", "D"),
    "of the first tenth": Style("in the first tenth of the minibatches", "#56B4E9", "X"),
    "algorithm 1": Style("Algorithm 1", "#D55E00", "v"),
    "interior point": Style("interior point, relaxed", "#0072B2", "^"),
    "interior point rounded": Style("interior point, rounded", "#009E73", "<"),
    "linear program": Style("linear program, unweighted", "#E69F00", "s"),
    "algorithm 1 best": Style("Algorithm 1, best order", "#D55E00", "", "--"),
    "interior point rounded best": Style("interior point, rounded, best start", "#009E73", "", "--"),
    "erm": Style("ERM", "#777777", "p"),
    "dann": Style("DANN", "#882255", "h"),
    "cdan": Style("CDAN", "#CC79A7", "D"),
    "cdan-sdat": Style("CDAN + SDAT", "#332288", "*"),
    "cdan-els": Style("CDAN + ELS", "#56B4E9", "X"),
    "arm": Style("ARM", "#009E73", "<"),
    "mcc": Style("MCC", "#999933", "P"),
    "coral": Style("CORAL", "#000000", "o"),
    "mmd": Style("MMD", "#E69F00", "s"),
    "source": Style("source", "#0072B2", "o"),
    "target": Style("target", "#D55E00", "^"),
    "d0": Style("D0, of all data", "#882255", "", "--"),
}


@dataclass(frozen=True, slots=True)
class EstimateStyle:
    """The line of an estimate, in the colour of its sampler."""

    label: str
    line: str
    marker: Literal["filled", "hollow", "none"]


ESTIMATES: dict[str, EstimateStyle] = {
    "plug-in": EstimateStyle("plug-in estimate", "-", "filled"),
    "plug-in, two draws": EstimateStyle("plug-in estimate, two draws a stratum", ":", "none"),
    "unbiased": EstimateStyle("unbiased estimate", "--", "hollow"),
}

Share = bool | Literal["none", "all", "row", "col"]

_LOOK = {
    "figure.dpi": 100,
    "savefig.dpi": DPI,
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": FONT,
    "mathtext.fontset": "dejavusans",
    "axes.titlesize": FONT + 0.5,
    "axes.labelsize": FONT,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "xtick.labelsize": FONT - 0.5,
    "ytick.labelsize": FONT - 0.5,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "legend.fontsize": FONT,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "svg.fonttype": "none",  # text stays text: it can be searched, and set in the page's font
    "svg.hashsalt": "orda",
}


@dataclass(frozen=True, slots=True)
class Band:
    """Values with the ends of their intervals."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


def style(name: str) -> Style:
    """The style of a sampler, an optimiser or a solver."""
    if name not in STYLES:
        raise UnknownName("name to draw", name, STYLES)
    return STYLES[name]


def in_order(names: Iterable[str]) -> list[str]:
    """Names in the order in which every figure lists them."""
    names = list(names)
    for name in names:
        style(name)
    return sorted(names, key=list(STYLES).index)


@contextmanager
def look() -> Iterator[None]:
    """Inside, matplotlib draws orda's way; the settings outside are left alone."""
    with matplotlib.rc_context(_LOOK):
        yield


def new_figure(
    rows: int = 1, columns: int = 1, *, height: float, share_x: Share = False, share_y: Share = False
) -> tuple[Any, Any]:
    """A figure of the page's width and its axes (rows, columns); ``height`` (inches) is that of the axes' part."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, sharex=share_x, sharey=share_y)


def curve(
    axes: Any, x: Sequence[float] | FloatArray, band: Band | FloatArray, name: str, *, estimate: str = "plug-in"
) -> None:
    """A line with markers in the style of ``name``, over its band where there is one.

    An ``estimate`` other than plug-in has a line of its own, and no place in the legend: see ``estimates_key``.
    """
    look_of, plain, line = style(name), estimate == "plug-in", ESTIMATES[estimate]
    value = band.value if isinstance(band, Band) else band
    if isinstance(band, Band):
        axes.fill_between(x, band.low, band.high, color=look_of.colour, alpha=0.18, linewidth=0)
    hollow = line.marker == "hollow"
    axes.plot(
        x,
        value,
        look_of.line if plain else line.line,
        color=look_of.colour,
        marker=None if line.marker == "none" else look_of.marker or None,
        markerfacecolor="white" if hollow else look_of.colour,
        markeredgecolor=look_of.colour if hollow else "white",
        markeredgewidth=1.0 if hollow else 0.5,
        label=look_of.label if plain else "_",
    )


def estimates_key(axes: Any) -> None:
    """A line in the legend for each estimate, in grey, since the colours are the samplers'."""
    for line in ESTIMATES.values():
        inside, marker = "white" if line.marker == "hollow" else "#555555", "" if line.marker == "none" else "o"
        axes.plot([], [], line.line, color="#555555", marker=marker, markerfacecolor=inside, label=line.label)


def level(axes: Any, value: float, name: str) -> None:
    """A horizontal line without markers, in the style of ``name``."""
    look_of = style(name)
    axes.axhline(value, color=look_of.colour, linestyle=look_of.line, label=look_of.label)


def dots(axes: Any, band: Band, names: Sequence[str], *, hollow: bool = False) -> None:
    """One row a name, from the top: its value as a marker, filled and on its interval or hollow and alone."""
    for row, name in enumerate(names):
        look_of = style(name)
        if not hollow:
            axes.plot([band.low[row], band.high[row]], [row, row], "-", color=look_of.colour, linewidth=2.2, alpha=0.45)
        inside, edge, width = ("white", look_of.colour, 1.0) if hollow else (look_of.colour, "white", 0.5)
        axes.plot(
            band.value[row],
            row,
            look_of.marker,
            markerfacecolor=inside,
            markeredgecolor=edge,
            markeredgewidth=width,
            markersize=6.5,
        )
    axes.set_yticks(range(len(names)), [style(name).label for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)


def plain_ticks(axis: Any, ticks: Iterable[float]) -> None:
    """Ticks at these values, written out, on a logarithmic axis too."""
    axis.set_ticks(list(ticks))
    written_out(axis)


def log_ticks(axis: Any) -> None:
    """A logarithmic axis of few decades: ticks at 1 and 3 times the powers of ten, written out."""
    axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    written_out(axis)


def written_out(axis: Any) -> None:
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def letter(axes: Any, title: str, number: int) -> None:
    """The panel's letter and title, at its left."""
    axes.set_title(f"({chr(ord('a') + number)}) {title}", loc="left")


def finish(figure: Any, title: str, caption: str, *, columns: int = 3) -> None:
    """Title above; below the axes one legend of everything drawn, then the caption. The figure grows by what they take.

    Called once, when all is drawn.
    """
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    entries = -(-len(handles) // columns)
    lines = textwrap.wrap(" ".join(caption.split()), width=int(WIDTH * 17.4))
    legend_height, caption_height = LINE * 1.05 * entries + MARGIN, LINE * 0.95 * len(lines) + 2 * MARGIN
    width, height = figure.get_size_inches()
    bottom, top = legend_height + caption_height, LINE * 1.5 + MARGIN
    total = height + bottom + top
    figure.set_size_inches(width, total)
    figure.get_layout_engine().set(rect=(0.004, bottom / total, 0.992, height / total), w_pad=0.05, h_pad=0.05)
    figure.text(0.008, 1 - MARGIN / total, title, va="top", ha="left", fontsize=FONT + 2, fontweight="bold")
    if handles:
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="upper center",
            bbox_to_anchor=(0.5, bottom / total),
            ncols=min(columns, len(handles)),
            borderaxespad=0,
            columnspacing=2.0,
            handlelength=2.6,
        )
    figure.text(
        0.008,
        (caption_height - MARGIN) / total,
        "\n".join(lines),
        va="top",
        ha="left",
        fontsize=FONT - 0.5,
        linespacing=1.3,
    )


def save(figure: Any, png: Path, svg: Path) -> None:
    """Both formats, without a date or a version in them."""
    with look():
        figure.savefig(png, format="png", metadata={"Software": None})
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
