"""All measurements, one after another."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import torch

import orda
from orda.bench.beside import beside_literal, beside_peers
from orda.bench.plans import plans
from orda.bench.steps import SAMPLERS, Training, training
from orda.errors import SettingError

ALL = tuple(SAMPLERS)
FEW = ("uniform", "stratified", "ordered, greedy", "ordered, assignment")


@dataclass(frozen=True, slots=True)
class Bench:
    """What to measure: "auto" is CUDA where there is any. ``quick``: small sizes, for a look."""

    device: str = "auto"
    quick: bool = False

    def resolved(self) -> torch.device:
        name = ("cuda" if torch.cuda.is_available() else "cpu") if self.device == "auto" else self.device
        if name.partition(":")[0] not in ("cpu", "cuda"):
            raise SettingError("the device must be cpu or cuda", repr(self.device), "E.g. --device cpu")
        if name.startswith("cuda") and not torch.cuda.is_available():
            raise SettingError("cuda needs a GPU that torch can use", repr(self.device), "Use --device cpu")
        return torch.device(name)


def bench(what: Bench, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """All numbers as plain values; ``say`` is told what is being measured."""
    device, began = what.resolved(), time.perf_counter()
    n, d, horizon = (1500, 64, 20) if what.quick else (9332, 512, 100)  # 18,664 examples in all
    sizes = (8, 32) if what.quick else (8, 32, 128)
    trained = setting(device, what.quick)
    ks = (8, 32) if what.quick else (8, 32, 128) if device.type == "cuda" else (8, 32)
    samplers = FEW if what.quick else ALL

    def collect(rows: Iterable[dict[str, Any]], title: str) -> list[dict[str, Any]]:
        found = []
        for row in rows:
            found.append(row)
            say(f"{title}: {', '.join(f'{key} {short(value)}' for key, value in row.items() if value is not None)}")
        return found

    small = (400, 16, 8, 20) if what.quick else (2000, 64, 16, 50)
    return {
        "machine": machine(device),
        "settings": {"n": n, "d": d, "horizon": horizon, "quick": what.quick, "training": described(trained, device)},
        "plans": collect(plans(device, n, d, sizes, horizon, what.quick), "plan"),
        "training": collect(training(device, trained, ks, samplers), "training"),
        "beside": collect(
            [beside_literal(*small, device), *beside_peers(n if what.quick else 5000, min(d, 64), 8)], "beside"
        ),
        "seconds": time.perf_counter() - began,
    }


def setting(device: torch.device, quick: bool) -> Training:
    """ResNet-18 at 224 pixels on a GPU; on a CPU a small network on small images, where planning weighs more."""
    if device.type == "cuda":
        return Training("resnet18", 224, 1000 if quick else 9332, 20 if quick else 100, 1 if quick else 3)
    return Training("small-cnn", 28, 400 if quick else 3000, 10 if quick else 50, 1 if quick else 2)


def described(what: Training, device: torch.device) -> str:
    precision = "bfloat16" if device.type == "cuda" else "float32"
    return (
        f"{what.model}, {what.n:,} random images of {what.size} × {what.size} a domain, {what.algorithm}, "
        f"M = {what.horizon}, {what.blocks} blocks, {precision}"
    )


def machine(device: torch.device) -> dict[str, Any]:
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "orda": orda.__version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
    }


def short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
