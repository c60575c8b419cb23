"""Unpacking archives that one has not made oneself, and the checksums of what came out.

Only plain files and folders come out of an archive, below the folder asked for: a path that leaves it, a link, a device
and a second file of the same name are refused, all of them in one error. Nothing is ever written outside, and no more
than the disk has room for.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from orda.data.build import available_cores, in_order
from orda.data.progress import progress_bar
from orda.errors import DataError, DownloadError

CHECKSUMS = "orda.sha256"  # as `sha256sum` writes and checks them
BLOCK = 1 << 20
SHOWN = 10
DAMAGE = (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError, NotImplementedError)


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    fault: str | None  # why it is refused
    folder: bool
    content: IO[bytes] | None


def unpack(archive: Path, folder: Path, progress: bool | None = None) -> int:
    """Unpack a .zip, .tar or .tar.gz into the new folder; the number of files. On any fault the folder is removed."""
    folder.mkdir(parents=True)
    try:
        return _unpack(archive, folder, progress)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, DAMAGE):
            raise DownloadError(
                f"{archive.name} must be a whole archive",
                f"{type(error).__name__}: {error}",
                "Delete it and fetch it again",
            ) from error
        if isinstance(error, OSError):
            raise DataError(f"{archive.name} must be unpacked in {folder.parent}", str(error), "Free space") from error
        raise


def _unpack(archive: Path, folder: Path, progress: bool | None) -> int:
    room = shutil.disk_usage(folder).free
    refused, count = [], 0
    with progress_bar(f"Unpacking {archive.name}", None, progress) as step:
        for member in _members(archive):
            target = None if member.fault else _inside(folder, member.name)
            if target is None:
                refused.append(f"{member.name!r} ({member.fault or 'leaves the folder'})")
            elif member.folder and not target.is_file():
                target.mkdir(parents=True, exist_ok=True)
            elif target.exists() or any(above.is_file() for above in target.parents):
                refused.append(f"{member.name!r} (twice)")
            elif member.content is not None:
                target.parent.mkdir(parents=True, exist_ok=True)
                room -= _copy(member.content, target, room)
                count += 1
                step(1)
    if refused:
        more = f" and {len(refused) - SHOWN} more" if len(refused) > SHOWN else ""
        raise DataError(
            f"{archive.name} may hold only files and folders that stay below its own folder",
            ", ".join(refused[:SHOWN]) + more,
            "Do not use this archive",
        )
    if not count:
        raise DownloadError(f"{archive.name} must hold files", "none", "Fetch it again")
    return count


def _members(archive: Path) -> Iterator[_Member]:
    with open(archive, "rb") as file:
        magic = file.read(2)
    if magic == b"PK":
        yield from _zip_members(archive)
        return
    reader: Callable[..., Any] = gzip.open if magic == b"\x1f\x8b" else open
    with reader(archive, "rb") as stream:
        yield from _tar_members(stream)
        while stream.read(BLOCK):  # to the very end, where gzip keeps its checksum
            pass


def _tar_members(stream: IO[bytes]) -> Iterator[_Member]:
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for info in tar:
            if info.isdir():
                yield _Member(info.name, None, True, None)
            elif info.isreg():
                yield _Member(info.name, None, False, tar.extractfile(info))
            else:
                yield _Member(info.name, "a link" if info.issym() or info.islnk() else "a device", False, None)


def _zip_members(archive: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if info.flag_bits & 1:
                yield _Member(info.filename, "encrypted", False, None)
            elif info.is_dir():
                yield _Member(info.filename, None, True, None)
            elif kind in (0, stat.S_IFREG):
                with file.open(info) as content:
                    yield _Member(info.filename, None, False, content)
            else:
                yield _Member(info.filename, "a link" if kind == stat.S_IFLNK else "a device", False, None)


def _inside(folder: Path, name: str) -> Path | None:
    """Where a member goes; ``None`` when that is not below the folder (either slash separates)."""
    parts = name.replace("\\", "/").split("/")
    if parts[0] == "" or re.match(r"[A-Za-z]:", name) or ".." in parts or any(ord(letter) < 32 for letter in name):
        return None
    return folder.joinpath(*(part for part in parts if part not in ("", ".")))


def _copy(content: IO[bytes], target: Path, room: int) -> int:
    written = 0
    with open(target, "xb") as file:
        while block := content.read(BLOCK):
            written += len(block)
            if written > room:
                raise DataError(
                    f"the archive must fit on the disk of {target.parent}", "no room for all of it", "Free space"
                )
            file.write(block)
    return written


def write_checksums(folder: Path, progress: bool | None = None) -> None:
    """The SHA-256 of every file below the folder, into ``folder/orda.sha256``."""
    names = _files(folder)
    lines = [f"{digest}  {name}\n" for name, digest in zip(names, _digests(folder, names, progress), strict=True)]
    part = folder / f"{CHECKSUMS}.part"
    part.write_text("".join(lines), encoding="utf-8")
    part.replace(folder / CHECKSUMS)


def wrong_files(folder: Path, progress: bool | None = None) -> list[str] | None:
    """Files changed, missing or added since ``folder/orda.sha256`` was written; ``None`` where it was not."""
    if not (folder / CHECKSUMS).exists():
        return None
    lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    expected = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    names = _files(folder)
    found = dict(zip(names, _digests(folder, names, progress), strict=True))
    return [
        *(f"{name} is missing" for name in expected if name not in found),
        *(f"{name} has changed" for name in expected if name in found and found[name] != expected[name]),
        *(f"{name} was added" for name in found if name not in expected),
    ]


def _files(folder: Path) -> list[str]:
    """Visible files below the folder, but the checksums themselves."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    visible = (path for path in paths if not any(part.startswith(".") for part in path.parts))
    return sorted(path.as_posix() for path in visible if path.as_posix() not in (CHECKSUMS, f"{CHECKSUMS}.part"))


def _digests(folder: Path, names: list[str], progress: bool | None) -> list[str]:
    def digest(name: str) -> str:
        with open(folder / name, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    found = []
    with progress_bar(f"Checking {folder.name}", len(names), progress) as step:
        for value in in_order(digest, names, available_cores()):
            found.append(value)
            step(1)
    return found
