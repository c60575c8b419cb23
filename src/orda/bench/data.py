"""What is measured on: random features in clusters, random images. Timing asks for no more."""

from __future__ import annotations

import numpy as np
import torch

from orda import seeds
from orda.data import ArrayDomain
from orda.records import Features
from orda.seeds import generator

CLUSTERS = 40
CLASSES = 10


def clustered(n: int, d: int, device: torch.device) -> Features:
    """Gaussian clusters of unequal size; the target's have moved by 0.3 of their spread and have other sizes."""
    rng = generator(0, "bench", "features")
    centres = 0.7 * rng.standard_normal((CLUSTERS, d))
    domains = []
    for shift in (0.0, 0.3):
        shares = rng.dirichlet(np.full(CLUSTERS, 2.0))
        moved = centres + shift * rng.standard_normal(centres.shape)
        rows = moved[rng.choice(CLUSTERS, n, p=shares)] + rng.standard_normal((n, d))
        domains.append(torch.from_numpy(rows.astype(np.float32)).to(device))
    return Features(*domains)


def drifted(features: Features) -> Features:
    """The same a little later in training."""
    rng = generator(0, "bench", "drift")
    later = (
        z + 0.05 * torch.from_numpy(rng.standard_normal(z.shape).astype(np.float32)).to(z.device)
        for z in (features.source, features.target)
    )
    return Features(*later)


def images(name: str, n: int, size: int, device: torch.device) -> ArrayDomain:
    """Random pixels with random labels, resident on the device."""
    rng, shape = generator(0, "bench", name), (n, size, size, 3)
    if device.type == "cuda":
        there = seeds.torch_generator(0, "bench", name, device=str(device))
        pixels = torch.randint(0, 256, shape, dtype=torch.uint8, device=device, generator=there)
    else:
        pixels = torch.from_numpy(rng.integers(0, 256, shape, dtype=np.uint8))
    names = tuple(str(i) for i in range(n))
    return ArrayDomain(name, pixels, rng.integers(0, CLASSES, n), names, tuple(map(str, range(CLASSES))))
