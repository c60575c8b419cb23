"""A protocol: what a table compares, as data. A YAML file in, a frozen record out.

    name: digits
    title: Accuracy on the digits      # of its table
    train:                             # any part of a run's configuration: what all runs share
      data: {name: digits}
    tasks: []                          # names of tasks; none: all of the data set
    headings: {}                       # task -> what the table calls it
    groups:                            # group -> row -> what makes the row; a text stands for a name
      CORAL:
        CORAL: {algorithm: coral, sampler: uniform}
        + ORDERED: {algorithm: coral, sampler: ordered, sampler.settings.optimiser: greedy}
    search:
      draws: 10                        # draw 0 is the defaults
      space: {lr: {log-uniform: [-4, -2]}}   # in place of what the algorithms declare
    repeats: 5
    seed: 0

Rows × tasks × draws × repeats are the runs (``orda.experiments.jobs``). An unknown key is named with the nearest right
one, and all faults of a file are told at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Self

from orda.errors import ConfigError, OrdaError, UnknownName
from orda.experiments.search import space_faults
from orda.training import TrainConfig, schema

PLACEHOLDER = "task"  # stands for a task where a row's configuration is checked without one


@dataclass(frozen=True)
class Search:
    """Random search over the settings of every row apart."""

    draws: int = 10
    candidates: Literal["shared", "own"] = "shared"  # the same candidates for all rows (paired), or each row its own
    space: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A row of the table: one algorithm with one sampler."""

    group: str
    label: str
    config: TrainConfig  # with everything but the task, the draw and the seeds
    fixed: Mapping[str, Any]  # what the protocol sets, by dotted names: no search draws it

    @property
    def name(self) -> str:
        return row_name(self.group, self.label)


def row_name(group: str, label: str) -> str:
    """How a row is called outside its table: "+ ORDERED" of the group "CORAL" is "CORAL + ORDERED"."""
    return f"{group} {label}" if label.startswith("+") else label


@dataclass(frozen=True)
class Protocol:
    """Which runs there are."""

    name: str = ""
    title: str = ""
    note: str = ""  # printed under the table
    train: Mapping[str, Any] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    headings: Mapping[str, Any] = field(default_factory=dict)
    groups: Mapping[str, Any] = field(default_factory=dict)
    search: Search = field(default_factory=Search)
    repeats: int = 5
    seed: int = 0

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], what: str = "the protocol") -> Self:
        """From plain values; all faults in one ``ConfigError``."""
        return schema.build(cls, values, what)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """From a file, or by the name of a shipped protocol ("digits"). Its name is the file's unless given."""
        found = find_protocol(path)
        values = schema.read_yaml(found)
        return cls.from_dict({"name": found.stem, **values}, str(found))

    def to_dict(self) -> dict[str, Any]:
        return schema.plain(self)

    def to_yaml(self) -> str:
        return schema.write_yaml(self.to_dict())

    def updated(self, changes: Mapping[str, Any]) -> Self:
        """With other values of ``train`` at dotted names: ``protocol.updated({"data.root": "/data"})``."""
        train = schema.merged(_nested(self.train), _nested(changes))
        return type(self).from_dict(replace(self, train=train).to_dict(), f"the protocol {self.name}")

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order of the file."""
        return [
            Row(group, label, self._config(row), schema.flat(self._over_train(row)))
            for group, label, row in self._raw_rows()
        ]

    @property
    def data(self) -> str:
        """The name of the data set."""
        return self.rows[0].config.data.name

    def faults(self) -> list[str]:
        """What is wrong with the values, whatever their types."""
        faults = [f"{key} must be at least 1, not {n}" for key, n in self._counts() if n < 1]
        if not self.name or any(c in self.name for c in "/\\\0") or self.name.startswith("."):
            faults.append(f"name must be usable as a file's name, not {self.name!r}")
        faults += [f"headings.{key} is no task{schema.did_you_mean(key, self.tasks)}" for key in self._stray_headings()]
        shared = self._train_faults()
        if shared:
            return faults + shared  # every row would repeat them
        rows = self._row_faults()
        return faults + (rows or space_faults(self.search.space, self.rows))

    def _counts(self) -> list[tuple[str, int]]:
        return [("search.draws", self.search.draws), ("repeats", self.repeats)]

    def _stray_headings(self) -> list[str]:
        return [key for key in self.headings if self.tasks and key not in self.tasks]

    def heading(self, task: str) -> str:
        """What the table calls a task."""
        return str(self.headings.get(task, task))

    def _train_faults(self) -> list[str]:
        given = schema.flat(_nested(self.train))
        faults = [
            f"train.{key} is what the protocol fills in; leave it out and {instead}"
            for key, instead in (
                ("data.sources", "name tasks under 'tasks'"),
                ("data.target", "name tasks under 'tasks'"),
                ("data.split_seed", "set the protocol's 'seed'"),
                ("seed", "set the protocol's 'seed'"),
            )
            if key in given
        ]
        return faults or self._faults_of({}, "train")

    def _row_faults(self) -> list[str]:
        faults, names = [], set()
        for group, rows in self.groups.items():
            if not isinstance(rows, Mapping) or not rows:
                faults.append(f"groups.{group} must be rows, 'label: {{algorithm: …, sampler: …}}', not {rows!r}")
        for group, label, row in self._raw_rows():
            where = f"groups.{group}.{label}"
            if not isinstance(row, Mapping):
                faults.append(f"{where} must be a mapping such as {{algorithm: coral, sampler: ordered}}, not {row!r}")
                continue
            faults += self._faults_of(row, where)
            if row_name(group, label) in names:
                faults.append(f"{where}: two rows are called {row_name(group, label)!r}")
            names.add(row_name(group, label))
        return faults if faults or names else ["groups must hold at least one row"]

    def _faults_of(self, row: Mapping[str, Any], where: str) -> list[str]:
        try:
            self._config(row).resolved()
        except OrdaError as error:
            return [f"{where}: {error.got or error.rule}"]
        return []

    def _raw_rows(self) -> Iterator[tuple[str, str, Any]]:
        for group, rows in self.groups.items():
            if isinstance(rows, Mapping):
                for label, row in rows.items():
                    yield group, str(label), row

    def _over_train(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """What the protocol says of the row: its own values over those of ``train``."""
        return schema.merged(_nested(self.train), _nested(row))

    def _config(self, row: Mapping[str, Any]) -> TrainConfig:
        values = self._over_train(row)
        return TrainConfig.from_dict(schema.merged(values, {"data": {"sources": [PLACEHOLDER]}}))


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted and nested names alike as nested ones; a text in place of an algorithm or a sampler is its name."""
    named = {k: {"name": v} if k in ("algorithm", "sampler") and isinstance(v, str) else v for k, v in values.items()}
    return schema.nested(schema.flat(named))


# ---- shipped files ------------------------------------------------------------------------------------------------


def shipped_protocols() -> dict[str, Path]:
    """The protocols that come with orda, by name."""
    folder = Path(str(resources.files("orda.experiments"))) / "protocols"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def find_protocol(path: str | Path) -> Path:
    """A file, or the file of a shipped protocol by its name."""
    asked, known = Path(path), shipped_protocols()
    if asked.is_file():
        return asked
    if str(path).removesuffix(".yaml") in known:
        return known[str(path).removesuffix(".yaml")]
    if asked.suffix or len(asked.parts) > 1:
        raise ConfigError("the protocol must be a file", f"no file {path}", f"Or one of {', '.join(known)}")
    raise UnknownName("protocol", str(path), known)
