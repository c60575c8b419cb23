"""From uint8 images to what a network takes: augmentation in batches on the device, and normalisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from torch import Tensor

from orda.seeds import SeedLike


@dataclass(frozen=True, slots=True)
class Normalisation:
    """(x − mean) / std per channel, for x in [0, 1]."""

    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    def __call__(self, x: Tensor) -> Tensor:
        """Normalise (b, 3, H, W)."""
        return (x - x.new_tensor(self.mean).view(3, 1, 1)) / x.new_tensor(self.std).view(3, 1, 1)


NORMALISATIONS: Mapping[str, Normalisation] = MappingProxyType(
    {
        "imagenet": Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        "efficientnet-lite": Normalisation((127 / 255,) * 3, (128 / 255,) * 3),  # (x − 127) / 128 of bytes
        "centred": Normalisation((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
        "none": Normalisation((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
    }
)


@dataclass(frozen=True, slots=True)
class Augmentation:
    """Settings of a random augmentation; one independent draw per image."""

    crop: tuple[float, float] | None = None
    flip: float = 0.0
    jitter: float = 0.0
    grey: float = 0.0
    shift: float = 0.0

    def __call__(self, images: Tensor, seed: SeedLike) -> Tensor:
        """uint8 (b, H, W, 3) in, float (b, 3, H, W) in [0, 1] out."""
        raise NotImplementedError


AUGMENTATIONS: Mapping[str, Augmentation] = MappingProxyType(
    {
        "none": Augmentation(),
        "domainbed": Augmentation(crop=(0.7, 1.0), flip=0.5, jitter=0.3, grey=0.1),
        "spawrious": Augmentation(flip=0.5, jitter=0.3, grey=0.1),
        "digits": Augmentation(shift=1.0),
    }
)


def to_float(
    images: Tensor,
    normalisation: Normalisation | str = "imagenet",
    augmentation: Augmentation | str | None = None,
    seed: SeedLike | None = None,
) -> Tensor:
    """uint8 (b, H, W, 3) -> augmented (if asked; ``seed`` is then needed) and normalised float32 (b, 3, H, W)."""
    raise NotImplementedError
