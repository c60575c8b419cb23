"""Training with every sampler: steps a second, re-planning and the features for it included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from orda.bench.clock import timed
from orda.bench.workshop import OVERLAP, SAMPLERS, Course, Training, Workshop, at_speed

Row = dict[str, Any]
ALL = tuple(SAMPLERS)
FEW = ("uniform", "stratified", "ordered, greedy", "ordered, assignment")


def with_overlap(samplers: tuple[str, ...], device: torch.device) -> tuple[str, ...]:
    """On a GPU, each ordered sampler once more, with plans made while training goes on. (A CPU gains nothing by it.)"""
    if device.type != "cuda":
        return samplers
    return tuple(n for name in samplers for n in ([name, name + OVERLAP] if name.startswith("ordered") else [name]))


def training(device: torch.device, what: Training, sizes: tuple[int, ...], samplers: tuple[str, ...]) -> Iterator[Row]:
    """One row a k and sampler; the ratio is to uniform sampling's seconds at the same k."""
    shop = Workshop(device, what)
    for k in sizes:
        yield from trained(shop, k, samplers)


def trained(shop: Workshop, k: int, samplers: tuple[str, ...]) -> Iterator[Row]:
    """The rows of one k."""
    uniform = None
    if shop.what.compile:
        torch.compiler.reset()  # what was compiled for another k would be made to fit this one
    for name in samplers:
        seconds = train(shop, k, name)
        uniform = seconds if name == "uniform" else uniform
        steps = shop.what.horizon * shop.what.blocks
        ratio = None if uniform is None else seconds / uniform
        yield {"k": k, "sampler": name, "steps/s": steps / seconds, "over uniform": ratio}


def train(shop: Workshop, k: int, name: str) -> float:
    """Seconds of ``blocks`` blocks, after one that is not counted."""
    what = shop.what
    with at_speed(shop.device):
        course = Course(shop, k, name)
        course.go(what.horizon)
        seconds, _ = timed(lambda: course.go(what.horizon * what.blocks), shop.device)
        course.end()
    return seconds
