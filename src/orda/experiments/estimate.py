"""How long a sweep will take, from the runs that have finished."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from orda.experiments.jobs import Place
from orda.experiments.protocol import row_name
from orda.experiments.store import Record


@dataclass
class Mean:
    """A mean that grows."""

    sum: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.sum += value
        self.count += 1

    @property
    def value(self) -> float | None:
        return self.sum / self.count if self.count else None


@dataclass
class Pace:
    """Seconds of training that a run takes, by row; a row of which none has finished is taken for an average one."""

    rows: dict[str, Mean] = field(default_factory=dict)
    all: Mean = field(default_factory=Mean)

    def add(self, job: Place, seconds: float) -> None:
        """A run of these seconds has finished."""
        if seconds > 0:
            self.rows.setdefault(job.row, Mean()).add(seconds)
            self.all.add(seconds)

    def of(self, row: str) -> float | None:
        """Seconds that a run of the row takes; ``None`` where nothing has finished yet."""
        known = self.rows.get(row)
        return self.all.value if known is None else known.value

    def work(self, jobs: Iterable[Place]) -> float | None:
        """Seconds of training that the jobs take together; ``None`` where that cannot be known."""
        counts: dict[tuple[str, str], int] = {}
        for job in jobs:
            counts[job.group, job.label] = counts.get((job.group, job.label), 0) + 1
        if not counts:
            return 0.0
        if not self.all.count:
            return None
        return sum(number * (self.of(row_name(*row)) or 0.0) for row, number in counts.items())


def pace_of(records: Iterable[Record]) -> Pace:
    """The pace of the runs that are done; what diverged ended early and says nothing."""
    pace = Pace()
    for record in records:
        score = record.entry.score
        if score is not None and not score.diverged:
            pace.add(record.place, score.seconds)
    return pace


def in_words(seconds: float) -> str:
    """As somebody would say it: "40 s", "12 min", "3 h 20 min", "12 days 5 h".

    >>> in_words(4000)
    '1 h 7 min'
    """
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min" if minutes < 60 else _two(minutes, 60, "h", "min")
    if minutes < 48 * 60:
        return _two(minutes, 60, "h", "min")
    return _two(round(minutes / 60), 24, "days", "h")


def _two(amount: int, size: int, large: str, small: str) -> str:
    whole, rest = divmod(amount, size)
    return f"{whole} {large}" + (f" {rest} {small}" if rest else "")
