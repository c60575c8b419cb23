"""Tiny data sets written to disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image


def write_image(path: Path, seed: int = 0, size: tuple[int, int] = (10, 8)) -> None:
    """A random RGB image of size (H, W)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    Image.fromarray(rng.integers(0, 256, (*size, 3), dtype=np.uint8)).save(path)
