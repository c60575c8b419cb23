"""Spawrious: dog breeds before backgrounds that give them away in training and mislead in the test; six challenges.

On disk: ``spawrious224/<0|1>/<location>/<breed>/*.png``, 224 × 224, 3,168 images in each of the 2 · 6 · 4 cells.
A challenge has two source environments and a test environment (``"o2o_easy/env1"``, ``/env2``, ``/test``):

* **one to one** (O2O): environment e reads folder e − 1. Every breed stands before its own location, and a few before a
  filler that is the same for all breeds: 97 % + 3 % in environment 1, 87 % + 13 % in environment 2 (of 3,168:
  3,072 + 96 and 2,756 + 412). In the test every breed stands before another location, images of both folders.
* **many to many** (M2M): folder 0 alone. Two groups of breeds and two groups of locations: environment 2 swaps the
  locations within the pairs of environment 1. The test has both arrangements of the other pairing.

Where a part of a cell is taken it is the first files by name, so that it does not depend on the file system.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from orda.data.build import Listing
from orda.data.cache import CacheSettings, build_domains
from orda.data.decode import DecodeSettings
from orda.data.domain import ArrayDomain
from orda.data.download import Archive
from orda.data.folder import images_below, subfolders
from orda.errors import DataError, UnknownName

CELL = 3168  # images before one location, of one breed, in one folder
CLASSES = ("bulldog", "corgi", "dachshund", "labrador")
BREEDS = ("bulldog", "dachshund", "labrador", "corgi")  # the order of the locations below
SHARES = (0.97, 0.87)  # of O2O's environments before their own location
ARCHIVES = (
    Archive("https://www.dropbox.com/s/e40j553480h3f3s/spawrious224.tar.gz?dl=1", "spawrious224.tar.gz"),
    Archive(
        "https://www.dropbox.com/s/hofkueo8qvaqlp3/spawrious224__entire_dataset.tar.gz?dl=1",
        "spawrious224__entire_dataset.tar.gz",
    ),
)


@dataclass(frozen=True, slots=True)
class Challenge:
    """Locations of bulldog, dachshund, labrador and corgi in training and in the test."""

    train: tuple[str, str, str, str]
    test: tuple[str, str, str, str]
    filler: str | None  # of one to one; None: many to many


CHALLENGES: Mapping[str, Challenge] = MappingProxyType(
    {
        "o2o_easy": Challenge(("desert", "jungle", "dirt", "snow"), ("dirt", "snow", "desert", "jungle"), "beach"),
        "o2o_medium": Challenge(("mountain", "beach", "dirt", "jungle"), ("jungle", "dirt", "beach", "snow"), "desert"),
        "o2o_hard": Challenge(
            ("jungle", "mountain", "snow", "desert"), ("mountain", "snow", "desert", "jungle"), "beach"
        ),
        "m2m_easy": Challenge(("desert", "mountain", "dirt", "jungle"), ("dirt", "jungle", "mountain", "desert"), None),
        "m2m_medium": Challenge(("beach", "snow", "mountain", "desert"), ("desert", "mountain", "beach", "snow"), None),
        "m2m_hard": Challenge(("dirt", "jungle", "snow", "beach"), ("snow", "beach", "dirt", "jungle"), None),
    }
)
PARTS = ("env1", "env2", "test")
DOMAINS = tuple(f"{challenge}/{part}" for challenge in CHALLENGES for part in PARTS)


@dataclass(frozen=True, slots=True)
class Cell:
    """The first ``take`` images by name of a breed before a location; all where ``take`` is ``None``."""

    folder: int
    location: str
    breed: str
    take: int | None = None

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.location}/{self.breed}"


def environment(domain: str, cell: int = CELL) -> list[Cell]:
    """The cells of "challenge/part", where a full cell has ``cell`` images."""
    if domain not in DOMAINS:
        raise UnknownName("domain of Spawrious", domain, DOMAINS)
    name, part = domain.split("/")
    challenge = CHALLENGES[name]
    if challenge.filler is None:
        return _many_to_many(challenge, part)
    return _one_to_one(challenge, challenge.filler, part, cell)


def _one_to_one(challenge: Challenge, filler: str, part: str, cell: int) -> list[Cell]:
    if part == "test":
        return [Cell(folder, *pair) for folder in (0, 1) for pair in zip(challenge.test, BREEDS, strict=True)]
    folder = PARTS.index(part)
    own = int(SHARES[folder] * cell)
    main = [Cell(folder, location, breed, own) for location, breed in zip(challenge.train, BREEDS, strict=True)]
    return main + [Cell(folder, filler, breed, cell - own) for breed in BREEDS]


def _many_to_many(challenge: Challenge, part: str) -> list[Cell]:
    locations = challenge.test if part == "test" else challenge.train
    a, b, c, d = locations
    plain, swapped = (a, b, c, d), (b, a, d, c)
    arrangements = {"env1": [plain], "env2": [swapped], "test": [plain, swapped]}[part]
    return [Cell(0, *pair) for places in arrangements for pair in zip(places, BREEDS, strict=True)]


def open_spawrious(
    root: str | Path,
    domains: Sequence[str] | None = None,
    *,
    decode: DecodeSettings | None = None,
    complete: bool = True,
    cache: CacheSettings | None = None,
) -> dict[str, ArrayDomain]:
    """Environments by name; all 18 (45 GB decoded at 224 px) unless some are named.

    ``complete`` refuses cells that have not 3,168 images. Without it, cells are cut to the smallest one asked for, and
    the shares of the environments are taken of that.
    """
    return build_domains(list_spawrious(root, domains, complete), decode, cache)


def list_spawrious(root: str | Path, domains: Sequence[str] | None = None, complete: bool = True) -> list[Listing]:
    """What :func:`open_spawrious` will decode."""
    root = Path(root).expanduser()
    wanted = DOMAINS if domains is None else tuple(domains)
    home = find_images(root)
    cells = {cell.path for domain in wanted for cell in environment(domain)}
    files = {path: [f"{path}/{name}" for name in images_below(home / path)] for path in sorted(cells)}
    size = _check(files, home, complete)
    return [_listing(domain, root, home, environment(domain, size), files, size) for domain in wanted]


def find_images(root: Path) -> Path:
    """The folder that holds ``0`` and ``1``: the root, or one folder of it."""
    for home in [root, *subfolders(root)] if root.is_dir() else []:
        if (home / "0").is_dir() and (home / "1").is_dir():
            return home
    raise DataError(
        "Spawrious must have the folders 0 and 1 (of spawrious224)",
        f"not in {root} or one folder below",
        "Check --root, or fetch it: orda data prepare spawrious --root DIR --download",
    )


def _check(files: Mapping[str, Sequence[str]], home: Path, complete: bool) -> int:
    """The size of a cell; all that are of another are listed."""
    faults = (
        [f"\n  {path} has {len(found):,} images" for path, found in files.items() if len(found) != CELL]
        if complete
        else [f"\n  {path} has no images" for path, found in files.items() if not found]
    )
    if faults:
        raise DataError(
            f"Spawrious in {home} must have {CELL:,} images in every cell",
            "".join(faults) + "\n",
            "Fetch it again, or pass complete=False",
        )
    return min(len(found) for found in files.values())


def _listing(
    domain: str, root: Path, home: Path, cells: Iterable[Cell], files: Mapping[str, Sequence[str]], size: int
) -> Listing:
    """The images of an environment, breed by breed."""
    parts = sorted(cells, key=lambda cell: CLASSES.index(cell.breed))
    chosen = [
        (name, cell.breed) for cell in parts for name in files[cell.path][: size if cell.take is None else cell.take]
    ]
    names = tuple(name for name, _ in chosen)
    labels = tuple(CLASSES.index(breed) for _, breed in chosen)
    return Listing(domain, root, home, names, labels, CLASSES)
