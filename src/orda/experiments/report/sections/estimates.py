"""D̂ of the minibatches against D0 of all data, over training and by sampler.

Of every plan there are D0, the mean of D̂ over its M minibatches, and their variance. Networks drift apart, and D0 with
them, so samplers are compared by errors in units of D0:  bias² / D0² and variance / D0², means over the plans.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from orda.experiments.report.draw import Dot, Entry, Panel, Scale, dots, legend
from orda.experiments.report.gather import Chapter, RunView
from orda.experiments.report.html import figure, note, paragraph, section
from orda.experiments.report.series import Curve, bundle
from orda.plots import STYLES, Style

REMEDY = "`machine: {assess: true}` in the protocol (or --set assess=true) records it for every sampler."
DISCREPANCIES = ("coral", "mmd")
WIDE = 30  # ratio of values from which their axis is logarithmic


@dataclass(frozen=True, slots=True)
class Errors:
    """Of the estimates of one row, in units of D0²; means over plans, tasks and repeats."""

    bias_squared: float
    variance: float

    @property
    def mean_squared(self) -> float:
        return self.bias_squared + self.variance


def relative_errors(runs: Sequence[RunView]) -> Errors | None:
    """The errors of some runs' estimates; ``None`` where nothing is on record."""
    lines = [line for run in runs for line in run.assessments if line["d0"] > 0]
    if not lines:
        return None
    bias = [(line["bias"] / line["d0"]) ** 2 for line in lines]
    variance = [line["variance"] / line["d0"] ** 2 for line in lines]
    return Errors(fsum(bias) / len(bias), fsum(variance) / len(variance))


def assessed_rows(chapter: Chapter) -> list[str]:
    """The rows that minimise a discrepancy and have their estimates on record."""
    return [row for row in chapter.rows if any(_minimises(run) and run.assessments for run in chapter.of(row))]


def estimates_section(chapter: Chapter, prefix: str) -> str:
    """Both figures, and which rows are not in them."""
    rows = assessed_rows(chapter)
    wanting = [row for row in chapter.rows if any(map(_minimises, chapter.of(row))) and row not in rows]
    title = "Estimates against D0"
    if not rows:
        text = f"No run has its estimates on record. {REMEDY}" if wanting else "No run minimises a discrepancy."
        return section(f"{prefix}estimates", title, note(text))
    groups = _by_algorithm(chapter, rows)
    return section(
        f"{prefix}estimates",
        title,
        paragraph(
            "A minibatch's estimate D̂ should say what all data would: D0. What it misses is bias (the mean of D̂ is "
            "elsewhere) and variance (minibatches disagree)."
        ),
        *(_over_training(chapter, name, found) for name, found in groups.items()),
        *(_by_sampler(chapter, name, found) for name, found in groups.items()),
        note(f"Not on record for {', '.join(wanting)}. {REMEDY}") if wanting else "",
    )


def _over_training(chapter: Chapter, name: str, rows: Sequence[str]) -> str:
    """A panel a row; all with one axis."""
    tasks = list(chapter.tasks)
    if chapter.results is None and len(tasks) > 1:
        tasks = tasks[:1]
    found = {row: _lines(chapter.of(row), tasks) for row in rows}
    found = {row: lines for row, lines in found.items() if lines["d0"]}
    if not found:
        return note(f"{name}: no repeat has the estimates of all tasks.")
    every = [v for lines in found.values() for v in (*lines["d0"].values(), *lines["mean"].values())]
    tops = [v + sqrt(lines["variance"][s]) for lines in found.values() for s, v in lines["mean"].items()]
    positive = [v for v in every if v > 0]
    log = bool(positive) and len(positive) == len(every) and max(tops) / min(positive) > WIDE
    x = Scale.over((s for lines in found.values() for s in lines["d0"]), zero=True, label="training step")
    y = Scale.over([*every, *tops], log=log, zero=not log)
    panels = [(row, _panel(row, lines, chapter.styles[row], x, y)) for row, lines in found.items()]
    over = "means over tasks and repeats" if len(tasks) > 1 else f"means over the repeats on {chapter.tasks[tasks[0]]}"
    return figure(
        f"{name}: the mean of D̂ over each plan's minibatches, a band of one standard deviation of D̂ about it, and D0 "
        f"on the same features; {over}. One axis for all{', logarithmic' if log else ''}.",
        panels,
        legend([*((row, chapter.styles[row]) for row in found), (STYLES["d0"].label, STYLES["d0"])]),
    )


def _panel(row: str, lines: Mapping[str, Curve], style: Style, x: Scale, y: Scale) -> str:
    panel = Panel(f"{row}: estimates over training", x, y)
    steps, mean = list(lines["mean"]), list(lines["mean"].values())
    spread = [sqrt(lines["variance"][step]) for step in steps]
    low = [max(v - s, y.low) for v, s in zip(mean, spread, strict=True)]
    high = [v + s for v, s in zip(mean, spread, strict=True)]
    panel.band(steps, low, high, style)
    panel.thick(steps, mean, style, "mean D̂")
    panel.thick(list(lines["d0"]), list(lines["d0"].values()), STYLES["d0"], "D0")
    last = steps[-1]
    return panel.svg(
        f"At step {last}: D0 {lines['d0'][last]:.3g}, mean of the estimates {lines['mean'][last]:.3g}, "
        f"standard deviation {sqrt(lines['variance'][last]):.2g}."
    )


def _by_sampler(chapter: Chapter, name: str, rows: Sequence[str]) -> str:
    found = {row: errors for row in rows if (errors := relative_errors(chapter.of(row))) is not None}
    values = [v for errors in found.values() for v in (errors.bias_squared, errors.variance) if v > 0]
    if not values:
        return ""
    scale = Scale.over(values, log=True, label="in units of D0² (logarithmic)", margin=0.06)
    entries = [Entry(row, chapter.styles[row], _dots(errors), _beside(errors)) for row, errors in found.items()]
    told = "; ".join(f"{row}: bias² {e.bias_squared:.2g}, variance {e.variance:.2g}" for row, e in found.items())
    picture = dots(f"{name}: bias and variance of the estimates", told, entries, scale)
    return figure(
        f"{name}: filled, the variance of D̂; hollow, the square of its bias; at the right, the root of their sum. "
        "All relative to D0, means over the plans of the runs above.",
        [("Bias and variance by sampler", picture)],
        cls="narrow",
    )


def _dots(errors: Errors) -> tuple[Dot, ...]:
    return (
        Dot(errors.bias_squared, told=f"bias² {errors.bias_squared:.3g} D0²", hollow=True),
        Dot(errors.variance, told=f"variance {errors.variance:.3g} D0²"),
    )


def _beside(errors: Errors) -> str:
    return f"off by {100 * sqrt(errors.mean_squared):.3g} % of D0"


def _lines(runs: Sequence[RunView], tasks: Sequence[str]) -> dict[str, Curve]:
    return {key: bundle(runs, tasks, _value(key)).mean for key in ("d0", "mean", "variance")}


def _value(key: str) -> Callable[[RunView], Curve]:
    return lambda run: {int(line["step"]): line[key] for line in run.assessments}


def _minimises(run: RunView) -> bool:
    return run.config.algorithm.name in DISCREPANCIES


def _by_algorithm(chapter: Chapter, rows: Sequence[str]) -> dict[str, list[str]]:
    """Rows that estimate one and the same discrepancy: groups of a sweep, algorithms elsewhere."""
    groups = {} if chapter.results is None else {row.name: row.group for row in chapter.results.rows}
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(groups.get(row, chapter.of(row)[0].config.algorithm.name.upper()), []).append(row)
    return found
