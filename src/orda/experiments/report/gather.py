"""What a report is made of, read from a folder: chapters, each a sweep, or the runs of ``orda train``.

    DIR with sweeps/        one chapter a sweep; of every row, task and repeat the run that its search chose
    DIR of one run          one chapter with that run
    DIR with runs in it     one chapter with these runs, each a row of its own kind

A record that cannot be read is set aside, and named in ``faults``; nothing is taken from a run half read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

from orda.errors import OrdaError, RunError
from orda.experiments.report.looks import row_styles
from orda.experiments.select import select
from orda.experiments.store import Store
from orda.experiments.tables import Results, load_results
from orda.plots import Style
from orda.training import Lines, RunPaths, RunResult, TrainConfig


@dataclass(frozen=True)
class RunView:
    """One finished run as the report sees it."""

    row: str
    task: str
    repeat: int
    draw: int
    drawn: Mapping[str, Any]
    folder: Path
    config: TrainConfig
    result: RunResult

    @property
    def name(self) -> str:
        return f"{self.row}, {self.task}, repeat {self.repeat}, draw {self.draw}"

    @cached_property
    def evaluations(self) -> list[dict[str, Any]]:
        """Lines {step, source_validation, target_accuracy, …}."""
        return [line for line in self._metrics if line.get("kind") == "eval" and _has(line, *EVALUATED)]

    @cached_property
    def losses(self) -> list[dict[str, Any]]:
        """Lines {step, losses: {name: mean over some steps}}."""
        lines = [line for line in self._metrics if line.get("kind") == "train" and _has(line, "step")]
        return [line for line in lines if isinstance(line.get("losses"), dict)]

    @cached_property
    def assessments(self) -> list[dict[str, float]]:
        """Lines {step, d0, mean, bias, variance, …}: D̂ of a plan's minibatches against D0, where that was recorded."""
        lines = (line for line in Lines(RunPaths(self.folder).plans).read() if _has(line, "step"))
        found = ({"step": line["step"], **line["assessment"]} for line in lines if line.get("assessment"))
        return [line for line in found if _has(line, "d0", "mean", "variance", "bias")]

    @cached_property
    def _metrics(self) -> list[dict[str, Any]]:
        return Lines(RunPaths(self.folder).metrics).read()


@dataclass(frozen=True)
class Chapter:
    """Runs that are told of together."""

    name: str
    title: str
    runs: tuple[RunView, ...]
    tasks: Mapping[str, str]  # task -> its heading
    styles: Mapping[str, Style]  # row -> how it is drawn, in the order of the rows
    results: Results | None  # of a sweep
    faults: tuple[str, ...]
    folder: Path

    @property
    def rows(self) -> list[str]:
        """The rows of which there are runs, in their order."""
        found = {run.row for run in self.runs}
        return [row for row in self.styles if row in found]

    def of(self, row: str) -> list[RunView]:
        return [run for run in self.runs if run.row == row]


EVALUATED = ("step", "source_validation", "target_accuracy")


def gather(folder: Path, protocols: Sequence[str] = (), only: Sequence[str] = ()) -> list[Chapter]:
    """The chapters of a folder; a ``RunError`` where there are none."""
    if not folder.is_dir():
        raise RunError("a report is made from a folder of runs", f"{folder}, which is none", REMEDY)
    if RunPaths(folder).result.exists():
        return [_loose(folder.name or str(folder), folder, [folder])]
    store = Store(folder)
    if protocols or store.sweeps():
        return [_sweep(store, results) for results in load_results(store, protocols, only)]
    inside = sorted(path.parent for path in folder.glob(f"*/{RunPaths(Path()).result.name}"))
    if not inside:
        raise RunError("a report is made from finished runs", f"{folder}, where there are none", REMEDY)
    return [_loose(folder.name or str(folder), folder, inside)]


REMEDY = "Make some: `orda sweep PROTOCOL --runs DIR`, or `orda train --out DIR`"


def _sweep(store: Store, results: Results) -> Chapter:
    """A sweep; rows, tasks and repeats without any result have no run."""
    faults: list[str] = []
    runs = []
    for (row, task, repeat), choice in select(results.records).items():
        if choice.run is not None:
            place = choice.run.place
            found = _read(store.folder(place.digest), (row, task, repeat, place.draw), place.drawn, faults)
            runs += [] if found is None else [found]
    protocol = results.protocol
    return Chapter(
        protocol.name,
        protocol.title or protocol.name,
        tuple(runs),
        {task: protocol.heading(task) for task in results.tasks},
        row_styles({row.name: results.configs[row.name] for row in results.rows}),
        results,
        tuple(faults),
        store.root,
    )


def _loose(name: str, root: Path, folders: Iterable[Path]) -> Chapter:
    """Runs that no sweep knows of: a row is what they have in common."""
    faults: list[str] = []
    found = [run for folder in folders if (run := _read(folder, None, {}, faults)) is not None]
    if not found:
        raise RunError("a report needs a run that can be read", "; ".join(faults), "Look into these files")
    configs = {run.row: run.config for run in found}
    tasks = {run.task: run.task for run in found}
    runs = tuple(_numbered(found))
    return Chapter(name, name, runs, tasks, row_styles(configs), None, tuple(faults), root)


def _numbered(runs: Iterable[RunView]) -> Iterator[RunView]:
    """Runs of one row and task count as its repeats."""
    seen: dict[tuple[str, str], int] = {}
    for run in runs:
        number = seen.get((run.row, run.task), 0)
        seen[run.row, run.task] = number + 1
        yield RunView(run.row, run.task, number, 0, {}, run.folder, run.config, run.result)


def _read(
    folder: Path, place: tuple[str, str, int, int] | None, drawn: Mapping[str, Any], faults: list[str]
) -> RunView | None:
    """A run, or a line among the faults."""
    paths = RunPaths(folder)
    try:
        result, config = RunResult.load(paths.result), TrainConfig.load(paths.config).resolved()
        row, task, repeat, draw = place or (_row_of(config), str(result.run["task"]), 0, 0)
        run = RunView(row, task, repeat, draw, drawn, folder, config, result)
        _ = run.evaluations, run.losses, run.assessments, float(result.seconds["total"])
    except (OrdaError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        message = str(error) if isinstance(error, OrdaError) else f"{type(error).__name__}: {error}"
        faults.append(f"{folder.name}: {message}")
        return None
    return run


def _row_of(config: TrainConfig) -> str:
    """A name for runs that no table names: the algorithm, its sampler, and the sampler's optimiser."""
    settings = config.sampler.settings
    more = [str(settings[key]) for key in ("optimiser", "objective") if key in settings]
    return f"{config.algorithm.name}, " + " ".join([f"{config.sampler.name}", *more])


def _has(line: Mapping[str, Any], *keys: str) -> bool:
    return all(isinstance(line.get(key), (int, float)) and isfinite(line[key]) for key in keys)
