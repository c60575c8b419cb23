"""From uint8 images to what a network takes: augmentation in batches on the device, and normalisation.

    uint8 (b, H, W, 3) ──crop, shift, flip──> ──jitter, grey──> (b, 3, H, W) in [0, 1] ──normalise──> network

The random numbers of a batch come from one seed and are drawn on the CPU, so that the same seed gives the same draws on
every device, a resumed run repeats them from (seed, step) alone, and torch's global generator is left as it was.
The pixel work is done on the device where the images are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from orda.data.colour import column, jitter, jitter_numbers, to_grey
from orda.data.normalise import NORMALISATIONS, Normalisation, plain, to_unit
from orda.devices import sent
from orda.errors import SettingError, UnknownName
from orda.seeds import SeedLike, as_generator

T = TypeVar("T")

RATIO = (3 / 4, 4 / 3)  # of the sides of a crop
ATTEMPTS = 10  # at a crop that fits, before the whole image is taken


@dataclass(frozen=True, slots=True)
class Draws:
    """The random numbers of one batch: one row per image, whatever the settings use of them."""

    box: npt.NDArray[np.float64]  # (b, 4) left, top, width, height of the crop in pixels
    shift: npt.NDArray[np.float64]  # (b, 2) whole pixels to the right and down
    flip: npt.NDArray[np.bool_]  # (b,) mirrored left to right
    factor: npt.NDArray[np.float64]  # (b, 4) of brightness, contrast, saturation; turns of the hue
    order: npt.NDArray[np.int64]  # (b, 4) a permutation of the four, as they are applied
    grey: npt.NDArray[np.bool_]  # (b,) without colour


@dataclass(frozen=True, slots=True)
class Augmentation:
    """Settings of a random augmentation; one independent draw per image.

    * ``crop``: the share of the image's area that is cut out, from .. to, with sides between 3:4 and 4:3, and stretched
      to the whole again (bilinear). ``None``: no crop.
    * ``shift``: up to so many whole pixels in each direction; the border repeats.
    * ``flip``: the probability of a mirror image.
    * ``jitter``: brightness, contrast and saturation are multiplied by U(1 − j, 1 + j), the hue turned by U(−j, j) of a
      circle, in an order drawn per image.
    * ``grey``: the probability that all colour goes, after the jitter.

    The meaning of each number is torchvision's. Two differences from DomainBed's pipeline, both small: pixel values are
    not rounded to bytes between the steps, and the crop is cut from the cached image, not from the original file.
    """

    crop: tuple[float, float] | None = None
    shift: int = 0
    flip: float = 0.0
    jitter: float = 0.0
    grey: float = 0.0

    def __post_init__(self) -> None:
        faults = []
        if self.crop is not None and not 0 < self.crop[0] <= self.crop[1] <= 1:
            faults.append(f"crop must be two shares of the area, 0 < from <= to <= 1, not {self.crop}")
        if self.shift < 0 or int(self.shift) != self.shift:
            faults.append(f"shift must be a whole number of pixels, 0 or more, not {self.shift}")
        faults += [
            f"{name} must lie in 0..{high}, not {value}"
            for name, value, high in (("flip", self.flip, 1), ("jitter", self.jitter, 0.5), ("grey", self.grey, 1))
            if not 0 <= value <= high
        ]
        if faults:
            raise SettingError("an augmentation outside its range", "; ".join(faults), "Correct the settings")

    @property
    def off(self) -> bool:
        """Whether it changes nothing."""
        return self == Augmentation()

    def draw(self, count: int, size: tuple[int, int], seed: SeedLike) -> Draws:
        """The random numbers for ``count`` images of ``size`` (H, W)."""
        rng = as_generator(seed, "augment")
        return Draws(
            box=_boxes(rng, count, size, self.crop),
            shift=rng.integers(-self.shift, self.shift, (count, 2), endpoint=True).astype(np.float64),
            flip=rng.random(count) < self.flip,
            factor=rng.uniform(-self.jitter, self.jitter, (count, 4)) + np.array([1.0, 1.0, 1.0, 0.0]),
            order=rng.permuted(np.tile(np.arange(4), (count, 1)), axis=1),
            grey=rng.random(count) < self.grey,
        )

    def __call__(self, images: Tensor, seed: SeedLike) -> Tensor:
        """uint8 (b, H, W, 3) in, float32 (b, 3, H, W) in [0, 1] out, on the same device."""
        x = to_unit(images)
        return x if self.off else self.apply(x, self.draw(len(x), (x.shape[2], x.shape[3]), seed))

    def apply(self, x: Tensor, draws: Draws) -> Tensor:
        """Augment (b, 3, H, W) in [0, 1] as drawn."""
        numbers = _placement(draws, (x.shape[2], x.shape[3]))
        if self.jitter > 0:
            numbers |= jitter_numbers(draws.factor, draws.order)
        if draws.grey.any():
            numbers["grey"] = draws.grey[:, None]
        there = _on_device(numbers, x)
        x = _warp(x, there)
        if self.jitter > 0:
            x = jitter(x, there)
        if "grey" in there:
            x = torch.where(column(there["grey"]) > 0, to_grey(x).expand_as(x), x)
        return x


AUGMENTATIONS: Mapping[str, Augmentation] = MappingProxyType(
    {
        "none": Augmentation(),
        "domainbed": Augmentation(crop=(0.7, 1.0), flip=0.5, jitter=0.3, grey=0.1),
        "spawrious": Augmentation(flip=0.5, jitter=0.3, grey=0.1),  # DomainBed's for Spawrious: no crop
        "shift": Augmentation(shift=1),  # for small images of digits, where a mirror image is another digit
    }
)


def to_float(
    images: Tensor,
    normalisation: Normalisation | str = "imagenet",
    augmentation: Augmentation | str | None = None,
    seed: SeedLike | None = None,
) -> Tensor:
    """uint8 (b, H, W, 3) -> augmented (if asked; ``seed`` is then needed) and normalised float32 (b, 3, H, W).

    >>> x = to_float(torch.zeros(2, 8, 8, 3, dtype=torch.uint8), "centred")
    >>> tuple(x.shape), float(x.max())
    ((2, 3, 8, 8), -1.0)
    """
    normalise = _named("normalisation", normalisation, NORMALISATIONS)
    augment = _named("augmentation", "none" if augmentation is None else augmentation, AUGMENTATIONS)
    if augment.off:
        return plain(images, normalise)
    if seed is None:
        raise SettingError("an augmentation needs a seed", "seed=None", 'Pass e.g. seed=child(seed, "augment", step)')
    return normalise.in_place(augment(images, seed))


@dataclass(frozen=True)
class Images:
    """Images (b, H, W, 3) uint8 become what the model takes: augmented where there is a seed, normalised, in the
    device's favourite layout."""

    device: torch.device
    normalisation: Normalisation
    augmentation: str
    channels_last: bool

    def __call__(self, images: Tensor, seed: int | None = None) -> Tensor:
        augmentation = None if seed is None else self.augmentation
        x = to_float(sent(images, self.device), self.normalisation, augmentation, seed)
        return x.contiguous(memory_format=torch.channels_last) if self.channels_last else x

    def plain(self, images: Tensor, seed: int | None = None) -> Tensor:
        """Without augmentation, seed or not."""
        del seed
        return self(images)


