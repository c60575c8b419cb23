"""The folder of a study, the only place that knows its file names.

    cells.jsonl      first the config, then a line for every finished cell, appended as it finishes
    data.csv         the numbers that the figure shows
    figure.png       \\ the figure
    figure.svg       /
    manifest.json    config, seeds, versions, seconds, command; written last: where it is, the study is finished
    lock             who is at work here

A run that was stopped goes on from cells.jsonl. A folder belongs to one config and is not given to another, but for
the number of repeats: cells know nothing of it, and those that are there serve for more repeats and for fewer.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orda import plots
from orda.errors import RunError
from orda.experiments.simulate.study import Row, Table
from orda.training.lock import locked
from orda.training.paths import Lines, faults_named, write_whole

Config = dict[str, Any]
Finished = dict[str, Any]  # a cell's line: name, seed, seconds, warnings, rows


@dataclass(frozen=True, slots=True)
class StudyFolder:
    path: Path

    @property
    def cells(self) -> Path:
        return self.path / "cells.jsonl"

    @property
    def data(self) -> Path:
        return self.path / "data.csv"

    @property
    def png(self) -> Path:
        return self.path / "figure.png"

    @property
    def svg(self) -> Path:
        return self.path / "figure.svg"

    @property
    def manifest(self) -> Path:
        return self.path / "manifest.json"

    @property
    def _finishing(self) -> Path:
        return self.path / ".finishing"

    @property
    def results(self) -> tuple[Path, ...]:
        return self.data, self.png, self.svg, self.manifest

    # ── beginning, or going on ──

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Make the folder and keep other processes out of it."""
        with faults_named(f"a study's folder must be writable, {self.path}", "Choose another with --out"):
            self.path.mkdir(parents=True, exist_ok=True)
        with locked(self.path / "lock", "compute a study"):
            yield

    def clear(self) -> None:
        """Forget everything that a study has left here, and nothing else."""
        with faults_named(f"cannot clear {self.path}", "Choose another folder with --out"):
            for path in (*reversed(self.results), self.cells):
                path.unlink(missing_ok=True)
            shutil.rmtree(self._finishing, ignore_errors=True)

    def open(self, config: Config) -> dict[str, Finished]:
        """The cells that are finished already, by name. The folder is refused if it is of another config."""
        lines, config = Lines(self.cells), plain(config)
        there = lines.read()
        if there:
            self._refuse_other(there[0].get("config", {}), config)
        elif finished := self.finished_config():
            self._refuse_other(finished, config)
        lines.keep(lambda line: True)  # without what a run that was stopped has half written
        if not there:
            lines.append({"config": config})
        return {line["cell"]: line for line in there[1:]}

    def append(self, cell: Finished) -> None:
        Lines(self.cells).append(cell)

    def finished_config(self) -> Config | None:
        """The config of the results, where they are all there."""
        if not all(path.is_file() for path in self.results):
            return None
        try:
            config = json.loads(self.manifest.read_text(encoding="utf-8"))["config"]
        except (OSError, ValueError, KeyError, TypeError):
            return None  # not ours, or damaged: the results are made again
        return config if isinstance(config, dict) else None

    def is_finished(self, config: Config) -> bool:
        return self.finished_config() == plain(config)

    def count(self) -> int:
        """How many cells are finished."""
        return max(0, len(Lines(self.cells).read()) - 1)

    def _refuse_other(self, there: Config, wanted: Config) -> None:
        unlike = [
            f"{key} is {there.get(key)!r} there and {wanted.get(key)!r} here"
            for key in sorted(there.keys() | wanted.keys())
            if key != "repeats" and there.get(key) != wanted.get(key)
        ]
        if unlike:
            raise RunError(
                "a study's folder belongs to one config",
                f"{self.path}, where {'; '.join(unlike)}",
                "Choose another folder with --out, or compute this one again with --force",
            )

    # ── finishing ──

    def finish(self, table: Table, figure: Any, manifest: Mapping[str, Any]) -> None:
        """All results are written beside and then moved into place, the manifest last."""
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        with faults_named(f"cannot write {self.path}", "Make room there and start again: finished cells are kept"):
            self.manifest.unlink(missing_ok=True)  # from here on the old results are none
            shutil.rmtree(self._finishing, ignore_errors=True)
            self._finishing.mkdir()
            beside = StudyFolder(self._finishing)
            write_csv(beside.data, table)
            plots.save(figure, beside.png, beside.svg)
            for path in (beside.data, beside.png, beside.svg):
                os.replace(path, self.path / path.name)
            self._finishing.rmdir()
        write_whole(self.manifest, text.encode())


def plain(config: Config) -> Config:
    """As JSON gives it back: tuples are lists."""
    back: Config = json.loads(json.dumps(config))
    return back


def write_csv(path: Path, table: list[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
