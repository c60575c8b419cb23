"""From uint8 images to what a network takes: augmentation in batches on the device, and normalisation.

    uint8 (b, H, W, 3) ──crop, shift, flip──> ──jitter, grey──> (b, 3, H, W) in [0, 1] ──normalise──> network

The random numbers of a batch come from one seed and are drawn on the CPU, so that the same seed gives the same draws on
every device, a resumed run repeats them from (seed, step) alone, and torch's global generator is left as it was.
The pixel work is done on the device where the images are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, pi
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from orda.data.normalise import NORMALISATIONS, Normalisation, plain, to_unit
from orda.errors import SettingError, UnknownName
from orda.seeds import SeedLike, as_generator

T = TypeVar("T")

RATIO = (3 / 4, 4 / 3)  # of the sides of a crop
ATTEMPTS = 10  # at a crop that fits, before the whole image is taken
BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)


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
        x = _warp(x, draws)
        if self.jitter > 0:
            x = _jitter(x, draws)
        if draws.grey.any():
            x = torch.where(_column(draws.grey, x), rgb_to_grayscale(x).expand_as(x), x)
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


def _named(kind: str, value: T | str, table: Mapping[str, T]) -> T:
    if not isinstance(value, str):
        return value
    if value not in table:
        raise UnknownName(kind, value, table)
    return table[value]


def _column(values: npt.NDArray[np.generic], like: Tensor) -> Tensor:
    """(b,) on the CPU -> (b, 1, 1, 1) on the device, floats in its dtype."""
    column = torch.from_numpy(np.ascontiguousarray(values)).view(-1, 1, 1, 1)
    dtype = like.dtype if column.is_floating_point() else column.dtype
    return column.to(dtype).to(like.device, non_blocking=True)


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


def _warp(x: Tensor, draws: Draws) -> Tensor:
    """Crop, shift and flip in one bilinear resampling; the flip alone needs none."""
    height, width = x.shape[2:]
    whole = (draws.box == [0.0, 0.0, width, height]).all()
    if whole and not draws.shift.any():
        return torch.where(_column(draws.flip, x), x.flip(-1), x) if draws.flip.any() else x
    columns = _positions(draws.box[:, 0], draws.box[:, 2], draws.shift[:, 0], width)
    columns = np.where(draws.flip[:, None], columns[:, ::-1], columns)
    rows = _positions(draws.box[:, 1], draws.box[:, 3], draws.shift[:, 1], height)
    across, down = (
        torch.from_numpy(2 * p / max(n - 1, 1) - 1).to(x.dtype).to(x.device, non_blocking=True)
        for p, n in ((columns, width), (rows, height))
    )
    grid = torch.stack(
        [across[:, None, :].expand(-1, height, -1), down[:, :, None].expand(-1, -1, width)], dim=-1
    )  # (b, H, W, 2)
    return F.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=True)


def _positions(
    start: npt.NDArray[np.float64], length: npt.NDArray[np.float64], shift: npt.NDArray[np.float64], size: int
) -> npt.NDArray[np.float64]:
    """Where along one axis each of ``size`` output pixels is read: (b, size), pixel centres at whole numbers."""
    inside = (np.arange(size) + 0.5) * (length[:, None] / size) - 0.5
    inside = np.clip(inside, 0, length[:, None] - 1)  # a crop does not look over its own edge
    return np.asarray(np.clip(start[:, None] + inside - shift[:, None], 0, size - 1))


def _jitter(x: Tensor, draws: Draws) -> Tensor:
    """Brightness, contrast, saturation and hue, each image in its own order.

    The first three are blends, clamp(f·x + (1 − f)·base), with base black, the image's mean grey, or its grey. Up to
    three of them stand before the hue and the rest after it, so the hue, the dear one, is turned once for the batch.
    """
    b = len(x)
    turn = (draws.order == HUE).argmax(1)  # (b,) the place of the hue in the order
    places = np.arange(3)
    before = np.where(places < turn[:, None], draws.order[:, :3], HUE)  # (b, 3); HUE: nothing to blend here
    later = np.minimum(turn[:, None] + 1 + places, 3)
    after = np.where(turn[:, None] + 1 + places <= 3, np.take_along_axis(draws.order, later, 1), HUE)
    rows = np.arange(b)
    for stage, operations in enumerate((before, after)):
        for operation in operations.T:
            if (operation != HUE).any():
                factor = np.where(operation == HUE, 1.0, draws.factor[rows, operation])
                x = _blend(x, factor, operation)
        if stage == 0:
            from kornia.enhance import adjust_hue

            turns = torch.from_numpy(draws.factor[:, HUE] * 2 * pi).to(x.dtype).to(x.device, non_blocking=True)
            x = adjust_hue(x, turns)
    return x


def rgb_to_grayscale(x: Tensor) -> Tensor:
    """(b, 1, H, W). kornia takes a second to import: only who augments waits for it."""
    from kornia.color import rgb_to_grayscale as grey

    found: Tensor = grey(x)
    return found


def _blend(x: Tensor, factor: npt.NDArray[np.float64], operation: npt.NDArray[np.int64]) -> Tensor:
    """clamp(f·x + (1 − f)·base, 0, 1), the base by the operation of each image."""
    grey = rgb_to_grayscale(x)  # (b, 1, H, W)
    base = grey * _column((operation == SATURATION).astype(np.float64), x)
    base += grey.mean((2, 3), keepdim=True) * _column((operation == CONTRAST).astype(np.float64), x)
    return torch.lerp(base.expand_as(x), x, _column(factor, x)).clamp_(0, 1)
