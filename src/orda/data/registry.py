"""Data sets by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from orda.data.domain import ArrayDomain


@dataclass(frozen=True, slots=True)
class Task:
    """What to learn from and what for: names of domains."""

    name: str  # "Art->Clipart", "o2o_easy"
    sources: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True)
class DataSet:
    """An opened data set."""

    name: str
    domains: Mapping[str, ArrayDomain]
    classes: tuple[str, ...]
    augmentation: str  # a name in AUGMENTATIONS
    normalisation: str  # a name in NORMALISATIONS
    image_size: int  # the images are image_size × image_size
    split_by: Literal["example", "name"]  # how to split it honestly: see splits.split

    def of(self, task: Task) -> tuple[list[ArrayDomain], ArrayDomain]:
        """The task's source domains and its target."""
        return [self.domains[source] for source in task.sources], self.domains[task.target]


def pair(source: str, target: str) -> Task:
    """The task from one source to one target."""
    return Task(f"{source}->{target}", (source,), target)


def tasks(name: str, root: str | Path | None = None) -> tuple[Task, ...]:
    """The tasks of a data set; of "folder", all ordered pairs of the domains under ``root``."""
    raise NotImplementedError


def open_data(
    name: str,
    root: str | Path | None = None,
    *,
    task: Task | None = None,
    domains: Sequence[str] | None = None,
    size: int | None = None,
    cache_dir: str | Path | None = None,
    workers: int | None = None,
    skip_damaged: bool = False,
    complete: bool = True,
    progress: bool | None = None,
) -> DataSet:
    """Open the data set's domains (all, those named, or those of ``task``), decoding what is not yet in the cache."""
    raise NotImplementedError
