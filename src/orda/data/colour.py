"""Jitter of colours for a batch at once: every image by its own factors, in its own order.

Brightness, contrast and saturation are blends, clamp(f·x + (1 − f)·base), with base black, the image's mean grey, or
its grey. Up to three of them stand before the hue and the rest after it, so the hue, the dear one, is turned once.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import pi
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from orda.devices import constant
from orda.records import FloatArray, IntArray

BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)
LUMA = (0.299, 0.587, 0.114)  # what red, green and blue add to grey


def jitter_numbers(factor: FloatArray, order: IntArray) -> dict[str, npt.NDArray[Any]]:
    """What ``jitter`` is told of every image, from factors (b, 4) of brightness, contrast and saturation and turns of
    the hue, and the ``order`` (b, 4) in which they are applied.

    "turn" (b, 1) in radians; blends "before" and "after" it (b, 3·count): their factors, then how much of each one's
    base is grey, then how much is mean grey.
    """
    turn = (order == HUE).argmax(1)  # (b,) the place of the hue in the order
    places = np.arange(3)
    before = np.where(places < turn[:, None], order[:, :3], HUE)  # (b, 3); HUE: nothing to blend here
    later = np.minimum(turn[:, None] + 1 + places, 3)
    after = np.where(turn[:, None] + 1 + places <= 3, np.take_along_axis(order, later, 1), HUE)
    found = {"turn": factor[:, HUE, None] * 2 * pi}
    for name, operations in (("before", before), ("after", after)):
        operations = operations[:, (operations != HUE).any(0)]  # places where some image is blended
        factors = np.where(operations == HUE, 1.0, np.take_along_axis(factor, operations, 1))
        found[name] = np.concatenate([factors, operations == SATURATION, operations == CONTRAST], axis=1)
    return found


def jitter(x: Tensor, numbers: Mapping[str, Tensor]) -> Tensor:
    """Blends, the hue, blends of (b, 3, H, W) in [0, 1]."""
    x = _blended(x, numbers["before"])
    x = turn_hue(x, numbers["turn"])
    return _blended(x, numbers["after"])


def _blended(x: Tensor, numbers: Tensor) -> Tensor:
    """One blend after another."""
    count = numbers.shape[1] // 3
    for n in range(count):
        factor, of_grey, of_mean = (column(numbers[:, n + part * count]) for part in range(3))
        grey = to_grey(x)
        base = grey * of_grey
        base += grey.mean((2, 3), keepdim=True) * of_mean
        x = torch.lerp(base.expand_as(x), x, factor).clamp_(0, 1)
    return x


def to_grey(x: Tensor) -> Tensor:
    """(b, 1, H, W)."""
    red, green, blue = x.unbind(1)
    of_red, of_green, of_blue = constant(LUMA, x.device, x.dtype).unbind()
    return torch.addcmul(torch.addcmul(red * of_red, green, of_green), blue, of_blue).unsqueeze(1)


def turn_hue(x: Tensor, turns: Tensor) -> Tensor:
    """The hue of each image turned by ``turns`` (b, 1), in radians.

    By kornia on a CPU, whose bits runs are held to; it takes a second to import, and only who augments waits for it. On
    a GPU, where every kernel is a launch, by 18 in place of kornia's 76.
    """
    if x.device.type == "cpu":
        from kornia.enhance import adjust_hue

        found: Tensor = adjust_hue(x, turns[:, 0])
        return found
    return turn_hue_briefly(x, turns)


def turn_hue_briefly(x: Tensor, turns: Tensor) -> Tensor:
    """The same within rounding, without a case for each sixth of the circle.

    Hue h in 0..6: of the largest channel c the difference of the next two over the span, plus 2c. Back: value less span
    times min(k, 4 − k) cut to [0, 1], k = (n + h) mod 6, n = 5, 3, 1 for red, green, blue.
    """
    least, value = x.amin(1, keepdim=True), x.amax(1, keepdim=True)
    span = value - least
    differences = (x.roll(-1, 1) - x.roll(-2, 1)) / span.clamp_min(torch.finfo(x.dtype).tiny)
    hues = differences + constant((0.0, 2.0, 4.0), x.device, x.dtype).view(3, 1, 1)
    hue = hues.gather(1, x.argmax(1, keepdim=True)) + column(turns * (3 / pi))
    k = (hue + constant((5.0, 3.0, 1.0), x.device, x.dtype).view(3, 1, 1)).remainder(6)
    return torch.addcmul(value, span, torch.minimum(k, 4 - k).clamp_(0, 1), value=-1)


def column(numbers: Tensor) -> Tensor:
    """(b,) or (b, 1) -> (b, 1, 1, 1), to go with images."""
    return numbers.reshape(-1, 1, 1, 1)
