"""What decoding once saves: minibatches from the cache against a data set that opens image files.

    python benchmarks/decode.py [--images 512] [--batch 32] [--rounds 5]

The files, made for the occasion, are 224 × 224 PNGs that weigh about as much as photographs. The opponent is the usual
one: a map-style data set that opens each file with Pillow, in a DataLoader with 0, 1, 2, … worker processes. Both sides
give the same uint8 minibatches (checked) in the same random order, and then the same normalised floats. Rounds of both
alternate, and the fastest round of each counts; starting the workers does not.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from orda.data import ArrayDomain, to_float
from orda.data.folder import open_folder

MEAN, STD = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1), torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


class Files(Dataset[tuple[Tensor, int]]):
    """Opens a file per example, as torchvision's ImageFolder does; ``floats`` adds ToTensor and Normalize."""

    def __init__(self, root: Path, domain: ArrayDomain, floats: bool) -> None:
        self.paths, self.labels, self.floats = [root / name for name in domain.names], domain.labels, floats

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        with open(self.paths[index], "rb") as file:
            pixels = torch.from_numpy(np.array(Image.open(file).convert("RGB")))
        if self.floats:
            pixels = (pixels.permute(2, 0, 1).float().div_(255) - MEAN) / STD
        return pixels, int(self.labels[index])


def write_images(root: Path, count: int, domain: str = "made", size: int = 224, seed: int = 0) -> None:
    """Smooth colours with some grain: about 90 kB each at 224 pixels."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (14, 14, 3), dtype=np.uint8))
        smooth = np.asarray(coarse.resize((size, size), Image.Resampling.BICUBIC)).astype(int)
        pixels = np.clip(smooth + rng.integers(-6, 7, smooth.shape), 0, 255).astype(np.uint8)
        path = root / domain / f"class{i % 4}" / f"{i:05}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=512)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_images(root, args.images)
        built = time.perf_counter()
        domain = open_folder(root, cache=None)["made"]
        built = time.perf_counter() - built
        size = sum(path.stat().st_size for path in root.glob("made/*/*.png")) / args.images
        print(f"{args.images} PNGs of {size / 1e3:.0f} kB; decoded into the cache once in {built:.2f} s")
        compare(root / "made", domain, args.batch, args.rounds)


def compare(root: Path, domain: ArrayDomain, batch: int, rounds: int) -> None:
    orders = torch.from_numpy(np.random.default_rng(1).permutation(len(domain))).split(batch)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    print(f"{'':>22} {'files, µs/image':>18} {'cache, µs/image':>18} {'ratio':>8}")
    for floats in (False, True):

        def cached(floats: bool = floats) -> None:
            for order in orders:
                images, _ = domain.gather(order)
                if floats:
                    to_float(images)

        for workers in sorted({0, 1, 2, cores}):
            loader = DataLoader(
                Files(root, domain, floats),
                batch_sampler=[order.tolist() for order in orders],
                num_workers=workers,
                persistent_workers=workers > 0,
            )
            for order, (images, labels) in zip(orders, loader, strict=True):  # starts the workers, warms the page cache
                expected, expected_labels = domain.gather(order)
                same = torch.allclose(images, to_float(expected), atol=1e-5) if floats else images.equal(expected)
                assert same
                assert labels.equal(expected_labels)

            def files(loader: DataLoader[tuple[Tensor, int]] = loader) -> None:
                for _ in loader:
                    pass

            pairs = [(seconds(files), seconds(cached)) for _ in range(rounds)]
            slow, fast = (1e6 * min(column) / len(domain) for column in zip(*pairs, strict=True))
            label = f"{'floats' if floats else 'bytes'}, {workers} workers"
            print(f"{label:>22} {slow:>18.1f} {fast:>18.1f} {slow / fast:>8.0f}")


if __name__ == "__main__":
    main()
