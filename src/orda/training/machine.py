"""Where a run is done: device, precision, and only such algorithms as give the same bits every time."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

import orda
from orda.errors import SettingError


def pick_device(name: str) -> torch.device:
    """The device by its name; "auto" is CUDA where there is any, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch asserts that it was built with CUDA
        reason = str(error).splitlines()[0]
        raise SettingError("the device must be one that torch can use", f"{name!r} ({reason})", "E.g. cpu") from error
    return device


def pick_feature_batch(asked: int | None, device: torch.device) -> int:
    """How many images go through the network at once where there is no gradient: a CPU is fastest while they stay in
    its cache, a GPU while it is full."""
    if asked is not None:
        return asked
    return 512 if device.type == "cuda" else 64


def pick_precision(name: str, device: torch.device) -> torch.dtype | None:
    """bfloat16, or ``None`` for float32; "auto" is bfloat16 on a CUDA device that has it."""
    if name == "auto":
        name = "bfloat16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "float32"
    return torch.bfloat16 if name == "bfloat16" else None


@contextmanager
def deterministic(wanted: bool, device: torch.device) -> Iterator[None]:
    """Inside, torch uses algorithms that repeat themselves bit for bit, if ``wanted``; afterwards all is as it was.

    On a GPU, operations that have no such algorithm run nevertheless (torch would refuse them otherwise).
    """
    before = torch.get_deterministic_debug_mode()
    cudnn = torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic
    if wanted and device.type == "cpu":
        torch.set_deterministic_debug_mode("error")
    torch.backends.cudnn.benchmark = not wanted and device.type == "cuda"
    torch.backends.cudnn.deterministic = wanted
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)
        torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = cudnn


def environment(device: torch.device, amp: torch.dtype | None) -> dict[str, Any]:
    """What numbers may depend on besides the configuration."""
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "precision": "float32" if amp is None else "bfloat16",
        "threads": torch.get_num_threads(),
        "orda": orda.__version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
