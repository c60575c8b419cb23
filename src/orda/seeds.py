"""The only place where randomness is born.

A stream of random numbers is named, not counted: ``child(seed, "plan", 3)`` is the same number whatever else
was drawn before it, so adding a stream never moves another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from orda.errors import SettingError

if TYPE_CHECKING:
    import torch

SeedLike = int | np.random.Generator


def child(seed: int, *names: str | int) -> int:
    """A 63-bit seed for the stream ``names`` below ``seed`` (SHA-256 of the text of both)."""
    text = "\x1f".join([str(int(seed)), *(f"{type(name).__name__}:{name}" for name in names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """A NumPy generator for the stream ``names`` below ``seed``."""
    return np.random.default_rng(child(seed, *names))


def torch_generator(seed: int, *names: str | int, device: str = "cpu") -> torch.Generator:
    """A torch generator for the stream ``names`` below ``seed``."""
    import torch

    return torch.Generator(device=device).manual_seed(child(seed, *names))


@contextmanager
def torch_stream(seed: int, *names: str | int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Inside, torch's own stream (dropout, the starts of layers) is ``names`` below ``seed``; outside, it never moved.

    For code that can take no generator. The streams of the CPU and of ``device`` are put back at the end.
    """
    import torch

    place = torch.device(device)
    cards = [torch.cuda.current_device() if place.index is None else place.index] if place.type == "cuda" else []
    number = child(seed, *names)
    with torch.random.fork_rng(devices=cards):
        torch.default_generator.manual_seed(number)
        for card in cards:
            torch.cuda.default_generators[card].manual_seed(number)
        yield


def as_generator(seed: SeedLike, *names: str | int) -> np.random.Generator:
    """An int becomes the generator of its stream ``names``; a NumPy generator is used as it is."""
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise SettingError(
            "seed must be an int or a numpy.random.Generator",
            type(seed).__module__ + "." + type(seed).__qualname__,
            "Pass e.g. seed=0 or seed=numpy.random.default_rng(0)",
        )
    return generator(int(seed), *names)


def children(rng: np.random.Generator, count: int) -> list[np.random.Generator]:
    """Independent generators, made from numbers that ``rng`` draws: its state alone decides them, and moves on."""
    return [np.random.default_rng(rng.integers(2**63, size=4)) for _ in range(count)]
