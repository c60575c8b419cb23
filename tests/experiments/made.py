"""Records made up for tests: a protocol and a score for every run, without a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from orda.experiments.jobs import Place, sweep_digest
from orda.experiments.protocol import Protocol
from orda.experiments.store import Entry, Record, Score, State
from orda.experiments.tables import Results

TASKS = ["rendered->handwritten", "handwritten->rendered"]
PROTOCOL: dict[str, Any] = {
    "name": "made",
    "title": "Accuracy on the digits",
    "train": {"data": {"name": "digits"}},
    "tasks": TASKS,
    "headings": {TASKS[0]: "R-H", TASKS[1]: "H-R"},
    "groups": {
        "Baselines": {"ERM": {"algorithm": "erm"}, "MCC": {"algorithm": "mcc"}},
        "CORAL": {
            "CORAL": {"algorithm": "coral", "sampler": "uniform"},
            "+ VaRDASS": {"algorithm": "coral", "sampler": "stratified"},
            "+ ORDERED": {"algorithm": "coral", "sampler": "ordered", "sampler.settings.optimiser": "greedy"},
        },
        "MMD": {
            "MMD": {"algorithm": "mmd", "sampler": "uniform"},
            "+ ORDERED": {"algorithm": "mmd", "sampler": "ordered", "sampler.settings.optimiser": "greedy"},
        },
    },
    "search": {"draws": 2},
    "repeats": 3,
}

Scored = Callable[[Place], Score | State]
"""What to say of a place: a score, or the state of a run without one."""


def score(
    accuracy: float | None, validation: float | None = 0.5, *, diverged: bool = False, seconds: float = 1.0
) -> Score:
    return Score(diverged, validation, accuracy, accuracy, seconds)


def places(protocol: Protocol) -> list[Place]:
    """All places of a protocol with tasks, without the work of expanding it."""
    return [
        Place(row.group, row.label, task, repeat, draw, f"{number:04x}{repeat:04x}{draw:04x}", {})
        for number, (row, task) in enumerate((row, task) for row in protocol.rows for task in protocol.tasks)
        for repeat in range(protocol.repeats)
        for draw in range(protocol.search.draws)
    ]


@cache
def usual() -> Protocol:
    return Protocol.from_dict(PROTOCOL)


def entry(found: Score | State) -> Entry:
    return Entry(State.DONE, found) if isinstance(found, Score) else Entry(found)


def results(scored: Scored, values: dict[str, Any] | None = None, only: Iterable[Place] | None = None) -> Results:
    """The results of a protocol, in which ``scored`` says what became of every run."""
    protocol = usual() if values is None else Protocol.from_dict(values)
    all_of_them = places(protocol)
    wanted = all_of_them if only is None else only
    records = tuple(Record(place, entry(scored(place))) for place in wanted)
    return Results(protocol, records, sweep_digest(all_of_them))
