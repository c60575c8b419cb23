"""How the sequential loops are compiled: one decorator, so that all of them agree.

Compiled once per machine, without the interpreter lock. The machine code is kept beside the source, or in the user's
cache folder where that cannot be written (``NUMBA_CACHE_DIR`` overrides both). Where neither can, every process
compiles for itself, and says so.
"""

from __future__ import annotations

import functools
import hashlib
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

from orda.errors import CompileWarning

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile with numba: kept, releasing the GIL, dividing like NumPy."""
    return _kept(numba.njit(nogil=True, error_model="numpy")(function), function)


def compiled_sums(function: F) -> F:
    """``compiled``, for short loops that add up: the compiler may reorder the sum (the same way on every run)."""
    fast = {"reassoc", "contract", "nsz"}
    return _kept(numba.njit(nogil=True, error_model="numpy", fastmath=fast)(function), function)


def overloads(stub: Callable[..., Any]) -> Callable[[F], F]:
    """Give compiled code an implementation of ``stub`` chosen by the types of its arguments."""
    from numba.extending import overload

    return cast(Callable[[F], F], overload(stub, strict=False))


def _kept(dispatcher: Any, function: F) -> F:
    """What numba's ``cache=True`` does, with the store below."""
    try:
        dispatcher._cache = Kept(function)
    except RuntimeError:  # numba's word for: no folder can be written
        dispatcher._cache = Nowhere()
    return cast(F, dispatcher)


class Kept(FunctionCache):  # type: ignore[misc]
    """numba's store of one function's machine code. It is good as long as no source beside the function changes.

    The code of a function has that of the functions it calls inside, while numba looks at its own file only. Compiled
    functions call others of their own folder.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        sources = [Path(__file__), *sorted(Path(function.__code__.co_filename).parent.glob("*.py"))]
        self._cache_file = Files(self._cache_path, self._impl.filename_base, fingerprint(sources))

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:  # a full disk, say: the code works all the same
            warn_once(str(error))


class Files(IndexDataCacheFile):  # type: ignore[misc]
    """An index and the files it names. Processes that save at once may lose an entry, but never swap each other's code:

    numba takes the first free number for a file's name, which two processes may then share. Here no two names agree,
    and the index names a file when it is there.
    """

    def save(self, key: Any, data: Any) -> None:
        known = self._load_index()
        if not known:  # none yet, or of other sources
            for left in Path(self._cache_path).glob(f"{Path(self._index_path).stem}.*.nbc"):
                left.unlink(missing_ok=True)
        name = known.setdefault(key, self._data_name(uuid.uuid4().int))
        self._save_data(name, data)
        self._save_index(known)


class Nowhere(NullCache):  # type: ignore[misc]
    """No store: code that is compiled now is gone with the process."""

    def save_overload(self, sig: Any, data: Any) -> None:
        warn_once("neither orda's folder nor the user's cache folder can be written")


def fingerprint(sources: list[Path]) -> str:
    """The same for the same names and contents."""
    digest = hashlib.sha256()
    for path in sources:
        text = path.read_bytes() if path.is_file() else b""  # within a zip file there is nothing to look at
        digest.update(f"{path.name}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()


@functools.cache
def warn_once(reason: str) -> None:
    warnings.warn(
        f"compiled code cannot be kept, so that every process compiles anew, for up to a minute; {reason}. "
        "Set NUMBA_CACHE_DIR to a folder that can be written",
        CompileWarning,
        stacklevel=2,
    )
