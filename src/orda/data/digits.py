"""Digits without a download: printed ones to learn from, handwritten ones to adapt to. Six domains of 8 × 8 pixels.

| | plain | on coloured textures | dark on light |
|---|---|---|---|
| printed (4,000 each) | ``rendered`` | ``rendered-textured`` | ``rendered-inverted`` |
| handwritten (1,797 each) | ``handwritten`` | ``handwritten-textured`` | ``handwritten-inverted`` |

Printed: the text fonts that matplotlib ships, with random slant, turn, size, stroke, blur and offset; other draws in
each domain. Handwritten: the digits that scikit-learn ships, the same ones in all three domains and under the same file
names, so two of these are to be split ``by="name"``. Images are (n, 8, 8, 3) uint8 like those of every data set here.

Simulation to reality, ``rendered`` -> ``handwritten``, is the main task. The twelve ordered pairs of the plain and the
textured domains make a table (``TASKS``); the inverted ones are there for who wants a shift that is harder still.

Accuracy in % of logistic regression on pixels, trained on 80 % of the domain at the left (``benchmarks/digits.py``);
"held out" is the rest of that domain, chance is 10:

| trained on | held out | rendered | handwritten | rendered-textured | handwritten-textured | handwritten-inverted |
|---|---|---|---|---|---|---|
| rendered | 97.4 | | 56.0 | 81.2 | 51.4 | 0.2 |
| handwritten | 98.1 | 44.2 | | 34.4 | 96.9 | 0.0 |
| rendered-textured | 94.2 | 94.5 | 56.9 | | 57.6 | 0.6 |
| handwritten-textured | 98.1 | 47.2 | 97.8 | 44.4 | | 0.0 |
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import pi
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from PIL import Image, ImageDraw, ImageFont

from orda.data.domain import ArrayDomain, Pixels
from orda.errors import DataError, UnknownName
from orda.records import IntArray
from orda.seeds import generator

DOMAINS = tuple(f"{kind}{look}" for look in ("", "-textured", "-inverted") for kind in ("rendered", "handwritten"))
TASKS = tuple((source, target) for source in DOMAINS[:4] for target in DOMAINS[:4] if source != target)
CLASSES = tuple("0123456789")
SIZE = 8
RENDERED = 4000
# fmt: off
FONTS = (
    "DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSansMono", "DejaVuSansMono-Bold", "DejaVuSerif",
    "DejaVuSerif-Bold", "DejaVuSerif-Italic", "STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic", "STIXGeneralBolIta",
    "cmr10", "cmb10", "cmss10", "cmtt10",
)
# fmt: on
GLYPH = 64  # pixels of a master, of which the digit is 48 high
STROKES = (0, 1, 2, 3)  # pixels that a master's outline grows by
FINE = 4 * SIZE  # a digit is drawn on this grid and averaged to 8 × 8, as the handwritten ones were
Ink = npt.NDArray[np.float32]  # (n, 8, 8) in [0, 1]


def open_digits(domains: Sequence[str] | None = None) -> dict[str, ArrayDomain]:
    """The domains asked for, or all six. They are the same in every run: no seed of a run goes into them."""
    wanted = DOMAINS if domains is None else tuple(domains)
    for name in wanted:
        if name not in DOMAINS:
            raise UnknownName("domain of digits", name, DOMAINS)
    return {name: _domain(name) for name in wanted}


@lru_cache(maxsize=len(DOMAINS))
def _domain(name: str) -> ArrayDomain:
    kind, _, look = name.partition("-")
    ink, labels = handwritten() if kind == "handwritten" else render(RENDERED, generator(0, "digits", name))
    if look == "textured":
        images = textured(ink, generator(0, "digits", name, "texture"))
    else:
        images = np.repeat(np.rint(255 * ink).astype(np.uint8)[..., None], 3, axis=3)
    if look == "inverted":
        images = 255 - images
    stem = "handwritten" if kind == "handwritten" else name
    names = tuple(f"{label}/{stem}-{i:04}.png" for i, label in enumerate(labels))
    images.setflags(write=False)  # they are shared by all who open them
    return ArrayDomain(name, images, labels, names, CLASSES)


def handwritten() -> tuple[Ink, IntArray]:
    """scikit-learn's digits: 4 × 4 blocks of a 32 × 32 bitmap, counted from 0 to 16."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return (images.reshape(-1, SIZE, SIZE) / 16).astype(np.float32), np.asarray(labels, dtype=np.int64)


