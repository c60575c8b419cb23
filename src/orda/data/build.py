"""Building a domain's array: files decoded by many threads, written in order by one.

Pillow decodes without the interpreter lock, so threads use all cores and share nothing but the list of files.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import shutil
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from orda.data.decode import DecodeSettings, decode
from orda.data.domain import Pixels
from orda.data.progress import progress_bar
from orda.errors import DataError

if sys.platform != "win32":
    import fcntl

log = logging.getLogger("orda.data")
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Damage:
    """An image that cannot be read, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A domain as it lies on disk."""

    name: str
    home: Path  # the root of the data set, beside which arrays are cached
    root: Path  # names are relative to it
    names: tuple[str, ...]  # (n,) with forward slashes, in the order of the array
    labels: tuple[int, ...]  # (n,) into classes
    classes: tuple[str, ...]

    def source(self) -> dict[str, Any]:
        """What a cached array is compared with: the names, sizes and times of change of the files, and their labels."""
        try:
            stats = [os.stat(self.root / name) for name in self.names]
        except OSError as error:
            raise DataError(
                "every listed image must be there", str(error), "Is something else moving files?"
            ) from error
        return {
            "names": list(self.names),
            "labels": list(self.labels),
            "sizes": [stat.st_size for stat in stats],
            "mtimes_ns": [stat.st_mtime_ns for stat in stats],
        }


def build_array(
    listing: Listing, settings: DecodeSettings, folder: Path, workers: int | None, progress: bool | None
) -> tuple[dict[str, Any], list[Damage]]:
    """Decode the listing into a new array in ``folder``; its record for the manifest, and what could not be read."""
    _check_space(folder, len(listing.names) * settings.height * settings.width * 3)
    path = folder / f"images-{secrets.token_hex(4)}.npy"
    part = path.with_suffix(".npy.part")
    damaged: list[Damage] = []
    digest = hashlib.sha256()

    def read(name: str) -> Pixels | Damage:
        try:
            return decode(listing.root / name, settings)
        except MemoryError:
            raise
        except Exception as error:  # a damaged file can raise nearly anything
            return Damage(name, f"{type(error).__name__}: {error}".splitlines()[0])

    try:
        with open(part, "wb") as file, progress_bar(f"Decoding {listing.name}", len(listing.names), progress) as step:
            _write_header(file, len(listing.names), settings)
            for result in in_order(read, listing.names, workers or available_cores()):
                if isinstance(result, Damage):
                    damaged.append(result)
                else:
                    pixels = np.ascontiguousarray(result).data
                    file.write(pixels)
                    digest.update(pixels)
                step(1)
            shape = _write_header(file, len(listing.names) - len(damaged), settings)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise DataError(
            f"the decoded images must fit in {folder}", str(error), "Free space, or set cache_dir"
        ) from error
    finally:
        part.unlink(missing_ok=True)
    stat = path.stat()
    record = {"file": path.name, "shape": shape, "bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    return {**record, "sha256": digest.hexdigest()}, damaged


def _write_header(file: IO[bytes], count: int, settings: DecodeSettings) -> list[int]:
    """The .npy header at the start of the file, 128 bytes whatever the count; the shape that it states."""
    shape = [count, settings.height, settings.width, 3]
    file.seek(0)
    header = {"descr": "|u1", "fortran_order": False, "shape": tuple(shape)}
    np.lib.format.write_array_header_1_0(file, header)
    assert file.tell() == 128
    return shape


def in_order(work: Callable[[T], R], items: Iterable[T], workers: int) -> Iterator[R]:
    """``work`` of every item in the items' order, by threads that run a little ahead (so memory stays bounded)."""
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="orda-data") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) >= 8 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def available_cores() -> int:
    """Cores that this process may use (a container or a scheduler may grant fewer than there are)."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


@contextmanager
def lock(path: Path) -> Iterator[bool]:
    """Held by one process at a time; the system frees it when its holder dies, so it cannot go stale.

    Gives whether it is held: where there are no file locks (Windows, some network file systems) it is not. Builders
    then repeat each other's work, each writing a file of its own.
    """
    if sys.platform == "win32":
        yield False
        return
    with open(path, "ab") as file:
        held = True
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.info("waiting for another process that is building %s", path.parent)
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            log.info("no file locks at %s (%s): going on without", path.parent, error)
            held = False
        yield held


def remove_leftovers(folder: Path, keep: str | None = None) -> None:
    """Files of builders that were killed; with ``keep``, also the arrays that the manifest no longer names."""
    for path in folder.iterdir():
        old_array = keep is not None and path.name.startswith("images-") and path.name != keep
        if path.name.endswith(".part") or old_array:
            path.unlink(missing_ok=True)


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise DataError(
            f"the decoded images need {needed / 1e9:.1f} GB in {folder}",
            f"{free / 1e9:.1f} GB free",
            "Free space, name another folder (cache_dir, ORDA_CACHE), or take a smaller size",
        )
