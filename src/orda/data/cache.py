"""Decode once: a domain on disk becomes one memory-mapped uint8 array.

    root/class/file.png ──decode, in parallel──> <place>/<domain>-<size>-<digest>/images-<token>.npy + manifest.json

The manifest holds where the pixels came from (file names, sizes, times of change), how they were decoded, and the
SHA-256 of the array. It is moved into place last, so what it names is always complete: a builder that is killed leaves
a ``.part`` file, which the next one removes. A lock that dies with its process keeps two builders from doing the same
work (a file system without locks costs double work, not a wrong array).

* The source changed (a file more, fewer, of another size or time): the array is built again.
* The array does not match its manifest: :class:`~orda.errors.CacheMismatch`. Its shape, size and time are compared at
  every opening, its SHA-256 when the time differs or ``verify`` asks for it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orda.data.build import Damage, Listing, build_array, lock, remove_leftovers
from orda.data.decode import DecodeSettings
from orda.data.domain import ArrayDomain, Pixels
from orda.errors import CacheMismatch, DamagedImages, DataError
from orda.records import IntArray

FORMAT = 1
MANIFEST = "manifest.json"
IN_ROOT = ".orda-cache"


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """Where and how domains are cached."""

    cache_dir: Path | None = None  # None: see places()
    workers: int | None = None  # threads that decode; None: one per available core
    skip_damaged: bool = False  # leave damaged images out instead of refusing the domain
    verify: bool = False  # compare the SHA-256 of every array that is opened
    progress: bool | None = None  # None: a bar where standard error is a terminal


def build_domain(
    listing: Listing, decode: DecodeSettings | None = None, settings: CacheSettings | None = None
) -> ArrayDomain:
    """The domain from the cache, built first where it is missing or the source has changed."""
    return build_domains([listing], decode, settings)[listing.name]


def build_domains(
    listings: Sequence[Listing], decode: DecodeSettings | None = None, settings: CacheSettings | None = None
) -> dict[str, ArrayDomain]:
    """Several domains; one error lists the damaged images of all of them."""
    decode, settings = decode or DecodeSettings(), settings or CacheSettings()
    opened = [(listing, *_open_or_build(listing, decode, settings)) for listing in listings]
    damaged = [(listing, damage) for listing, _, found in opened for damage in found]
    if damaged and not settings.skip_damaged:
        total = sum(len(listing.names) for listing in listings)
        raise DamagedImages(
            f"every image must be readable; {len(damaged)} of {total} are not",
            "".join(f"\n  {listing.root / damage.name}: {damage.reason}" for listing, damage in damaged) + "\n",
            "Replace or remove them, or leave them out with skip_damaged=True (--skip-damaged)",
        )
    empty = [listing.name for listing, domain, _ in opened if not len(domain)]
    if empty:
        raise DataError("a domain needs a readable image", f"none in {', '.join(empty)}", "Check the folders")
    return {listing.name: domain for listing, domain, _ in opened}


def places(root: Path, cache_dir: Path | None = None) -> list[Path]:
    """Folders that may hold the arrays of ``root``, the preferred one first.

    ``cache_dir`` if given; else the folder in ``ORDA_CACHE`` if that is set; else ``root/.orda-cache``, and where the
    root cannot be written, the user's cache folder. Outside the root, every root has a folder of its own.
    """
    root = root.resolve()
    own = f"{root.name or 'root'}-{_digest(str(root))}"
    chosen = cache_dir or os.environ.get("ORDA_CACHE")
    if chosen:
        return [Path(chosen).expanduser().resolve() / own]
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [root / IN_ROOT, user / "orda" / own]


def folder_name(name: str, decode: DecodeSettings) -> str:
    """The folder of a domain's array: readable, and distinct for every name and way to decode."""
    readable = re.sub(r"[^\w.-]+", "_", name)
    return f"{readable}-{decode.height}x{decode.width}-{_digest(json.dumps([name, decode.as_record()]))}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _open_or_build(
    listing: Listing, decode: DecodeSettings, settings: CacheSettings
) -> tuple[ArrayDomain, list[Damage]]:
    """The domain, without its damaged images, and those."""
    source = listing.source()
    folders = [place / folder_name(listing.name, decode) for place in places(listing.home, settings.cache_dir)]
    for folder in folders:
        found = _open(folder, listing, decode, source, settings.verify)
        if found:
            return found
    folder = _first_writable(folders)
    with lock(folder / "lock") as held:
        found = _open(folder, listing, decode, source, settings.verify)  # another process may have built it meanwhile
        if found:
            return found
        if held:
            remove_leftovers(folder)
        source = listing.source()
        array, damaged = build_array(listing, decode, folder, settings.workers, settings.progress)
        manifest = {
            "format": FORMAT,
            "domain": listing.name,
            "decode": decode.as_record(),
            "classes": list(listing.classes),
            "source": source,
            "damaged": [[damage.name, damage.reason] for damage in damaged],
            "array": array,
        }
        _write_json(folder / MANIFEST, manifest)
        if held:
            remove_leftovers(folder, keep=str(array["file"]))
        found = _open(folder, listing, decode, source, verify=False)
    if not found:
        raise CacheMismatch("a cache just built must open", str(folder), "Does something else write there?")
    return found


