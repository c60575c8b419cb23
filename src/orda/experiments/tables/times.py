"""The table of training times: samplers × sweeps, in seconds.

    cell        mean and standard error over the repeats r of t̄(sampler, r)
    t̄(·, r)     mean of the wall-clock seconds of the repeat's runs with this sampler: all tasks, draws and algorithms

As in the paper only groups that compare samplers take part; where there are none, every row stands for itself. A
diverged run ended early, so its seconds are left out. A repeat counts when all its runs have a result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Literal

from orda.experiments.protocol import Row
from orda.experiments.tables.model import Cell, Column, Line, Table
from orda.experiments.tables.notes import time_notes
from orda.experiments.tables.results import Results

By = Literal["sampler", "row"]
DATA = {"spawrious": "Spawrious", "office-home": "Office-Home", "digits": "Digits"}


@dataclass(slots=True)
class Tally:
    """The runs of a line in one repeat."""

    missing: int = 0
    diverged: int = 0
    seconds: list[float] = field(default_factory=list)  # of those that did not diverge


def time_table(sweeps: Sequence[Results], by: By | None = None, unfinished: bool = False) -> Table:
    """Seconds of training by sampler (or by row) and sweep; one column a sweep."""
    if by is None:
        by = "sampler" if any(results.sampler_groups for results in sweeps) else "row"
    heads: dict[str, tuple[str, str, str]] = {}  # of every line: group, label, name
    keys = []
    for results in sweeps:
        of_rows = {row.name: _key(results, row, by) for row in _rows(results, by)}
        for row in _rows(results, by):
            heads.setdefault(of_rows[row.name], _head(results, row, by))
        keys.append(of_rows)
    found = [_cells(results, of_rows, unfinished) for results, of_rows in zip(sweeps, keys, strict=True)]
    none = Cell.of({}, 0)
    return Table(
        "time",
        "Average wall-clock training times by dataset (seconds)",
        "Sampler" if by == "sampler" else "Method",
        _columns(sweeps),
        tuple(Line(*head, tuple(cells.get(key, none) for cells in found)) for key, head in heads.items()),
        time_notes(sweeps, by, unfinished),
        sweeps[0].protocol.name if len(sweeps) == 1 else "",
    )


def _rows(results: Results, by: By) -> list[Row]:
    return results.rows if by == "row" else [row for rows in results.sampler_groups for row in rows]


def _key(results: Results, row: Row, by: By) -> str:
    return row.name if by == "row" else results.sampler_key(row)


def _head(results: Results, row: Row, by: By) -> tuple[str, str, str]:
    if by == "row":
        return row.group, row.label, row.name
    uniform = results.configs[row.name].sampler.name == "uniform" and not row.label.startswith("+")
    label = "Uniform random" if uniform else row.label.removeprefix("+").strip()
    return "", label, label


def _columns(sweeps: Sequence[Results]) -> tuple[Column, ...]:
    """Headed by the data set, or by the protocol where two share one."""
    data = [DATA.get(results.protocol.data, results.protocol.data) for results in sweeps]
    names = [results.protocol.name for results in sweeps]
    headings = data if len(set(data)) == len(data) else names
    return tuple(Column(name, heading) for name, heading in zip(names, headings, strict=True))


def _cells(results: Results, keys: Mapping[str, str], unfinished: bool) -> dict[str, Cell]:
    tallies: dict[tuple[str, int], Tally] = {}
    for record in results.records:
        key = keys.get(record.place.row)
        if key is None:
            continue
        tally = tallies.setdefault((key, record.place.repeat), Tally())
        score = record.entry.score
        if score is None:
            tally.missing += 1
        elif score.diverged:
            tally.diverged += 1
        else:
            tally.seconds.append(score.seconds)
    return {key: _cell(results.repeats, key, tallies, unfinished) for key in dict.fromkeys(keys.values())}


def _cell(repeats: Sequence[int], key: str, tallies: Mapping[tuple[str, int], Tally], unfinished: bool) -> Cell:
    own = {repeat: tallies[key, repeat] for repeat in repeats if (key, repeat) in tallies}
    counted = {repeat: tally for repeat, tally in own.items() if tally.seconds and (unfinished or not tally.missing)}
    means = {repeat: fsum(tally.seconds) / len(tally.seconds) for repeat, tally in counted.items()}
    return Cell.of(means, len(repeats), sum(tally.diverged for tally in counted.values()))
