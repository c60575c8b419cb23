"""Fetching a large file from hosts that stop, stall, move and answer with something else.

A download goes on where it stopped (HTTP ``Range``, if the file at the host is still the same one), is tried again with
growing pauses, gives up on a connection that trickles, and goes to the next address when one fails for good. What is
complete and right is moved into place; a half stays beside it as ``.part`` for the next time.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from orda.data.build import lock
from orda.data.progress import progress_bar
from orda.errors import DownloadError, SettingError

BLOCK = 1 << 20
GONE = frozenset({400, 401, 403, 404, 405, 410, 451})  # trying again will not help
TIMES_CORRUPT = 2  # a whole file that is wrong: fetched once more from the same address, then no longer


@dataclass(frozen=True, slots=True)
class Archive:
    """A file that holds a data set, at one address."""

    url: str
    file: str  # what it is called on disk
    size: int | None = None  # bytes
    sha256: str | None = None
    md5: str | None = None


@dataclass(frozen=True, slots=True)
class Patience:
    """When to wait, and when to give up."""

    retries: int = 5  # in a row without getting on (by a block, 1 MiB)
    pause: float = 1.0  # seconds before the first retry; doubles
    longest_pause: float = 60.0
    timeout: float = 30.0  # seconds for a connection, an answer, the next bytes
    slowest: float = 1024.0  # bytes/s; a connection slower than this over ``timeout`` seconds is dropped


class _Fault(Exception):
    """Why an attempt failed; ``final`` when the address should be given up."""

    def __init__(self, reason: str, final: bool = False, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.final, self.wait = final, wait


def fetch(
    urls: str | Sequence[str],
    destination: str | Path,
    *,
    size: int | None = None,
    sha256: str | None = None,
    md5: str | None = None,
    check: Callable[[Path], str | None] | None = None,
    patience: Patience | None = None,
    progress: bool | None = None,
) -> Path:
    """Fetch one file from the first of ``urls`` that gives it; a ``destination`` that is there and right stays.

    ``size`` in bytes, ``sha256`` and ``md5`` are compared where given; ``check`` gets the path of the whole file and
    says what is wrong with it, or ``None``.
    """
    urls = [urls] if isinstance(urls, str) else list(urls)
    odd = [url for url in urls if urlsplit(url).scheme not in ("http", "https")]
    if odd or not urls:
        raise SettingError("addresses must begin with http:// or https://", odd or "none", "Correct the addresses")
    destination = Path(destination)
    destination.parent.mkdir(parents=True, exist_ok=True)
    patience = patience or Patience()

    def wrong(path: Path) -> str | None:
        return _wrong(path, size, sha256, md5) or (check(path) if check else None)

    with lock(destination.with_name(f".{destination.name}.lock")):
        if destination.exists():
            fault = wrong(destination)
            if fault:
                raise DownloadError(
                    f"{destination} is there but is not the file expected", fault, "Delete it; it is then fetched again"
                )
            return destination
        faults = []
        for url in urls:
            fault = _fetch_one(url, destination, wrong, size, patience, progress)
            if fault is None:
                return destination
            faults.append(f"\n  {url}: {fault}")
    raise DownloadError(
        f"{destination.name} could not be fetched",
        "".join(faults) + "\n",
        f"Try again later (it goes on where it stopped), or put the file at {destination} yourself",
    )


def _fetch_one(
    url: str,
    destination: Path,
    wrong: Callable[[Path], str | None],
    size: int | None,
    patience: Patience,
    progress: bool | None,
) -> str | None:
    """Fetch from one address until the file is whole and right; else why it was given up."""
    part = destination.with_name(f"{destination.name}.{hashlib.sha256(url.encode()).hexdigest()[:8]}.part")
    failures = corrupt = furthest = 0
    while True:
        furthest = max(furthest, _size(part))
        try:
            _go_on(url, part, size, patience, progress)
            fault = wrong(part)
            if fault is None:
                os.replace(part, destination)
                _note(part).unlink(missing_ok=True)
                return None
            _discard(part)
            corrupt += 1
            if corrupt >= TIMES_CORRUPT:
                return f"{fault} (fetched {corrupt} times)"
        except _Fault as error:
            if error.final:
                return str(error)
            failures = 1 if _size(part) >= furthest + BLOCK else failures + 1
            if failures > patience.retries:
                return f"{error} (tried {failures} times)"
            pause = max(error.wait, patience.pause * 2 ** (failures - 1))
            time.sleep(min(pause, patience.longest_pause))


def _go_on(url: str, part: Path, size: int | None, patience: Patience, progress: bool | None) -> None:
    """Fetch what is missing of ``part``; returns when the host has given all that it said it would."""
    have = _size(part)
    if size is not None and have == size:
        return
    headers = {"User-Agent": "orda", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        validator = _read_note(part).get("validator")
        if validator:
            headers["If-Range"] = str(validator)
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=patience.timeout) as answer:
            total = _begin(answer, part, have, size)
            _receive(answer, part, total, patience, progress)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # nothing after what is here: it is whole, or another file
            if _total(error.headers.get("Content-Range")) == have:
                return
            _discard(part)
        wait = error.headers.get("Retry-After") or ""
        reason = f"HTTP {error.code} {error.reason}"
        raise _Fault(reason, error.code in GONE, float(wait) if wait.isdigit() else 0.0) from error
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, OSError) and getattr(error, "filename", None):
            raise DownloadError(
                f"{part} must be writable", str(error), "Free space, or choose another folder"
            ) from error
        raise _Fault(f"{type(error).__name__}: {error}") from error


def _begin(answer: http.client.HTTPResponse, part: Path, have: int, size: int | None) -> int | None:
    """Make ``part`` end where the answer begins; the size of the whole file, where the host says it."""
    if "text/html" in (answer.headers.get("Content-Type") or ""):
        raise _Fault("the host answered with a web page instead of the file (a limit, or a question to click)", True)
    if answer.status == 206:
        begin, total = _range(answer.headers.get("Content-Range"))
        if begin != have or total not in (None, _read_note(part).get("total", total)):
            _discard(part)
            raise _Fault(f"the host went on at byte {begin} of {total} instead of {have} of what it had before")
    else:  # 200: the whole file, because we asked so, the host ignores ranges, or the file is another now
        _discard(part)
        length = answer.headers.get("Content-Length")
        total = int(length) if length else None
        _write_note(part, answer, total)
    if size is not None and total is not None and total != size:
        raise _Fault(f"the host has {total:,} bytes instead of {size:,}", True)
    return size if total is None else total


def _receive(
    answer: http.client.HTTPResponse, part: Path, total: int | None, patience: Patience, progress: bool | None
) -> None:
    have = _size(part)
    bar = progress_bar(part.name.rsplit(".", 2)[0], total, progress, done=have, bytes_=True)
    with open(part, "ab") as file, bar as step:
        since, received = time.monotonic(), 0
        while block := answer.read1(BLOCK):
            try:
                file.write(block)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(part)) from error
            have += len(block)
            received += len(block)
            step(len(block))
            seconds = time.monotonic() - since
            if seconds >= patience.timeout:
                if received < patience.slowest * seconds:
                    raise _Fault(f"too slow: {received / seconds:.0f} bytes/s")
                since, received = time.monotonic(), 0
    if total is not None and have != total:
        raise _Fault(f"the connection ended at byte {have:,} of {total:,}")


def _wrong(path: Path, size: int | None, sha256: str | None, md5: str | None) -> str | None:
    """What is wrong with the file, by its size and checksums."""
    if size is not None and _size(path) != size:
        return f"{_size(path):,} bytes instead of {size:,}"
    for name, expected in (("sha256", sha256), ("md5", md5)):
        if expected is not None:
            with open(path, "rb") as file:
                found = hashlib.file_digest(file, partial(hashlib.new, name, usedforsecurity=False)).hexdigest()
            if found != expected.lower():
                return f"{name} {found} instead of {expected}"
    return None


def _range(header: str | None) -> tuple[int | None, int | None]:
    """First byte and total of "bytes 5-9/10"."""
    match = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", header or "")
    if not match:
        return None, None
    return int(match[1]), None if match[2] == "*" else int(match[2])


def _total(header: str | None) -> int | None:
    """The total of "bytes */10"."""
    match = re.fullmatch(r"bytes \*/(\d+)", header or "")
    return int(match[1]) if match else None


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _note(part: Path) -> Path:
    """Where it is written which file the part is of."""
    return part.with_name(part.name + ".json")


def _write_note(part: Path, answer: http.client.HTTPResponse, total: int | None) -> None:
    tag = answer.headers.get("ETag") or ""
    validator = tag if tag.startswith('"') else answer.headers.get("Last-Modified")  # a weak tag proves nothing
    _note(part).write_text(json.dumps({"validator": validator, "total": total}))


def _read_note(part: Path) -> dict[str, Any]:
    try:
        note = json.loads(_note(part).read_text())
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    _note(part).unlink(missing_ok=True)
