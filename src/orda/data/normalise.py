"""Bytes become normalised floats. Without augmentation, on a CPU, by table: one pass over an image in place of four."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from orda.compiled import compiled
from orda.devices import constant
from orda.errors import InputError

Table = npt.NDArray[np.float32]  # (3, 256): what a byte becomes in each channel
THREADS = 2  # with more than these, torch's passes are the faster ones


@dataclass(frozen=True, slots=True)
class Normalisation:
    """(x − mean) / std per channel, for x in [0, 1]."""

    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    def __call__(self, x: Tensor) -> Tensor:
        """Normalise (b, 3, H, W)."""
        return self.in_place(x.clone())

    def in_place(self, x: Tensor) -> Tensor:
        """The same in the memory of x: a second array of floats costs a CPU more than all the arithmetic."""
        mean, std = (constant(values, x.device, x.dtype).view(-1, 1, 1) for values in (self.mean, self.std))
        return x.sub_(mean).div_(std)


NORMALISATIONS: Mapping[str, Normalisation] = MappingProxyType(
    {
        "imagenet": Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        "efficientnet-lite": Normalisation((127 / 255,) * 3, (128 / 255,) * 3),  # (byte − 127) / 128
        "centred": Normalisation((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),  # to [−1, 1]
        "none": Normalisation((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
    }
)


def to_unit(images: Tensor) -> Tensor:
    """uint8 (b, H, W, 3) -> float32 (b, 3, H, W) in [0, 1]."""
    _check_images(images)
    return images.permute(0, 3, 1, 2).to(torch.float32, memory_format=torch.contiguous_format).div_(255)


def plain(images: Tensor, normalise: Normalisation) -> Tensor:
    """Normalised and no more: by table where that is faster, with the same bits."""
    if images.device.type != "cpu" or torch.get_num_threads() > THREADS:
        return normalise.in_place(to_unit(images))
    _check_images(images)
    return look_up(images, _table(normalise))


@lru_cache(maxsize=16)
def _table(normalise: Normalisation) -> Table:
    """What becomes of every byte in each channel."""
    every = torch.arange(256, dtype=torch.uint8).view(1, 1, 256, 1).expand(1, 1, 256, 3)
    return normalise.in_place(to_unit(every))[0, :, 0].numpy()


def _check_images(images: Tensor) -> None:
    if images.ndim != 4 or images.shape[-1] != 3 or images.dtype != torch.uint8:
        raise InputError(
            "images must be (b, H, W, 3) uint8", f"{tuple(images.shape)} {images.dtype}", "Pass what gather() returns"
        )


def look_up(images: Tensor, table: Table) -> Tensor:
    """uint8 (b, H, W, 3) on the CPU -> float32 (b, 3, H, W) with table[c, byte] for every byte of channel c."""
    b, height, width, _ = images.shape
    found = np.empty((b, 3, height, width), dtype=np.float32)  # torch.empty writes NaN first in a repeatable run
    _look_up(images.contiguous().numpy(), table, found)
    return torch.from_numpy(found)


@compiled
def _look_up(images: npt.NDArray[np.uint8], table: Table, found: npt.NDArray[np.float32]) -> None:
    n, height, width, _ = images.shape
    for i in range(n):
        for row in range(height):
            for column in range(width):
                found[i, 0, row, column] = table[0, images[i, row, column, 0]]
                found[i, 1, row, column] = table[1, images[i, row, column, 1]]
                found[i, 2, row, column] = table[2, images[i, row, column, 2]]
