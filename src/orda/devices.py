"""Where work is done: device, precision, layout, and how values get there without anybody waiting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import torch
from torch import Tensor

from orda.errors import SettingError


def pick_device(name: str, kinds: Sequence[str] = ()) -> torch.device:
    """The device by its name; "auto" is CUDA where there is any, else the CPU. ``kinds``, where given, are all that
    will do."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if kinds and name.partition(":")[0] not in kinds:
        raise SettingError(f"the device must be {' or '.join(kinds)}", repr(name), "E.g. --device cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch asserts that it was built for the device
        reason = str(error).splitlines()[0]
        raise SettingError(
            "the device must be one that torch can use", f"{name!r} ({reason})", "E.g. --device cpu"
        ) from error
    return device


def pick_precision(name: str, device: torch.device) -> torch.dtype | None:
    """bfloat16, or ``None`` for float32; "auto" is bfloat16 on a CUDA device that has it."""
    if name == "auto":
        name = "bfloat16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "float32"
    return torch.bfloat16 if name == "bfloat16" else None


def pick_feature_batch(asked: int | None, device: torch.device) -> int:
    """How many images go through the network at once where there is no gradient: a CPU is fastest while they stay in
    its cache, a GPU while it is full."""
    if asked is not None:
        return asked
    return 512 if device.type == "cuda" else 64


def pick_channels_last(asked: bool | None, device: torch.device) -> bool:
    """Whether images and networks are laid out with their channels last, as a GPU's convolutions like them."""
    return device.type == "cuda" if asked is None else asked


def sent(x: Tensor, device: torch.device) -> Tensor:
    """``x`` on ``device``; on its way to a GPU the host does not wait. ``x`` may be given up or written to at once."""
    if device.type != "cuda" or x.device.type != "cpu":
        return x.to(device)
    return x.pin_memory().to(device, non_blocking=True)  # torch keeps the pinned copy for as long as it is read


def fetched(x: Tensor) -> Tensor:
    """``x`` in host memory. From a GPU it comes into pinned pages, of which torch keeps a stock: into others a matrix
    of gigabytes takes seconds."""
    if x.device.type != "cuda":
        return x.cpu()
    found = x.to("cpu", non_blocking=True)  # so asked, torch takes pinned pages
    torch.cuda.current_stream(x.device).synchronize()
    return found


@lru_cache(maxsize=64)
def constant(values: tuple[float, ...], device: torch.device, dtype: torch.dtype) -> Tensor:
    """The values on the device, made once: a fresh copy each step would wait for the device."""
    with torch.inference_mode(False):  # it may be first asked for in one, and then be part of a loss
        return torch.tensor(values, device=device, dtype=dtype)


@contextmanager
def deterministic(wanted: bool, device: torch.device) -> Iterator[None]:
    """Inside, torch uses algorithms that repeat themselves bit for bit, if ``wanted``; afterwards all is as it was.

    On a GPU, operations that have no such algorithm run nevertheless (torch would refuse them otherwise); where it is
    not wanted, convolutions try their algorithms out and keep the fastest.
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
