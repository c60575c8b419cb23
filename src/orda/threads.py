"""Work in fixed pieces, each on one thread, so that results on the CPU do not depend on how many threads there are.

A matrix product or a sum that a library splits over its threads may round differently for each number of threads, and
one flipped near-tie is enough for another plan. Here the pieces are fixed by the caller (never a share per thread),
torch uses one thread inside a piece, and the results come back in the order of the pieces.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Piece = TypeVar("Piece")
Result = TypeVar("Result")

TILE = 384  # rows and columns of a tile: with its temporaries it stays in the cache of one core


def in_pieces(
    function: Callable[[Piece], Result], pieces: Iterable[Piece], device: torch.device | None = None
) -> Iterator[Result]:
    """``function(piece)`` for every piece, in their order, without gradients.

    On the CPU (and for ``device=None``) by as many workers as torch has threads; for a GPU, and for pieces of a piece,
    one after another.
    """

    def one(piece: Piece) -> Result:
        if hasattr(_worker, "at_work") and torch.get_num_threads() != 1:  # an earlier piece has set another number
            torch.set_num_threads(1)
        with torch.no_grad():  # the gradient mode belongs to the thread
            return function(piece)

    threads = torch.get_num_threads()
    if threads == 1 or hasattr(_worker, "at_work") or (device is not None and device.type != "cpu"):
        yield from map(one, pieces)
        return
    try:
        yield from _workers(threads, os.getpid()).map(one, pieces)
    finally:
        torch.set_num_threads(threads)  # a worker that started has set it to 1 for all threads yet to start


@functools.lru_cache(maxsize=2)
def _workers(count: int, process: int) -> ThreadPoolExecutor:
    """``count`` threads, in each of which torch has one; kept, but never across a fork."""
    del process
    return ThreadPoolExecutor(count, "orda", _begin)


_worker = threading.local()


def _begin() -> None:
    """What a worker does first. torch gives a thread its number of threads when first asked for it: ask, then set."""
    _worker.at_work = True  # one that waited for its own pool might wait forever
    torch.get_num_threads()
    torch.set_num_threads(1)
