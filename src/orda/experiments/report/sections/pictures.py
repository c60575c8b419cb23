"""Pictures that take the kept models and the data: maps of the features, and images of strata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orda.data.progress import progress_bar
from orda.errors import OrdaError
from orda.experiments.report.gather import Chapter, RunView
from orda.experiments.report.html import note, paragraph, section
from orda.experiments.report.sections.maps import maps_figure
from orda.experiments.report.sections.strips import strips_figure
from orda.experiments.report.snapshot import Snapshot, take_snapshot
from orda.training import RunPaths

RUNS = 5  # that are looked at, at most


def pictures_section(chapter: Chapter, prefix: str, progress: bool | None = None) -> str:
    """Maps before and after, and the strata of the best planned of these runs; what is gone is said."""
    snapshots, notes = _snapshots(runs_to_show(chapter), progress)
    features = paragraph("What training did to the features: source and target should come together, class upon class.")
    made = features + maps_figure(snapshots) if snapshots else ""
    maps = section(f"{prefix}features", "Features before and after", made, *map(note, notes))
    if not snapshots:
        return maps
    title = "What the strata hold"
    try:
        strips = strips_figure(sorted(snapshots, key=_planned)[-1])
    except OrdaError as error:
        strips = note(f"No strata: {error}")
    words = paragraph("Similar examples make a stratum, and a stratified minibatch takes some of every stratum.")
    return maps + section(f"{prefix}strata", title, words, strips)


def _planned(shot: Snapshot) -> int:
    """How much the run's sampler makes of strata."""
    return {"stratified": 1, "ordered": 2}.get(shot.run.config.sampler.name or "", 0)


def _snapshots(runs: Sequence[RunView], progress: bool | None) -> tuple[list[Snapshot], list[str]]:
    found: list[Snapshot] = []
    notes: list[str] = []
    with progress_bar("features for the report", len(runs), progress) as advance:
        for run in runs:
            try:
                found.append(take_snapshot(run, before=not found))
            except (OrdaError, OSError, RuntimeError, KeyError, ValueError) as error:
                notes.append(f"No map of {run.name}: {error}")
            advance(1)
    return found, notes or ([] if runs else ["No run has kept its model, so there are no maps."])


def runs_to_show(chapter: Chapter) -> list[RunView]:
    """One run of some rows, on one task and repeat: without adaptation, then the ends of a group of samplers."""
    rows = _rows_to_show(chapter)
    for task in chapter.tasks:
        kept = {(run.row, run.repeat): run for run in chapter.runs if run.task == task and _has_model(run)}
        for repeat in sorted({repeat for _, repeat in kept}):
            found = [kept[row, repeat] for row in rows if (row, repeat) in kept]
            if len(found) == len(rows):
                return found
    return [run for run in chapter.runs if run.row in rows and _has_model(run)][:1]


def _rows_to_show(chapter: Chapter) -> list[str]:
    if chapter.results is None or len(chapter.rows) <= RUNS:
        return chapter.rows[:RUNS]
    return list(dict.fromkeys(_interesting(chapter)))[:RUNS]


def _interesting(chapter: Chapter) -> Iterator[str]:
    """ERM; of the groups that compare samplers the first row and the last; then whatever comes."""
    assert chapter.results is not None
    configs = chapter.results.configs
    yield from [row for row in chapter.rows if configs[row].algorithm.name == "erm"][:1]
    for rows in chapter.results.sampler_groups:
        names = [row.name for row in rows if row.name in chapter.rows]
        yield from (*names[:1], *names[-1:])
    yield from chapter.rows


def _has_model(run: RunView) -> bool:
    return RunPaths(run.folder).checkpoint.exists()
