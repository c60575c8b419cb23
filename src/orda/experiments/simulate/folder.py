"""The folder of a study, the only place that knows its file names.

    cells.jsonl      first the config, then a line for every finished cell, appended as it finishes
    data.csv         the numbers that the figure shows
    figure.png       \\ the figure
    figure.svg       /
    manifest.json    config, seeds, versions, seconds, command; written last: where it is, the study is finished

A run that was stopped goes on from cells.jsonl. A folder belongs to one config and is not given to another.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orda import plots
from orda.errors import RunError
from orda.experiments.simulate.study import Row, Table

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
    def finished(self) -> bool:
        return all(path.is_file() for path in (self.manifest, self.data, self.png, self.svg))

    # ── beginning, or going on ──

    def clear(self) -> None:
        """Forget everything that a study has left here, and nothing else."""
        for path in (self.manifest, self.cells, self.data, self.png, self.svg):
            path.unlink(missing_ok=True)
        shutil.rmtree(self._finishing, ignore_errors=True)

    def open(self, config: Config) -> dict[str, Finished]:
        """The cells that are finished already, by name. The folder is made, or refused if it is of another config."""
        config = plain(config)
        self.path.mkdir(parents=True, exist_ok=True)
        lines = self._lines()
        if not lines and self.manifest.exists():
            lines = [{"config": json.loads(self.manifest.read_text())["config"]}]
        if lines:
            self._refuse_other(lines[0].get("config", {}), config)
        self._write_lines([{"config": config}, *lines[1:]])  # without what a run that was stopped has half written
        return {line["cell"]: line for line in lines[1:]}

    def append(self, cell: Finished) -> None:
        with self.cells.open("a") as file:
            file.write(json.dumps(cell) + "\n")

    def _refuse_other(self, there: Config, wanted: Config) -> None:
        unlike = [
            f"{key} is {there.get(key)!r} there and {wanted.get(key)!r} here"
            for key in sorted(there.keys() | wanted.keys())
            if there.get(key) != wanted.get(key)
        ]
        if unlike:
            raise RunError(
                "a study's folder belongs to one config",
                f"{self.path}, where {'; '.join(unlike)}",
                "Choose another folder with --out, or compute this one again with --force",
            )

    def _lines(self) -> list[dict[str, Any]]:
        """The lines of cells.jsonl up to the first that is not whole."""
        lines: list[dict[str, Any]] = []
        if self.cells.exists():
            for text in self.cells.read_text().splitlines():
                try:
                    lines.append(json.loads(text))
                except json.JSONDecodeError:
                    break
        return lines

    def _write_lines(self, lines: list[dict[str, Any]]) -> None:
        beside = self.cells.with_suffix(".tmp")
        beside.write_text("".join(json.dumps(line) + "\n" for line in lines))
        os.replace(beside, self.cells)

    # ── finishing ──

    def finish(self, table: Table, figure: Any, manifest: Mapping[str, Any]) -> None:
        """All results are written beside and then moved into place, the manifest last."""
        shutil.rmtree(self._finishing, ignore_errors=True)
        self._finishing.mkdir()
        beside = StudyFolder(self._finishing)
        write_csv(beside.data, table)
        plots.save(figure, beside.png, beside.svg)
        beside.manifest.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
        for path in (beside.data, beside.png, beside.svg, beside.manifest):
            os.replace(path, self.path / path.name)
        self._finishing.rmdir()


def plain(config: Config) -> Config:
    """As JSON gives it back: tuples are lists."""
    back: Config = json.loads(json.dumps(config))
    return back


def write_csv(path: Path, table: list[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
