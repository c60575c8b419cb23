"""How the sequential loops are compiled: one decorator, so that all of them agree.

Compiled once per machine (cached beside the source, or in the user's cache folder when that cannot be written),
without the interpreter lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile with numba: cached, releasing the GIL, dividing like NumPy."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def compiled_sums(function: F) -> F:
    """``compiled``, for short loops that add up: the compiler may reorder the sum (the same way on every run)."""
    fast = {"reassoc", "contract", "nsz"}
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=fast)(function))


def overloads(stub: Callable[..., Any]) -> Callable[[F], F]:
    """Give compiled code an implementation of ``stub`` chosen by the types of its arguments."""
    from numba.extending import overload

    return cast(Callable[[F], F], overload(stub, strict=False))
