"""One image file becomes (H, W, 3) uint8: RGB, upright, of the asked size.

What becomes of each kind of file:

| in the file | becomes |
|---|---|
| grey, palette, CMYK, YCbCr, 1 bit | RGB |
| 16-bit grey | its values over 257, rounded: 65535 is white |
| alpha, or a transparent colour | composited on white |
| an EXIF orientation | turned upright |
| several frames | the first |
| 32-bit floats | refused: their range is not in the file |

Sizes: ``"squash"`` stretches the image to the asked height and width, whatever its shape, with bilinear filtering over
the whole area that an output pixel covers (DomainBed's ``Resize((224, 224))``). ``"crop"`` keeps the shape: the largest
centred part with the asked sides' ratio, resized likewise. An image that has the asked size is not resampled.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image, ImageOps

from orda.data.domain import Pixels
from orda.errors import SettingError, UnknownName

WHITE = (255, 255, 255, 255)
RESIZE = ("squash", "crop")


@dataclass(frozen=True, slots=True)
class DecodeSettings:
    """How files become pixels; part of what a cached array is known by."""

    height: int = 224
    width: int = 224
    resize: Literal["squash", "crop"] = "squash"

    def __post_init__(self) -> None:
        if self.resize not in RESIZE:
            raise UnknownName("way to resize", self.resize, RESIZE)
        if self.height < 1 or self.width < 1:
            raise SettingError("an image needs a pixel", f"{self.height} x {self.width}", "Pass e.g. size=224")

    def as_record(self) -> dict[str, Any]:
        return {"size": [self.height, self.width], "resize": self.resize, "filter": "bilinear", "background": "white"}


def decode(path: Path, settings: DecodeSettings) -> Pixels:
    """Read, convert and resize one image. Whatever a damaged file raises passes through."""
    size = settings.width, settings.height
    with Image.open(path) as opened:
        opened.load()
        image = to_rgb(upright(opened))
    if image.size != size:
        if settings.resize == "squash":
            image = image.resize(size, Image.Resampling.BILINEAR)
        else:
            image = ImageOps.fit(image, size, Image.Resampling.BILINEAR)
    return np.asarray(image)


def upright(image: Image.Image) -> Image.Image:
    """Turned as its EXIF orientation says; as it is where the EXIF cannot be read."""
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # a broken EXIF block raises many things, and says nothing about the pixels
        return image


def to_rgb(image: Image.Image) -> Image.Image:
    """RGB of any mode, by the table above."""
    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    if image.mode == "I" or image.mode.startswith("I;16"):
        values = np.clip(np.asarray(image).astype(np.int64), 0, 65535)
        return Image.fromarray(((values + 128) // 257).astype(np.uint8)).convert("RGB")
    if image.mode == "F":
        raise ValueError("32-bit floating-point pixels, whose range is not in the file")
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layer.size, WHITE), layer).convert("RGB")
    return image.convert("RGB")
