"""Where the seconds went: the table of training times, and the parts of a run by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum

from orda.experiments.report.draw import Part, Scale, legend, stacked
from orda.experiments.report.gather import Chapter, RunView
from orda.experiments.report.html import details, figure, section, table
from orda.experiments.report.looks import PARTS, part_style, part_words
from orda.experiments.tables import grid_of, time_table, to_html

SMALL = 0.005  # of all seconds: parts below it count as the rest


def times_section(chapter: Chapter, prefix: str) -> str:
    """Seconds by sampler, and by part."""
    made = to_html(grid_of(time_table([chapter.results]))) if chapter.results is not None else ""
    runs = [run for run in chapter.runs if run.result.status != "diverged"]
    return section(f"{prefix}times", "Time", _parts(chapter, runs) if runs else "", made)


def _parts(chapter: Chapter, runs: Sequence[RunView]) -> str:
    found = {row: mean_seconds([run for run in runs if run.row == row]) for row in chapter.rows}
    found = {row: seconds for row, seconds in found.items() if seconds}
    names = _worth_telling(found)
    lines = []
    for row, seconds in found.items():
        parts = [Part(name, part_style(name), seconds.get(name, 0.0)) for name in names]
        rest = fsum(seconds.values()) - fsum(part.value for part in parts)
        parts.append(Part("rest", part_style("rest"), max(0.0, rest)))
        lines.append((row, f"{worked(seconds):.3g} s", [part for part in parts if part.value > 0]))
    scale = Scale.over([fsum(seconds.values()) for seconds in found.values()], zero=True, label="seconds a run")
    told = "; ".join(f"{row} {beside}" for row, beside, _ in lines)
    picture = stacked("Seconds a run, by part", told, lines, scale, "s")
    shown = [(f"{name}: {part_words(name)}", part_style(name)) for name in (*names, "rest")]
    every = [*names, *(name for seconds in found.values() for name in seconds if name not in names)]
    columns = list(dict.fromkeys(every))
    numbers = table(
        "Seconds a run by part",
        ("Method", *columns, "without assess"),
        [(row, *(f"{s.get(name, 0.0):.2f}" for name in columns), f"{worked(s):.2f}") for row, s in found.items()],
    )
    caption = (
        "Mean wall-clock seconds of the runs in this report (the chosen one of every row, task and repeat) on the "
        "machines that did them; every moment is charged to one part. Diagnostics (assess) are no part of a method: "
        "the totals, and the table of training times, are without them."
    )
    return figure(caption, [("Seconds a run, by part", picture)], legend(shown, "patch"), "wide") + details(
        "The numbers", numbers
    )


def worked(seconds: Mapping[str, float]) -> float:
    """All seconds but those of diagnostics that were asked for."""
    return fsum(value for name, value in seconds.items() if name != "assess")


def mean_seconds(runs: Sequence[RunView]) -> Mapping[str, float]:
    """Mean seconds by part; they add up to the mean total."""
    names = dict.fromkeys(name for run in runs for name in run.result.seconds if name != "total")
    return {name: fsum(run.result.seconds.get(name, 0.0) for run in runs) / len(runs) for name in names}


def _worth_telling(found: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The parts that somewhere take more than a little, in one order; the rest is told together."""
    names = {
        name
        for seconds in found.values()
        for name, value in seconds.items()
        if name != "rest" and value > SMALL * fsum(seconds.values())
    }
    return [name for name in PARTS if name in names] + sorted(names - set(PARTS))
