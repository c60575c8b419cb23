"""A sweep as the tables see it: its protocol, and what the disk says of its runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from orda.errors import RunError, SettingError
from orda.experiments.jobs import Place, choose, expand, sweep_digest
from orda.experiments.protocol import Protocol, Row
from orda.experiments.store import Record, Store
from orda.training import TrainConfig


@dataclass(frozen=True)
class Results:
    """The records of a sweep, or of the part of it that ``only`` leaves."""

    protocol: Protocol
    records: tuple[Record, ...]
    digest: str  # of the whole sweep: which runs it is made of
    only: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> list[Row]:
        """The protocol's rows of which there are records, in its order."""
        found = {record.place.row for record in self.records}
        return [row for row in self.protocol.rows if row.name in found]

    @cached_property
    def tasks(self) -> list[str]:
        """The tasks of which there are records, in the protocol's order; by name where it names none."""
        found = {record.place.task for record in self.records}
        named = [task for task in self.protocol.tasks if task in found]
        return named + sorted(found - set(named))

    @cached_property
    def repeats(self) -> list[int]:
        return sorted({record.place.repeat for record in self.records})

    @cached_property
    def configs(self) -> dict[str, TrainConfig]:
        """The resolved configuration of every row, by its name."""
        return {row.name: row.config.resolved() for row in self.rows}

    @cached_property
    def sampler_groups(self) -> list[list[Row]]:
        """The groups that compare samplers: one algorithm with one set of settings, several samplers."""
        groups: dict[str, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(row.group, []).append(row)
        return [rows for rows in groups.values() if self._compares_samplers(rows)]

    def _compares_samplers(self, rows: Sequence[Row]) -> bool:
        algorithms = {str(self.configs[row.name].algorithm) for row in rows}
        return len(algorithms) == 1 and len({self.sampler_key(row) for row in rows}) > 1

    def sampler_key(self, row: Row) -> str:
        """What is equal for two rows with the same sampler in the same settings."""
        sampler = self.configs[row.name].sampler
        return json.dumps([sampler.name, sorted(sampler.settings.items())])


def load_results(store: Store, protocols: Sequence[str] = (), only: Sequence[str] = ()) -> list[Results]:
    """The sweeps in a folder of runs: all that were started there, or those of ``protocols``.

    A protocol is asked for by the name of its sweep, as a file, or by the name of a shipped one; as a file it need not
    have been started: what it would consist of is looked for.
    """
    if not store.root.is_dir():
        raise RunError("a folder of runs must be there", store.root, "`orda sweep PROTOCOL --runs DIR` makes one")
    names = list(protocols) or store.sweeps()
    if not names:
        there = len(store.digests())
        raise RunError(
            "a folder of runs must know of a sweep",
            f"{store.root} with {there} runs and no sweep" if there else f"{store.root}, where there are no runs",
            "Start one with `orda sweep PROTOCOL --runs DIR`, or say which runs belong together: --protocol FILE",
        )
    return [_load(store, name, only) for name in names]


def _load(store: Store, name: str, only: Sequence[str]) -> Results:
    places: Sequence[Place]
    if name in store.sweeps():
        protocol, places = store.load_sweep(name)
    else:
        protocol = Protocol.load(name)
        places = expand(protocol)
    wanted = choose(places, only, protocol)
    if not wanted:
        raise SettingError(f"--only must leave some runs of {protocol.name}", " ".join(only), "Use * and ? in patterns")
    return Results(protocol, tuple(store.records(wanted)), sweep_digest(places), tuple(only))
