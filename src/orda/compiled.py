"""How the sequential loops are compiled: one decorator, so that all of them agree.

Compiled once per machine (cached beside the source, or in the user's cache folder when that cannot be written),
without the interpreter lock, and without reordering of floating-point sums, so that a plan is the same on every run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile with numba: cached, releasing the GIL, dividing like NumPy."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
