"""Data sets by name.

| name | domains | tasks | classes | images |
|---|---|---|---|---|
| ``digits`` | 6, embedded: nothing to fetch | 12 pairs of the plain and the textured ones | 10 | 8 × 8 |
| ``office-home`` | Art, Clipart, Product, Real | all 12 pairs | 65 | 224 × 224 |
| ``spawrious`` | two environments and a test for each challenge | the 6 challenges | 4 | 224 × 224 |
| ``folder`` | the folders of ``root/domain/class/*`` | all pairs | the folders' | 224 × 224 |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from orda.data import digits, office_home, spawrious
from orda.data.build import Listing
from orda.data.cache import CacheSettings, build_domains
from orda.data.decode import DecodeSettings
from orda.data.domain import ArrayDomain
from orda.data.folder import domain_folders, list_folder
from orda.errors import SettingError, UnknownName


@dataclass(frozen=True, slots=True)
class Task:
    """What to learn from and what for: names of domains."""

    name: str  # "Art->Clipart", "o2o_easy"
    sources: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True, eq=False)
class DataSet:
    """An opened data set."""

    name: str
    domains: Mapping[str, ArrayDomain]
    classes: tuple[str, ...]
    augmentation: str  # a name in AUGMENTATIONS
    normalisation: str  # a name in NORMALISATIONS
    image_size: int  # the images are image_size × image_size
    split_by: Literal["example", "name"]  # how to split it honestly: see splits.split
    damaged: int = 0  # images left out because they cannot be read

    def of(self, task: Task) -> tuple[list[ArrayDomain], ArrayDomain]:
        """The task's source domains and its target."""
        for name in (*task.sources, task.target):
            if name not in self.domains:
                raise UnknownName(f"domain of {self.name}", name, self.domains)
        return [self.domains[source] for source in task.sources], self.domains[task.target]


@dataclass(frozen=True, slots=True)
class Kind:
    """What the registry knows of a data set on disk."""

    listings: Callable[[Path, Sequence[str] | None, bool], list[Listing]]  # root, domains, complete
    augmentation: str


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "office-home": Kind(office_home.list_office_home, "domainbed"),
        "spawrious": Kind(spawrious.list_spawrious, "spawrious"),
        "folder": Kind(lambda root, domains, _complete: list_folder(root, domains), "domainbed"),
    }
)
DATASETS = ("digits", *KINDS)


def pair(source: str, target: str) -> Task:
    """The task from one source to one target."""
    return Task(f"{source}->{target}", (source,), target)


def tasks(name: str, root: str | Path | None = None) -> tuple[Task, ...]:
    """The tasks of a data set; of "folder", all ordered pairs of the domains under ``root``."""
    _check_name(name)
    if name == "spawrious":
        return tuple(
            Task(challenge, (f"{challenge}/env1", f"{challenge}/env2"), f"{challenge}/test")
            for challenge in spawrious.CHALLENGES
        )
    if name == "digits":
        return tuple(pair(source, target) for source, target in digits.TASKS)
    domains = office_home.DOMAINS if name == "office-home" else tuple(domain_folders(_root(name, root)))
    return tuple(pair(source, target) for source, target in permutations(domains, 2))


def find_task(name: str, sources: Sequence[str], target: str | None = None, root: str | Path | None = None) -> Task:
    """The task of a data set that is asked for by its name, or by sources and a target (any that are domains).

    >>> find_task("office-home", ["Real World"], "Art")
    Task(name='Real->Art', sources=('Real',), target='Art')
    >>> find_task("spawrious", ["o2o_easy"])
    Task(name='o2o_easy', sources=('o2o_easy/env1', 'o2o_easy/env2'), target='o2o_easy/test')
    """
    _check_name(name)
    if target is None:
        return _named_task(name, sources, root)
    if not sources:
        raise SettingError("a task needs a source", "none", "Name one or more source domains")
    first, *others = (_domain_name(name, spelling, root) for spelling in (*sources, target))
    *rest, last = others
    if last in (first, *rest):
        raise SettingError("the target must not be a source", repr(last), "Name another target, or leave it out there")
    return Task(f"{'+'.join([first, *rest])}->{last}", (first, *rest), last)


def open_data(
    name: str,
    root: str | Path | None = None,
    *,
    task: Task | None = None,
    domains: Sequence[str] | None = None,
    size: int | None = None,
    resize: Literal["squash", "crop"] = "squash",
    cache_dir: str | Path | None = None,
    workers: int | None = None,
    skip_damaged: bool = False,
    verify: bool = False,
    complete: bool = True,
    progress: bool | None = None,
) -> DataSet:
    """Open domains of a data set (those of ``task``, those named, or all), decoding what is not yet in the cache.

    ``complete`` refuses a copy of Office-Home or Spawrious whose counts are not those of the data set; the rest is as
    in :class:`~orda.data.cache.CacheSettings`. The digits need no root and are always 8 × 8.
    """
    _check_name(name)
    if task is not None and domains is not None:
        raise SettingError("name a task or domains", "both", "Leave one of them out")
    wanted = (*task.sources, task.target) if task is not None else domains
    if name == "digits":
        if size not in (None, digits.SIZE):
            raise SettingError(f"the digits are {digits.SIZE} × {digits.SIZE}", f"size={size}", "Leave size out")
        opened = digits.open_digits(wanted)
        return DataSet(name, MappingProxyType(opened), digits.CLASSES, "none", "centred", digits.SIZE, "name")
    size = 224 if size is None else size
    cache = CacheSettings(
        cache_dir=None if cache_dir is None else Path(cache_dir),
        workers=workers,
        skip_damaged=skip_damaged,
        verify=verify,
        progress=progress,
    )
    listings = KINDS[name].listings(_root(name, root), wanted, complete)
    opened = build_domains(listings, DecodeSettings(size, size, resize), cache)
    classes = next(iter(opened.values())).classes
    damaged = sum(len(listing.names) - len(opened[listing.name]) for listing in listings)
    domains_by_name = MappingProxyType(opened)
    return DataSet(name, domains_by_name, classes, KINDS[name].augmentation, "imagenet", size, "example", damaged)


def _named_task(name: str, sources: Sequence[str], root: str | Path | None) -> Task:
    known = {task.name: task for task in tasks(name, root)}
    asked = "+".join(sources)
    if asked in known:
        return known[asked]
    domains = {domain for task in known.values() for domain in (*task.sources, task.target)}
    if domains.issuperset(sources):
        raise SettingError("sources need a target", f"{asked} alone", "Name the domain to adapt to (--target)")
    raise UnknownName(f"task of {name}", asked, known)


def _domain_name(name: str, spelling: str, root: str | Path | None) -> str:
    if name == "office-home":
        return office_home.domain_name(spelling)
    known = {"digits": digits.DOMAINS, "spawrious": spawrious.DOMAINS}.get(name) or domain_folders(_root(name, root))
    if spelling not in known:
        raise UnknownName(f"domain of {name}", spelling, known)
    return spelling


def _check_name(name: str) -> None:
    if name not in DATASETS:
        raise UnknownName("data set", name, DATASETS)


def _root(name: str, root: str | Path | None) -> Path:
    if root is None:
        raise SettingError(f"{name} needs the folder that holds it", "root=None", "Pass root (--root)")
    return Path(root).expanduser()