def _named(kind: str, value: T | str, table: Mapping[str, T]) -> T:
    if not isinstance(value, str):
        return value
    if value not in table:
        raise UnknownName(kind, value, table)
    return table[value]


def _on_device(numbers: Mapping[str, npt.NDArray[Any]], like: Tensor) -> dict[str, Tensor]:
    """(b, n) each, in the dtype and on the device of ``like``: all by one transfer, for which nobody waits."""
    if not numbers:
        return {}
    together = np.concatenate([part.astype(np.float64) for part in numbers.values()], axis=1)
    there = sent(torch.from_numpy(together).to(like.dtype), like.device)
    widths = [part.shape[1] for part in numbers.values()]
    return dict(zip(numbers, torch.split(there, widths, dim=1), strict=True))


def _boxes(
    rng: np.random.Generator, count: int, size: tuple[int, int], share: tuple[float, float] | None
) -> npt.NDArray[np.float64]:
    """Crops (left, top, width, height) in whole pixels: area ~ U(share), log of the sides' ratio uniform over RATIO.

    The first of ten attempts that fits the image; failing all, the largest centred box within the ratios.
    """
    height, width = size
    if share is None:
        return np.tile(np.array([0.0, 0.0, width, height]), (count, 1))
    area = rng.uniform(*share, (ATTEMPTS, count)) * height * width
    ratio = np.exp(rng.uniform(log(RATIO[0]), log(RATIO[1]), (ATTEMPTS, count)))
    w, h = np.rint(np.sqrt(area * ratio)), np.rint(np.sqrt(area / ratio))
    fits = (w >= 1) & (w <= width) & (h >= 1) & (h <= height)
    first, images = fits.argmax(0), np.arange(count)
    some = fits.any(0)
    w = np.where(some, w[first, images], min(width, np.rint(height * RATIO[1])))
    h = np.where(some, h[first, images], min(height, np.rint(width / RATIO[0])))
    where = rng.random((2, count))
    left = np.where(some, np.floor(where[0] * (width - w + 1)), (width - w) // 2)
    top = np.where(some, np.floor(where[1] * (height - h + 1)), (height - h) // 2)
    return np.stack([left, top, w, h], axis=1)


def _placement(draws: Draws, size: tuple[int, int]) -> dict[str, npt.NDArray[Any]]:
    """Crop, shift and flip: where in the image each row and column is read, in −1..1; or the flips, if that is all."""
    height, width = size
    whole = (draws.box == [0.0, 0.0, width, height]).all()
    if whole and not draws.shift.any():
        return {"flip": draws.flip[:, None]} if draws.flip.any() else {}
    columns = _positions(draws.box[:, 0], draws.box[:, 2], draws.shift[:, 0], width)
    columns = np.where(draws.flip[:, None], columns[:, ::-1], columns)
    rows = _positions(draws.box[:, 1], draws.box[:, 3], draws.shift[:, 1], height)
    return {"across": 2 * columns / max(width - 1, 1) - 1, "down": 2 * rows / max(height - 1, 1) - 1}


def _warp(x: Tensor, there: Mapping[str, Tensor]) -> Tensor:
    """Crop, shift and flip in one bilinear resampling; the flip alone needs none."""
    if "flip" in there:
        return torch.where(column(there["flip"]) > 0, x.flip(-1), x)
    if "across" not in there:
        return x
    height, width = x.shape[2:]
    across, down = there["across"][:, None, :].expand(-1, height, -1), there["down"][:, :, None].expand(-1, -1, width)
    grid = torch.stack([across, down], dim=-1)  # (b, H, W, 2)
    return F.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=True)


def _positions(
    start: npt.NDArray[np.float64], length: npt.NDArray[np.float64], shift: npt.NDArray[np.float64], size: int
) -> npt.NDArray[np.float64]:
    """Where along one axis each of ``size`` output pixels is read: (b, size), pixel centres at whole numbers."""
    inside = (np.arange(size) + 0.5) * (length[:, None] / size) - 0.5
    inside = np.clip(inside, 0, length[:, None] - 1)  # a crop does not look over its own edge
    return np.asarray(np.clip(start[:, None] + inside - shift[:, None], 0, size - 1))
