"""Learning curves: accuracies and losses by step, a thin line a repeat, a thick one their mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from orda.experiments.report.draw import Panel, Scale, legend
from orda.experiments.report.gather import Chapter, RunView
from orda.experiments.report.html import count, details, figure, note, paragraph, section
from orda.experiments.report.series import Bundle, Curve, bundle

ROWS = 8  # in one figure at most; where there are more, each group has its own
TASKS = 4  # that have figures of their own
LOSSES = 4
LABEL = "training step"
TITLES = {"task": "Task loss", "discrepancy": "Discrepancy of minibatches, D̂", "loss": "Loss, all terms"}


def curves_section(chapter: Chapter, prefix: str) -> str:
    """All learning curves of a chapter."""
    tasks = list(chapter.tasks)
    scopes = [(f"Task: {heading}", [task]) for task, heading in chapter.tasks.items()]
    overall = [("Mean over the tasks", tasks)] if len(tasks) > 1 and chapter.results is not None else []
    first, rest = (overall, scopes) if overall else (scopes[:TASKS], [])
    shown = [_figures(chapter, *scope) for scope in first]
    if not any(shown):
        text = "No learning curves: the runs have no lines in metrics.jsonl, or no repeat has all tasks."
        return section(f"{prefix}curves", "Learning curves", note(text))
    more = "".join(_figures(chapter, *scope) for scope in rest[:TASKS])
    left = len(rest) - TASKS
    more += note(f"{count(left, 'more task')} left out.") if left > 0 else ""
    return section(
        f"{prefix}curves",
        "Learning curves",
        paragraph("Training sees source labels only; the target's accuracy is measured on held-out images."),
        "".join(shown),
        details("Task by task", more) if rest else "",
    )


def _figures(chapter: Chapter, heading: str, tasks: Sequence[str]) -> str:
    return "".join(_figure(chapter, rows, heading, tasks) for rows in row_groups(chapter))


def row_groups(chapter: Chapter) -> list[list[str]]:
    """Which rows share a figure."""
    if len(chapter.rows) <= ROWS or chapter.results is None:
        return [chapter.rows]
    groups: dict[str, list[str]] = {}
    for row in chapter.results.rows:
        if row.name in chapter.rows:
            groups.setdefault(row.group, []).append(row.name)
    return list(groups.values())


def _figure(chapter: Chapter, rows: Sequence[str], heading: str, tasks: Sequence[str]) -> str:
    panels, repeats = [], 0
    for title, curve, percent in _measures(chapter, rows):
        found = {row: bundle(chapter.of(row), tasks, curve) for row in rows}
        found = {row: each for row, each in found.items() if each}
        if found:
            repeats = max(repeats, *(len(each.repeats) for each in found.values()))
            panels.append((title, _panel(chapter, f"{title}, {heading}", found, percent)))
    if not panels:
        return ""
    lines = "thin lines: single repeats, thick: their mean." if repeats > 1 else "one repeat."
    shown = [(row, chapter.styles[row]) for row in rows]
    return figure(f"{heading}; {lines}", panels, legend(shown))


def _panel(chapter: Chapter, title: str, found: Mapping[str, Bundle], percent: bool) -> str:
    every = [curve for each in found.values() for curve in (*each.repeats.values(), each.mean)]
    x = Scale.over((step for curve in every for step in curve), zero=True, label=LABEL)
    y = Scale.over((v for curve in every for v in curve.values()), numbers="percent" if percent else "plain")
    panel = Panel(title, x, y)
    for row, each in found.items():
        if len(each.repeats) > 1:
            for repeat, curve in each.repeats.items():
                panel.thin(list(curve), list(curve.values()), chapter.styles[row], f"{row}, repeat {repeat}")
    for row, each in found.items():
        panel.thick(list(each.mean), list(each.mean.values()), chapter.styles[row], row)
    ends = [f"{row} {y.text(float(f'{list(each.mean.values())[-1]:.4g}'))}" for row, each in found.items()]
    return panel.svg(f"After the last step: {'; '.join(ends)}.")


def _measures(chapter: Chapter, rows: Sequence[str]) -> Iterator[tuple[str, Callable[[RunView], Curve], bool]]:
    """What is drawn: a title, where its values are, and whether they are shares."""
    yield "Accuracy, source validation", _evaluated("source_validation"), True
    yield "Accuracy, target", _evaluated("target_accuracy"), True
    runs = [run for row in rows for run in chapter.of(row)]
    names = dict.fromkeys(name for run in runs for line in run.losses for name in line["losses"])
    order = sorted(names, key=lambda name: (name != "task", name == "loss"))
    if set(order) == {"task", "loss"}:
        order = ["task"]  # nothing is added to it
    for name in order[:LOSSES]:
        yield TITLES.get(name, f"Loss: {name}"), _lost(name), False


def _evaluated(key: str) -> Callable[[RunView], Curve]:
    return lambda run: {line["step"]: line[key] for line in run.evaluations}


def _lost(name: str) -> Callable[[RunView], Curve]:
    return lambda run: {line["step"]: line["losses"][name] for line in run.losses if name in line["losses"]}
