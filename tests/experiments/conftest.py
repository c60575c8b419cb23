"""Folders of runs, with names that break careless code, and a clock that tests move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from experiments.small import SMALL

from orda.experiments.jobs import Job, expand
from orda.experiments.protocol import Protocol
from orda.experiments.store import Store


@dataclass
class Clock:
    """Monotonic seconds that pass when a test says so."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / 'it\'s a "folder" of runs; $HOME'


@pytest.fixture
def store(root: Path) -> Store:
    return Store(root, beat=0.05)


@pytest.fixture(scope="session")
def jobs() -> list[Job]:
    """12 runs: ERM, CORAL and CORAL + ORDERED, two repeats, two draws."""
    return expand(Protocol.from_dict(SMALL))


@pytest.fixture
def of(jobs: list[Job]) -> Callable[[str], list[Job]]:
    """The jobs of a row."""
    return lambda row: [job for job in jobs if job.row == row]