def render(count: int, rng: np.random.Generator) -> tuple[Ink, IntArray]:
    """``count`` printed digits, equally many of each class in random order."""
    labels = rng.permutation(np.arange(count) % len(CLASSES)).astype(np.int64)
    fonts, strokes = rng.integers(len(FONTS), size=count), rng.integers(len(STROKES), size=count)
    masters = torch.from_numpy(_masters()[fonts, labels, strokes])[:, None]  # (n, 1, 64, 64)
    grid = F.affine_grid(torch.from_numpy(_maps(count, rng)), [count, 1, FINE, FINE], align_corners=False)
    fine = F.grid_sample(masters, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    fine = _blurred(fine[:, 0], torch.from_numpy(rng.uniform(0.3, 2.0, count).astype(np.float32)))
    ink = F.avg_pool2d(fine[:, None], FINE // SIZE)[:, 0]
    strength = torch.from_numpy(rng.uniform(0.8, 1.1, (count, 1, 1)).astype(np.float32))
    return np.asarray((ink * strength).clamp(0, 1).numpy()), labels


def textured(ink: Ink, rng: np.random.Generator) -> Pixels:
    """Each digit is the negative of a smooth random colour field that it lies on: (n, 8, 8, 3)."""
    coarse = torch.from_numpy(rng.uniform(0, 0.4, (len(ink), 3, 3, 3)).astype(np.float32))
    field = F.interpolate(coarse, size=(SIZE, SIZE), mode="bilinear", align_corners=True)
    cover = torch.from_numpy(ink)[:, None]
    mixed = (1 - cover) * field + cover * (1 - field)
    return np.asarray((255 * mixed).round().to(torch.uint8).permute(0, 2, 3, 1).contiguous().numpy())


@lru_cache(maxsize=1)
def _masters() -> npt.NDArray[np.float32]:
    """(fonts, 10, strokes, 64, 64): every digit upright in the middle, 48 pixels high."""
    import matplotlib

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    missing = [name for name in FONTS if not (folder / f"{name}.ttf").exists()]
    if missing:
        raise DataError(
            "the embedded digits need the fonts of matplotlib", f"no {', '.join(missing)} in {folder}", "Reinstall it"
        )
    masters = np.zeros((len(FONTS), len(CLASSES), len(STROKES), GLYPH, GLYPH), dtype=np.float32)
    for f, name in enumerate(FONTS):
        font = ImageFont.truetype(str(folder / f"{name}.ttf"), 64)
        for d, digit in enumerate(CLASSES):
            for s, stroke in enumerate(STROKES):
                masters[f, d, s] = _master(digit, font, stroke)
    return masters


def _master(digit: str, font: ImageFont.FreeTypeFont, stroke: int) -> npt.NDArray[np.float32]:
    left, top, right, bottom = font.getbbox(digit, stroke_width=stroke)
    glyph = Image.new("L", (int(right - left), int(bottom - top)))
    ImageDraw.Draw(glyph).text((-left, -top), digit, fill=255, font=font, stroke_width=stroke)
    height = 48
    width = max(1, min(GLYPH, round(glyph.width * height / glyph.height)))
    canvas = Image.new("L", (GLYPH, GLYPH))
    canvas.paste(
        glyph.resize((width, height), Image.Resampling.BILINEAR), ((GLYPH - width) // 2, (GLYPH - height) // 2)
    )
    return np.asarray(np.asarray(canvas) / 255, dtype=np.float32)


def _maps(count: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """(n, 2, 3): from the fine grid to a master: slant, turn, size across and down, offset."""
    slant, turn = rng.uniform(-0.3, 0.3, count), rng.uniform(-pi / 18, pi / 18, count)
    across, down = rng.uniform(0.75, 1.1, count), rng.uniform(0.72, 0.9, count)  # 0.75: the digit fills the height
    cos, sin = np.cos(turn), np.sin(turn)
    maps = np.empty((count, 2, 3))
    maps[:, 0, 0], maps[:, 0, 1] = across * cos, across * (slant * cos - sin)
    maps[:, 1, 0], maps[:, 1, 1] = down * sin, down * (cos + slant * sin)
    maps[:, :, 2] = rng.uniform(-0.12, 0.12, (count, 2))
    return maps.astype(np.float32)


def _blurred(images: torch.Tensor, sigma: torch.Tensor) -> torch.Tensor:
    """Each of (n, H, W) blurred by its own Gaussian."""
    offsets = torch.arange(-4, 5, dtype=images.dtype)
    kernel = torch.exp(-offsets.square() / (2 * sigma[:, None].square()))
    kernel /= kernel.sum(1, keepdim=True)
    n = len(images)
    across = F.conv2d(images[None], kernel.view(n, 1, 1, -1), padding=(0, 4), groups=n)
    return F.conv2d(across, kernel.view(n, 1, -1, 1), padding=(4, 0), groups=n)[0]
