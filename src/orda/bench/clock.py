"""Seconds, with everything done that was asked of the device."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import torch

Result = TypeVar("Result")


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed(function: Callable[[], Result], device: torch.device) -> tuple[float, Result]:
    """How long one call takes, and what it gives."""
    wait(device)
    began = time.perf_counter()
    found = function()
    wait(device)
    return time.perf_counter() - began, found