def _open(
    folder: Path, listing: Listing, decode: DecodeSettings, source: dict[str, Any], verify: bool
) -> tuple[ArrayDomain, list[Damage]] | None:
    """The domain if its manifest is there and says what the source says; ``None`` where it must be built."""
    manifest = read_json(folder / MANIFEST)
    expected = {
        "format": FORMAT,
        "domain": listing.name,
        "decode": decode.as_record(),
        "classes": list(listing.classes),
        "source": source,
    }
    if manifest is None or any(manifest.get(key) != value for key, value in expected.items()):
        return None
    try:
        images = open_array(folder, manifest["array"], verify)
    except CacheMismatch:
        if read_json(folder / MANIFEST) == manifest:
            raise
        return _open(folder, listing, decode, source, verify)  # it was built again between the two readings
    damaged = [Damage(name, reason) for name, reason in manifest["damaged"]]
    lost = {damage.name for damage in damaged}
    kept = [i for i, name in enumerate(listing.names) if name not in lost]
    labels: IntArray = np.asarray(listing.labels, dtype=np.int64)[kept]
    names = tuple(listing.names[i] for i in kept)
    return ArrayDomain(listing.name, images, labels, names, listing.classes), damaged


def open_array(folder: Path, record: dict[str, Any], verify: bool = False) -> Pixels:
    """The array that a manifest names, memory-mapped, once it is what the manifest says."""
    path = folder / record["file"]
    try:
        stat = path.stat()
        if stat.st_size != record["bytes"]:
            raise ValueError(f"{stat.st_size} bytes instead of {record['bytes']}")
        images: Pixels = np.load(path, mmap_mode="r" if record["shape"][0] else None)
        if list(images.shape) != record["shape"] or images.dtype != np.uint8:
            raise ValueError(f"shape {images.shape} of {images.dtype} instead of {record['shape']} of uint8")
        if (verify or stat.st_mtime_ns != record["mtime_ns"]) and sha256_of(images) != record["sha256"]:
            raise ValueError("its SHA-256 is another")
    except (OSError, ValueError) as error:
        raise CacheMismatch(
            f"the array must match its manifest, {path}", str(error), f"Delete {folder}; it is then built again"
        ) from error
    return images


def sha256_of(images: Pixels) -> str:
    """The SHA-256 of the pixels' bytes."""
    digest = hashlib.sha256()
    for start in range(0, len(images), 256):
        digest.update(np.ascontiguousarray(images[start : start + 256]).data)
    return digest.hexdigest()


def _first_writable(folders: Sequence[Path]) -> Path:
    faults = []
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError as error:
            faults.append(str(error))
    raise DataError(
        "decoded images need a folder that can be written", "; ".join(faults), "Name one: cache_dir, or ORDA_CACHE"
    )


def read_json(path: Path) -> dict[str, Any] | None:
    """What the file holds; ``None`` where it is not there or holds no JSON object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _write_json(path: Path, value: dict[str, Any]) -> None:
    """Written beside and moved into place."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with open(part, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=True)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
