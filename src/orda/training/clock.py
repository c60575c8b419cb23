"""Seconds by part: every moment is charged to exactly one part, the innermost that is under way."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import torch

T = TypeVar("T")
REST = "rest"  # of no named part


class Clock:
    """Adds up seconds by part; goes on from those of an earlier process."""

    def __init__(self, device: torch.device, seconds: Mapping[str, float] | None = None) -> None:
        self.seconds: dict[str, float] = dict(seconds or {})
        self._cuda = device if device.type == "cuda" else None
        self._under_way = [REST]
        self._since = time.perf_counter()

    @property
    def total(self) -> float:
        """All seconds up to now."""
        return sum(self.snapshot().values())

    def snapshot(self) -> dict[str, float]:
        """Seconds by part up to now."""
        self._charge()
        return dict(self.seconds)

    @contextmanager
    def part(self, name: str, wait: bool = True) -> Iterator[None]:
        """What happens inside is charged to ``name``; with ``wait``, the work of the device too."""
        self._charge(wait)
        self._under_way.append(name)
        try:
            yield
        finally:
            self._charge(wait)
            self._under_way.pop()

    def each(self, name: str, items: Iterable[T]) -> Iterator[T]:
        """The items; getting them is charged to ``name``, without waiting for the device."""
        iterator = iter(items)
        while True:
            with self.part(name, wait=False):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    def move(self, seconds: float, source: str, target: str) -> None:
        """What turned out to belong to another part."""
        self.seconds[source] = self.seconds.get(source, 0.0) - seconds
        self.seconds[target] = self.seconds.get(target, 0.0) + seconds

    def _charge(self, wait: bool = False) -> None:
        if wait and self._cuda is not None:
            torch.cuda.synchronize(self._cuda)
        now = time.perf_counter()
        part = self._under_way[-1]
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self._since
        self._since = now
