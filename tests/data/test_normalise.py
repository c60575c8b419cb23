"""Bytes to floats by table. The formula itself is tested in test_augment.py."""

from __future__ import annotations

import pytest
import torch

from orda.data import to_float
from orda.data.normalise import NORMALISATIONS, to_unit
from orda.errors import InputError


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_the_table_gives_the_same_bits(name: str) -> None:
    every = torch.arange(256, dtype=torch.uint8)
    some = torch.randint(0, 256, (3, 7, 9, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    for images in (every.view(1, 16, 16, 1).repeat(2, 1, 1, 3), some, some.flip(1).transpose(1, 2), some[:0]):
        passes = NORMALISATIONS[name].in_place(to_unit(images))
        assert to_float(images, name).equal(passes)
        torch.set_num_threads(3)
        assert to_float(images, name).equal(passes)
        torch.set_num_threads(1)


def test_what_is_no_image_is_refused() -> None:
    for bad in (
        torch.zeros(1, 3, 8, 8, dtype=torch.uint8),
        torch.zeros(1, 8, 8, 3),
        torch.zeros(8, 8, 3, dtype=torch.uint8),
    ):
        with pytest.raises(InputError, match=r"images must be \(b, H, W, 3\) uint8"):
            to_float(bad)
