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
from orda.bench.steps import ALL, FEW, training, with_overlap
from orda.bench.workshop import Training, described
from orda.devices import pick_device


@dataclass(frozen=True, slots=True)
class Bench:
    """What to measure: "auto" is CUDA where there is any. ``quick``: small sizes, for a look. ``compile``: the network
    that is trained, by torch.compile."""

    device: str = "auto"
    quick: bool = False
    compile: bool = False

    def resolved(self) -> torch.device:
        return pick_device(self.device, ("cpu", "cuda"))


def bench(what: Bench, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """All numbers as plain values; ``say`` is told what is being measured."""
    device, began = what.resolved(), time.perf_counter()
    n, d, horizon = (1500, 64, 20) if what.quick else (9332, 512, 100)  # 18,664 examples in all
    sizes = (8, 32) if what.quick else (8, 32, 128)
    trained = setting(device, what)
    ks = (8, 32, 128) if device.type == "cuda" and not what.quick else (8, 32)
    samplers = with_overlap(FEW if what.quick else ALL, device)

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


def setting(device: torch.device, what: Bench) -> Training:
    """ResNet-18 at 224 pixels on a GPU; on a CPU a small network on small images, where planning weighs more."""
    if device.type == "cuda":
        n, horizon, blocks = (1000, 20, 1) if what.quick else (9332, 100, 3)
        return Training("resnet18", 224, n, horizon, blocks, augmentation="domainbed", compile=what.compile)
    n, horizon, blocks = (400, 10, 1) if what.quick else (3000, 50, 2)
    return Training("small-cnn", 28, n, horizon, blocks, compile=what.compile)


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
