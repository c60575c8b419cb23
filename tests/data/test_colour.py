"""Colours on a GPU, by fewer kernels, against kornia's. The rest of the jitter is in ``test_augment.py``."""

from __future__ import annotations

import sys
from math import pi

import pytest
import torch
from kornia.color import rgb_to_grayscale
from kornia.enhance import adjust_hue
from references.card import CARD, card

from orda.data.augment import AUGMENTATIONS, to_unit
from orda.data.colour import to_grey, turn_hue_briefly


def colours() -> torch.Tensor:
    """Random ones, all greys, and all corners and edges of the cube, where channels are equal."""
    generator = torch.Generator().manual_seed(0)
    levels = torch.tensor([0.0, 0.2, 0.5, 1.0])
    grid = torch.cartesian_prod(levels, levels, levels).T.reshape(3, 8, 8)
    grey = torch.linspace(0, 1, 64).view(1, 8, 8).expand(3, -1, -1)
    return torch.stack([grid, grey, *torch.rand(6, 3, 8, 8, generator=generator)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_hue_is_turned_as_kornia_turns_it(dtype: torch.dtype) -> None:
    x = colours().to(dtype)
    for turns in torch.linspace(-pi, pi, 13, dtype=dtype):
        each = turns * torch.linspace(1, 0.5, len(x), dtype=dtype)
        found = turn_hue_briefly(x, each[:, None])
        torch.testing.assert_close(found, adjust_hue(x, each), rtol=0, atol=5e-6 if dtype == torch.float32 else 1e-7)
        assert 0 <= float(found.min()) <= float(found.max()) <= 1


def test_grey_is_kornias() -> None:
    assert torch.equal(to_grey(colours()), rgb_to_grayscale(colours()))


def test_on_a_gpu_the_whole_augmentation_is_the_cpus_within_rounding_and_needs_no_kornia(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    images = (255 * colours()).permute(0, 2, 3, 1).contiguous().to(torch.uint8)
    augmentation = AUGMENTATIONS["domainbed"]
    expected = augmentation(images, 3)
    monkeypatch.setitem(sys.modules, "kornia.enhance", None)
    with card():
        found = augmentation.apply(to_unit(images.to(CARD)), augmentation.draw(len(images), (8, 8), 3)).cpu()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
