"""Accuracies by task and rows against each other: the tables of ``orda tables``, and their numbers as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orda.experiments.report.draw import Dot, Entry, Scale, dots
from orda.experiments.report.gather import Chapter, RunView
from orda.experiments.report.html import figure, paragraph, section, side_by_side, table
from orda.experiments.tables import (
    Cell,
    Comparison,
    accuracy_table,
    comparison_table,
    grid_of,
    to_html,
)
from orda.plots import Style


def accuracy_section(chapter: Chapter, prefix: str) -> str:
    """Accuracies: of a sweep by row and task, else run by run."""
    if chapter.results is None:
        return section(f"{prefix}accuracy", "Accuracy", _runs_table(chapter))
    made = accuracy_table(chapter.results)
    cells = {line.name: line.cells[-1] for line in made.lines}
    what = "average over the tasks" if len(chapter.tasks) > 1 else "target accuracy"
    pictures = _means(chapter, cells, what, made.title)
    return section(f"{prefix}accuracy", "Accuracy", side_by_side(pictures, to_html(grid_of(made))))


def _means(chapter: Chapter, cells: dict[str, Cell], what: str, title: str) -> str:
    """Means with their standard errors."""
    found = {row: cell for row, cell in cells.items() if cell.mean is not None}
    if not found:
        return ""
    entries, ends = [], []
    for row, cell in found.items():
        mean, error = cell.mean or 0.0, cell.error or 0.0
        ends += [mean - error, mean + error]
        told = f"{row}: {_percent(mean)}" + (f" ± {_percent(error)}" if cell.error is not None else "") + " %"
        low, high = (mean - error, mean + error) if cell.error is not None else (None, None)
        beside = told.removeprefix(f"{row}: ")
        entries.append(Entry(row, chapter.styles[row], (Dot(mean, low, high, told),), beside))
    scale = Scale.over(ends, label=f"{what}, % (not from zero)", numbers="percent")
    picture = dots(title, "; ".join(entry.dots[0].told for entry in entries), entries, scale)
    caption = "Mean over the repeats, and one standard error to either side; the same numbers as in the table."
    return figure(caption, [(what.capitalize(), picture)], cls="narrow")


def comparisons_section(chapter: Chapter, prefix: str) -> str:
    """Paired differences; nothing where no group compares samplers."""
    if chapter.results is None:
        return ""
    made = comparison_table(chapter.results)
    if not made.items:
        return ""
    styles = chapter.styles
    drawn = [item for item in made.items if item.difference is not None]
    return section(
        f"{prefix}comparisons",
        "Samplers against each other",
        paragraph("The same tasks, splits, seeds and candidates for the hyperparameters; another sampler."),
        _forest(drawn, styles) if drawn else "",
        to_html(grid_of(made)),
    )


def _forest(items: Sequence[Comparison], styles: Mapping[str, Style]) -> str:
    entries, ends = [], [0.0]
    for item in items:
        difference = item.difference or 0.0
        ends += [v for v in (difference, item.low, item.high) if v is not None]
        pair = f"{item.row} against {item.against}"
        dot = Dot(100 * difference, *_ends(item), told=f"{pair}: {points(difference)}{interval(item)}")
        below = f"against {item.against}"
        entries.append(Entry(item.row, styles[item.row], (dot,), points(difference), below))
    scale = Scale.over([100 * v for v in ends], label="difference, percentage points", numbers="signed")
    picture = dots("Paired differences", "; ".join(e.dots[0].told for e in entries), entries, scale, level=0.0)
    caption = "Mean difference over the repeats and its 95% interval; right of the line the first of the two is better."
    return figure(caption, [("Paired differences in accuracy", picture)], cls="narrow")


def _ends(item: Comparison) -> tuple[float | None, float | None]:
    return (None, None) if item.low is None or item.high is None else (100 * item.low, 100 * item.high)


def points(share: float) -> str:
    """A difference in percentage points."""
    return f"{100 * share:+.1f}".replace("-", "−")


def interval(item: Comparison) -> str:
    """The interval of a comparison in words; nothing for one repeat."""
    if item.low is None or item.high is None:
        return ""
    return f" (95% interval {points(item.low)} to {points(item.high)})"


def _runs_table(chapter: Chapter) -> str:
    heads = ("Run", "Folder", "Task", "Selected step", "Source validation", "Target accuracy", "Seconds")
    told = (
        "In % at the evaluation with the best source validation accuracy, of target images that training never saw. "
        "Target labels decide nothing."
    )
    return paragraph(told) + table("Accuracy", heads, [_run_row(run) for run in chapter.runs], words=(0, 1, 2))


def _run_row(run: RunView) -> tuple[str, ...]:
    result = run.result
    shares = [
        _percent(share) if share is not None else "" for share in (result.source_validation, result.target_accuracy)
    ]
    diverged = " (diverged)" if result.status == "diverged" else ""
    step = "" if result.selected_step is None else f"{result.selected_step:,}"
    return run.row + diverged, run.folder.name, run.task, step, *shares, f"{result.seconds['total']:.1f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
