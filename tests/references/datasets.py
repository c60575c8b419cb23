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


SHADES, ANIMALS, SHADE_SIZE = ("ink", "paper", "stone"), ("ant", "bee", "cat"), 8


def write_shades(root: Path, domains: tuple[str, ...] = SHADES, count: int = 14) -> Path:
    """root/domain/class/*.png, learnt in seconds: the class is the brightest colour, the domain a shade."""
    from orda.seeds import generator

    for d, domain in enumerate(domains):
        rng = generator(0, "test data", SHADES[d])
        for c, name in enumerate(ANIMALS):
            (root / domain / name).mkdir(parents=True)
            for i in range(count):
                pixels = rng.integers(0, 120, (SHADE_SIZE, SHADE_SIZE, 3)) + 20 * d
                pixels[..., c] += 60
                Image.fromarray(pixels.astype(np.uint8)).save(root / domain / name / f"{SHADES[d]}{i}.png")
    return root


LOCATIONS = ("beach", "desert", "dirt", "jungle", "mountain", "snow")
BREEDS = ("bulldog", "corgi", "dachshund", "labrador")


def write_office_home(
    root: Path,
    domains: tuple[str, ...] = ("Art", "Clipart", "Product", "Real World"),
    *,
    classes: int = 3,
    count: int = 2,
) -> Path:
    """Office-Home's layout with the first classes only; numbered names of five digits, and a table beside them."""
    from orda.data.office_home import CLASSES

    for d, domain in enumerate(domains):
        for c, name in enumerate(CLASSES[:classes]):
            for i in range(count):
                write_image(root / domain / name / f"{i + 1:05}.jpg", seed=100 * d + 10 * c + i)
    (root / "ImageInfo.csv").write_text("x\n")
    return root


def write_spawrious(root: Path, count: int = 4, folders: tuple[int, ...] = (0, 1)) -> Path:
    """spawrious224/<0|1>/<location>/<breed>/<location>_<breed>_i.png; pixel (0, 0) tells folder, location, breed, i."""
    home = root / "spawrious224"
    for folder in folders:
        for place, location in enumerate(LOCATIONS):
            for b, breed in enumerate(BREEDS):
                for i in range(count):
                    path = home / str(folder) / location / breed / f"{location}_{breed}_{i}.png"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    pixels = np.full((4, 4, 3), (100 * folder + place, b, i), dtype=np.uint8)
                    Image.fromarray(pixels).save(path)
    return home
