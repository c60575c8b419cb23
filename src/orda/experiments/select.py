"""Which run stands for a row, a task and a repeat: the choice among the draws of the search.

    accuracy(row, task, repeat) = target accuracy of the draw with the best source validation accuracy

Within a run the evaluation is chosen already, by source validation too (``RunResult``). No target label takes part.

Ties      of draws that are equally good, the first: draw 0 is the defaults.
Diverged  a diverged run is chosen only where all of them diverged. It then counts with the best evaluation before
          that, or, where there was none, the repeat has no accuracy.
Through   a search is through when all its draws have a result; a choice among fewer says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from orda.experiments.store import Record, Score


class Selection(StrEnum):
    """By what a draw is chosen, and where its accuracy is read."""

    SOURCE_VALIDATION = "source-validation"
    ORACLE = "oracle"  # by the target accuracy after the last step: needs the labels that nobody has


@dataclass(frozen=True, slots=True)
class Choice:
    """What came of the draws of one row, task and repeat."""

    run: Record | None = None  # the chosen one; None: there is none with an accuracy
    draws: int = 0  # that the protocol asks for
    done: int = 0  # of these, with a result
    diverged: int = 0  # of those, how many diverged

    @property
    def through(self) -> bool:
        """Whether all draws have a result."""
        return self.done == self.draws

    def accuracy(self, rule: Selection = Selection.SOURCE_VALIDATION) -> float | None:
        """The target accuracy of the chosen run, a share."""
        return None if self.run is None else _accuracy(_score(self.run), rule)

    @property
    def fell_back(self) -> bool:
        """Whether a diverged run had to be chosen."""
        return self.run is not None and _score(self.run).diverged


Key = tuple[str, str, int]
"""Row, task, repeat."""


def select(records: Iterable[Record], rule: Selection = Selection.SOURCE_VALIDATION) -> dict[Key, Choice]:
    """The choice for every row, task and repeat, in one pass over the records, in whatever order."""
    found: dict[Key, Choice] = {}
    for record in records:
        place = record.place
        key = (place.row, place.task, place.repeat)
        found[key] = _with(found.get(key, Choice()), record, rule)
    return found


def _with(choice: Choice, record: Record, rule: Selection) -> Choice:
    score = record.entry.score
    if score is None:
        return replace(choice, draws=choice.draws + 1)
    better = _merit(record, rule) > _merit(choice.run, rule) and _accuracy(score, rule) is not None
    return Choice(record if better else choice.run, choice.draws + 1, choice.done + 1, choice.diverged + score.diverged)


Merit = tuple[bool, float, int]


def _merit(record: Record | None, rule: Selection) -> Merit:
    """What the chosen run has the largest of: not diverged, then what ``rule`` looks at, then an early draw."""
    if record is None:
        return (False, -1.0, 0)
    score = _score(record)
    looked_at = score.validation if rule is Selection.SOURCE_VALIDATION else score.final_accuracy
    return (not score.diverged, -1.0 if looked_at is None else looked_at, -record.place.draw)


def _accuracy(score: Score, rule: Selection) -> float | None:
    return score.accuracy if rule is Selection.SOURCE_VALIDATION else score.final_accuracy


def _score(record: Record) -> Score:
    assert record.entry.score is not None
    return record.entry.score


def diverged_runs(choices: Mapping[Key, Choice]) -> int:
    """How many runs diverged in all."""
    return sum(choice.diverged for choice in choices.values())
