"""Folders of images: ``root/domain/class/*`` (Office-Home, PACS, DomainNet, your own).

Domains, classes and files are taken in sorted order (by name, upper case first), so labels and splits do not depend on
the file system. Hidden files and folders, and files that are not images, are passed over.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from orda.data.build import Listing
from orda.data.cache import CacheSettings, build_domains
from orda.data.decode import DecodeSettings
from orda.data.domain import ArrayDomain
from orda.errors import DataError, UnknownName

IMAGES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})
Found = dict[str, list[str]]  # class -> files, relative to the domain's folder


def open_folder(
    root: str | Path,
    domains: Sequence[str] | None = None,
    *,
    size: int = 224,
    decode: DecodeSettings | None = None,
    classes: Sequence[str] | None = None,
    cache: CacheSettings | None = None,
) -> dict[str, ArrayDomain]:
    """The domains under ``root`` (all, or those named), decoded to ``size`` × ``size`` or as ``decode`` says.

    All must have the same classes, or at least the ``classes`` asked for; others are then not read.
    """
    listings = list_folder(root, domains, classes)
    return build_domains(listings, decode or DecodeSettings(size, size), cache)


def list_folder(
    root: str | Path, domains: Sequence[str] | None = None, classes: Sequence[str] | None = None
) -> list[Listing]:
    """What :func:`open_folder` will decode."""
    root = Path(root).expanduser()
    known = domain_folders(root)
    for name in domains or ():
        if name not in known:
            raise UnknownName(f"domain in {root}", name, known)
    folders = known if domains is None else {name: known[name] for name in domains}
    return list_domains(root, folders, classes)


def domain_folders(root: Path) -> dict[str, Path]:
    """The folders under ``root`` that hold folders of images, by name."""
    if not root.is_dir():
        raise DataError(
            "the data must be in a folder", str(root), "Check --root; `orda data prepare` can fetch some sets"
        )
    found = {path.name: path for path in subfolders(root) if any(_has_image(c) for c in subfolders(path))}
    if not found:
        raise DataError(
            "the root must hold root/domain/class/images", f"{root} with {_shown(subfolders(root))}", "Check --root"
        )
    return found


def list_domains(root: Path, folders: Mapping[str, Path], classes: Sequence[str] | None = None) -> list[Listing]:
    """Listings of the named folders, once their classes agree."""
    found = {name: images_by_class(folder) for name, folder in folders.items()}
    wanted = sorted(set().union(*found.values())) if classes is None else list(dict.fromkeys(classes))
    faults = []
    for name, by_class in found.items():
        missing = [c for c in wanted if c not in by_class]
        if missing:
            faults.append(f"\n  {name} has no images of {', '.join(missing)}")
    if faults:
        raise DataError(
            f"all domains must have the same classes; {len(wanted)} are asked for",
            "".join(faults) + "\n",
            "Add or rename folders; classes=[...], in Python, takes those that all have",
        )
    return [listing(name, root, folders[name], by_class, wanted) for name, by_class in found.items()]


def listing(
    name: str, home: Path, root: Path, by_class: Mapping[str, Sequence[str]], classes: Sequence[str]
) -> Listing:
    """The files of each class in turn."""
    names = [file for c in classes for file in by_class[c]]
    labels = [label for label, c in enumerate(classes) for _ in by_class[c]]
    return Listing(name, home, root, tuple(names), tuple(labels), tuple(classes))


def images_by_class(folder: Path) -> Found:
    """class -> sorted image files below ``folder/class``, at any depth; classes without images are left out."""
    found = {c.name: [f"{c.name}/{file}" for file in images_below(c)] for c in subfolders(folder)}
    return {name: files for name, files in found.items() if files}


def images_below(folder: Path) -> list[str]:
    """Image files at any depth, with forward slashes, sorted."""
    found = []
    for top, inner, files in os.walk(folder, followlinks=True):
        inner[:] = [name for name in inner if not name.startswith(".")]
        below = Path(top).relative_to(folder)
        found += [(below / name).as_posix() for name in files if is_image(name)]
    return sorted(found)


def is_image(name: str) -> bool:
    return not name.startswith(".") and os.path.splitext(name)[1].lower() in IMAGES


def subfolders(folder: Path) -> list[Path]:
    """Visible folders, sorted by name."""
    names = (e.name for e in os.scandir(folder) if e.is_dir() and not e.name.startswith((".", "__")))
    return [folder / name for name in sorted(names)]


def _has_image(folder: Path) -> bool:
    return any(is_image(name) for _, _, files in os.walk(folder, followlinks=True) for name in files)


def _shown(paths: Sequence[Path]) -> str:
    names = [path.name for path in paths]
    return ", ".join(names[:8]) + (" …" if len(names) > 8 else "") if names else "no folders"
