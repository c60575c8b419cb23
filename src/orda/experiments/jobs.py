"""From a protocol to its runs: rows × tasks × draws × repeats.

What a run is follows from names alone, never from a count:

    hyperparameters   stream (seed, "hyperparameters", repeat[, row]) and then (draw, name of the setting)
    splits            stream (seed, "split", repeat): the same for all rows and draws, so that differences are paired
    everything else   stream (seed, "run", task, repeat, draw): weights and batches, the same for all rows

so another row, task, draw or repeat moves nothing that is there already.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from orda import seeds
from orda.data import tasks
from orda.errors import SettingError, UnknownName
from orda.experiments.protocol import Protocol, Row, row_name
from orda.experiments.search import draw, row_space
from orda.training import TrainConfig
from orda.training.config import digest_of

AnyPlace = TypeVar("AnyPlace", bound="Place")

SEED_BITS = 31  # seeds that every language and file format holds


@dataclass(frozen=True, slots=True)
class Place:
    """A run's place in the tables of a protocol, and the name of its folder."""

    group: str
    label: str
    task: str
    repeat: int
    draw: int
    digest: str  # of its configuration
    drawn: Mapping[str, Any] = field(hash=False)  # the draw's hyperparameters, by dotted names of the configuration

    @property
    def row(self) -> str:
        return row_name(self.group, self.label)

    @property
    def name(self) -> str:
        return f"{self.row}, {self.task}, repeat {self.repeat}, draw {self.draw}"


@dataclass(frozen=True, slots=True)
class Job(Place):
    """A run that can be done: its place, and what its configuration follows from."""

    base: TrainConfig = field(repr=False, compare=False)
    seeds: Mapping[str, int] = field(repr=False, compare=False)

    def config(self) -> TrainConfig:
        """The run's configuration."""
        return self.base.updated({"data.sources": [self.task], **self.seeds, **self.drawn})


def task_names(protocol: Protocol) -> tuple[str, ...]:
    """The protocol's tasks, checked where that needs no files; none named means all of the data set."""
    config = protocol.rows[0].config
    if protocol.tasks and config.data.name == "folder":
        return protocol.tasks
    known = [task.name for task in tasks(config.data.name, config.data.root)]
    for name in protocol.tasks:
        if name not in known:
            raise UnknownName(f"task of {config.data.name}", name, known)
    return protocol.tasks or tuple(known)


def expand(protocol: Protocol) -> list[Job]:
    """All runs of a protocol; the first repeat of everything comes first, in it the default draws."""
    found = list(_expand(protocol, protocol.rows, task_names(protocol)))
    return sorted(found, key=lambda job: (job.repeat, job.draw))  # stable: tasks, then rows


def _expand(protocol: Protocol, rows: Sequence[Row], names: Sequence[str]) -> Iterator[Job]:
    """Job by job. A configuration is resolved once a row; digests for tasks and draws follow by replacing values."""
    spaces = [row_space(row, protocol.search.space) for row in rows]
    resolved = [row.config.resolved() for row in rows]
    defining = [config.defining() for config in resolved]
    drawn = {
        (r, repeat, number): draw(spaces[r], _search_seed(protocol, row, repeat), number)
        for r, row in enumerate(rows)
        for repeat in range(protocol.repeats)
        for number in range(protocol.search.draws)
    }
    for task in names:
        for r, row in enumerate(rows):
            for repeat in range(protocol.repeats):
                for number in range(protocol.search.draws):
                    own = _seeds(protocol.seed, task, repeat, number)
                    values = drawn[r, repeat, number]
                    digest = digest_of({**defining[r], "data.sources": [task], **own, **values})
                    yield Job(row.group, row.label, task, repeat, number, digest, values, resolved[r], own)


def _search_seed(protocol: Protocol, row: Row, repeat: int) -> int:
    own = (row.group, row.label) if protocol.search.candidates == "own" else ()
    return seeds.child(protocol.seed, "hyperparameters", repeat, *own)


def _seeds(seed: int, task: str, repeat: int, number: int) -> dict[str, int]:
    shift = 63 - SEED_BITS
    return {
        "data.split_seed": seeds.child(seed, "split", repeat) >> shift,
        "seed": seeds.child(seed, "run", task, repeat, number) >> shift,
    }


def sweep_digest(places: Iterable[Place]) -> str:
    """12 hexadecimal digits: which runs a sweep is made of, and which of them is which cell; their order apart."""
    lines = sorted("\t".join((p.row, p.task, str(p.repeat), str(p.draw), p.digest)) for p in places)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


# ---- choosing among them ------------------------------------------------------------------------------------------

FILTERS = ("row", "group", "task", "repeat", "draw", "algorithm", "sampler")


def choose(places: Iterable[AnyPlace], only: Sequence[str], protocol: Protocol | None = None) -> list[AnyPlace]:
    """The places that fit: ``only`` are "key=pattern" with * and ?; one key's patterns are alternatives, keys add up.

    Jobs know their algorithm and their sampler; places that are no jobs need their ``protocol`` for these two.

    >>> choose(jobs, ["row=CORAL*", "repeat=0", "repeat=1"])
    """
    wanted: dict[str, list[str]] = {}
    for text in only:
        key, equals, pattern = text.partition("=")
        if key not in FILTERS:
            raise UnknownName("key of --only", key, FILTERS)
        if not equals or not pattern:
            raise SettingError("--only takes key=pattern", text, "For example --only 'row=CORAL*' --only repeat=0")
        wanted.setdefault(key, []).append(pattern)
    configs = {} if protocol is None or not only else {row.name: row.config.resolved() for row in protocol.rows}
    return [place for place in places if all(_fits(place, key, found, configs) for key, found in wanted.items())]


def _fits(place: Place, key: str, patterns: Sequence[str], configs: Mapping[str, TrainConfig]) -> bool:
    if key in ("algorithm", "sampler"):
        config = place.base if isinstance(place, Job) else configs[place.row]
        value = getattr(config, key).name
    else:
        value = str(getattr(place, key))
    return any(value == pattern or fnmatchcase(value, pattern) for pattern in patterns)
