"""The hyperparameters: what every row set, what was drawn, and which draws the selection took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from orda.algorithms import make_settings
from orda.algorithms.settings import Settings
from orda.experiments.report.gather import Chapter, RunView
from orda.experiments.report.html import count, details, note, paragraph, section, table

LINES = 500  # of the full list, at most
SHOWN = ("batch_size", "horizon", "steps", "model.name")  # of every run, besides its algorithm's and sampler's settings


def chosen_section(chapter: Chapter, prefix: str) -> str:
    """Chosen draws where there was a search, and the settings of all rows."""
    draws = max((run.draw for run in chapter.runs), default=0)
    asked = 1 if chapter.results is None else chapter.results.protocol.search.draws
    if asked > 1 or draws:
        rule = (
            f"Of {count(asked, 'draw')} of hyperparameters for each row, task and repeat, the one with the best source "
            "validation accuracy counts; draw 0 is the defaults."
        )
        found = paragraph(rule) + _summary(chapter) + details("Every choice", _choices(chapter))
    else:
        found = paragraph("No search: every run has the settings below.")
    return section(f"{prefix}hyperparameters", "Hyperparameters", found, _settings(chapter))


def _summary(chapter: Chapter) -> str:
    keys = _drawn_keys(chapter)
    rows = []
    for row in chapter.rows:
        runs = chapter.of(row)
        taken = Counter(run.draw for run in runs)
        often = ", ".join(f"{draw} (×{n})" if n > 1 else str(draw) for draw, n in sorted(taken.items()))
        rows.append((row, often, *(_range([_value(run, key) for run in runs]) for key in keys)))
    return table(
        "Chosen draws by row, and what they set: the median, and the least and the greatest where they differ",
        ("Method", "Draws chosen", *map(_short, keys)),
        rows,
        words=(0, 1),
    )


def _choices(chapter: Chapter) -> str:
    keys = _drawn_keys(chapter)
    heads = ("Method", "Task", "Repeat", "Draw", *map(_short, keys), "Source validation", "Target accuracy")
    runs = sorted(chapter.runs, key=lambda run: chapter.rows.index(run.row))
    rows = [
        (
            run.row,
            chapter.tasks[run.task],
            str(run.repeat),
            str(run.draw),
            *(_text(_value(run, key)) for key in keys),
            _share(run.result.source_validation),
            _share(run.result.target_accuracy),
        )
        for run in runs[:LINES]
    ]
    left = len(runs) - LINES
    more = note(f"{count(left, 'more choice')} left out.") if left > 0 else ""
    return table("The run that counts, of every row, task and repeat", heads, rows, words=(0, 1)) + more


def _settings(chapter: Chapter) -> str:
    """What the rows set apart from what is drawn: of the first run of each."""
    drawn = set(_drawn_keys(chapter))
    flat = {row: _told(chapter.of(row)[0]) for row in chapter.rows}
    keys = [key for key in dict.fromkeys(key for found in flat.values() for key in found) if key not in drawn]
    shared = [key for key in keys if len({_text(found.get(key)) for found in flat.values()}) == 1]
    own = [key for key in keys if key not in shared]
    told = ", ".join(f"{_short(key)} {_text(next(iter(flat.values()))[key])}" for key in shared)
    rows = [(row, *(_text(found.get(key)) for key in own)) for row, found in flat.items()]
    made = table("What the methods set", ("Method", *map(_short, own)), rows, words=(0, 1, 2)) if own else ""
    return made + (paragraph(f"The same in all: {told}.") if told else "")


def _told(run: RunView) -> Mapping[str, Any]:
    config = run.config
    found: dict[str, Any] = {"algorithm.name": config.algorithm.name, "sampler.name": config.sampler.name}
    found |= {f"sampler.settings.{key}": v for key, v in config.sampler.settings.items() if v is not None}
    found |= {key: _value(run, key) for key in SHOWN}
    return found | {f"algorithm.settings.{key}": value for key, value in asdict(settings_of(run)).items()}


def _drawn_keys(chapter: Chapter) -> list[str]:
    """What draws set, chosen or not."""
    drawn = [run.drawn for run in chapter.runs]
    if chapter.results is not None:
        drawn = [record.place.drawn for record in chapter.results.records]
    return list(dict.fromkeys(key for each in drawn for key in each))


def _value(run: RunView, key: str) -> Any:
    """The value at a dotted name of the run's configuration: also of draw 0, which sets nothing."""
    found: Any = run.config.to_dict()
    for name in key.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return getattr(settings_of(run), key.split(".")[-1], None) if found is None else found


def settings_of(run: RunView) -> Settings:
    """The algorithm's settings with its own defaults in."""
    return make_settings(run.config.algorithm.name, **run.config.algorithm.settings)


def _range(values: Sequence[Any]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "default"
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        low, high = min(known), max(known)
        return _text(low) if low == high else f"{_text(median(known))} ({_text(low)} to {_text(high)})"
    return ", ".join(sorted({_text(value) for value in known}))


def _short(key: str) -> str:
    """The last name of a dotted one, with where it belongs if that is the sampler or a bare "name"."""
    *_, last = parts = key.split(".")
    return parts[0] if last == "name" else f"sampler's {last}" if parts[0] == "sampler" else last


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"
