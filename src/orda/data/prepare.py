"""`orda data prepare` and `orda data check`: from nothing on disk to decoded arrays, and whether they are still right.

    fetch ──> unpack beside ──> count ──> checksums ──> move into place ──> decode into the cache

Every step can be interrupted and is done again, or gone on with, by the same command.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from orda.data import office_home, spawrious
from orda.data.archive import unpack, write_checksums, wrong_files
from orda.data.build import lock
from orda.data.cache import MANIFEST, open_array, places, read_json
from orda.data.download import Archive, Patience, fetch
from orda.data.registry import DATASETS, KINDS, DataSet, Task, open_data
from orda.errors import CacheMismatch, DataError, DownloadError, SettingError, UnknownName

SHOWN = 20
UNPACK = ".orda-unpack-"


@dataclass(frozen=True, slots=True)
class Download:
    """Where a data set is to be had, and how it lies once unpacked."""

    archives: tuple[Archive, ...]  # any one of them holds all of it
    folder: str  # where it goes below the root
    find: Callable[[Path], Path]  # the folder of the data below a folder


def _find_office_home(folder: Path) -> Path:
    return next(iter(office_home.find_domains(folder, office_home.DOMAINS).values())).parent


DOWNLOADS: Mapping[str, Download] = MappingProxyType(
    {
        "office-home": Download(office_home.ARCHIVES, "office_home", _find_office_home),
        "spawrious": Download(spawrious.ARCHIVES, "spawrious224", spawrious.find_images),
    }
)


@dataclass(frozen=True, slots=True)
class Report:
    """What was prepared or checked."""

    name: str
    domains: Mapping[str, int]  # images
    damaged: int  # left out because they cannot be read
    notes: tuple[str, ...]


def prepare(
    name: str,
    root: str | Path | None = None,
    *,
    download: bool = False,
    task: Task | None = None,
    domains: Sequence[str] | None = None,
    complete: bool = True,
    patience: Patience | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Report:
    """Fetch the data set if it is missing and asked for, and decode it; ``options`` as :func:`open_data` has them.

    An archive that lies in the root under its own name is unpacked without ``download``.
    """
    notes: list[str] = []
    if name == "digits":
        notes.append("the digits are embedded: nothing to fetch or to decode")
    elif name in DATASETS and root is not None:
        home = Path(root).expanduser()
        if name in DOWNLOADS:
            notes += _provide(name, home, download, complete, patience, progress)
        elif download:
            raise SettingError("only some data sets can be fetched", name, f"Known: {', '.join(DOWNLOADS)}")
    data = open_data(name, root, task=task, domains=domains, complete=complete, progress=progress, **options)
    return Report(name, _counts(data), data.damaged, tuple(notes))


def check(
    name: str,
    root: str | Path | None = None,
    *,
    complete: bool = True,
    progress: bool | None = None,
    cache_dir: str | Path | None = None,
) -> Report:
    """Compare the files with the layout, the counts and the checksums, and every cached array with its manifest.

    Nothing is written. One error lists all that is wrong.
    """
    if name not in DATASETS:
        raise UnknownName("data set", name, DATASETS)
    if name == "digits":
        data = open_data(name)
        return Report(name, _counts(data), 0, ("the digits are embedded: nothing can have changed",))
    if root is None:
        raise SettingError(f"{name} needs the folder that holds it", "root=None", "Pass root (--root)")
    home = Path(root).expanduser()
    counts: dict[str, int] = {}
    faults: list[str] = []
    notes: list[str] = []
    try:
        counts = {listing.name: len(listing.names) for listing in KINDS[name].listings(home, None, complete)}
    except DataError as error:
        faults.append(str(error))
    if name in DOWNLOADS and not faults:
        wrong = wrong_files(DOWNLOADS[name].find(home), progress)
        if wrong is None:
            notes.append("no checksums were recorded: the files were not unpacked by `orda data prepare`")
        else:
            notes += ["all files match their checksums"] if not wrong else []
            faults += wrong[:SHOWN] + ([f"and {len(wrong) - SHOWN} more files"] if len(wrong) > SHOWN else [])
    checked, mismatched = _check_arrays(home, cache_dir)
    notes.append(f"{checked} cached arrays match their manifests" if checked else "nothing is cached yet")
    faults += mismatched
    if faults:
        raise DataError(
            f"{name} in {home} is not as it should be",
            "".join(f"\n  {fault}" for fault in faults) + "\n",
            "Replace what is wrong; `orda data prepare` does the rest",
        )
    return Report(name, counts, 0, tuple(notes))


def _counts(data: DataSet) -> dict[str, int]:
    return {name: len(domain) for name, domain in data.domains.items()}


def _check_arrays(root: Path, cache_dir: str | Path | None) -> tuple[int, list[str]]:
    """How many cached arrays are what their manifest says, and what is wrong with the others."""
    right, faults = 0, []
    for place in places(root, None if cache_dir is None else Path(cache_dir)):
        for folder in sorted(path.parent for path in place.glob(f"*/{MANIFEST}")):
            manifest = read_json(folder / MANIFEST)
            try:
                if manifest is not None:
                    open_array(folder, manifest["array"], verify=True)
                    right += 1
            except CacheMismatch as error:
                faults.append(str(error))
    return right, faults


def _provide(
    name: str, root: Path, download: bool, complete: bool, patience: Patience | None, progress: bool | None
) -> list[str]:
    """Fetch and unpack unless the data are there (or their archive is); what was done."""
    source = DOWNLOADS[name]
    target = root / source.folder
    at_hand = [archive for archive in source.archives if (root / archive.file).exists()]
    if _is_there(source, root) or not (download or at_hand):
        return []
    root.mkdir(parents=True, exist_ok=True)
    with lock(root / ".orda-prepare.lock") as held:
        if _is_there(source, root):
            return []
        for left in root.glob(f"{UNPACK}*") if held else ():  # of a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        if target.exists():
            raise DataError(f"{name} is unpacked to {target}", "something else is there", "Move it away")
        faults = []
        for archive in at_hand or source.archives:
            try:
                return _unpack_counted(name, archive, root, complete, patience, progress)
            except DownloadError as error:
                faults.append(f"\n  {error}")
    raise DownloadError(f"{name} could not be had", "".join(faults) + "\n", "Correct that, and run the command again")


def _is_there(source: Download, root: Path) -> bool:
    try:
        source.find(root)
    except DataError:
        return False
    return True


def _unpack_counted(
    name: str, archive: Archive, root: Path, complete: bool, patience: Patience | None, progress: bool | None
) -> list[str]:
    """One archive: fetched, unpacked beside, counted, moved into place. A damaged one is fetched once more."""
    source, path, given = DOWNLOADS[name], root / archive.file, (root / archive.file).exists()
    for last in (False, True):
        fetch(
            archive.url,
            path,
            size=archive.size,
            sha256=archive.sha256,
            md5=archive.md5,
            patience=patience,
            progress=progress,
        )
        beside = Path(tempfile.mkdtemp(prefix=UNPACK, dir=root))
        try:
            files = unpack(path, beside / "data", progress)
            home = source.find(beside / "data")
            KINDS[name].listings(beside / "data", None, complete)
            write_checksums(home, progress)
            home.rename(root / source.folder)
        except DownloadError:
            if given or last:
                raise
            path.unlink()
            continue
        except DataError as error:
            raise DownloadError(f"{archive.file} does not hold {name}", str(error), f"Delete {path}") from error
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        if not given:
            path.unlink()
        return [f"{files:,} files from {archive.file}, in {root / source.folder}"]
    raise AssertionError("unreachable")
