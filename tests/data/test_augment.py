"""Augmentation against a literal twin, its random draws, and normalisation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance
from references.data import augmented, shifted

from orda.data.augment import (
    AUGMENTATIONS,
    NORMALISATIONS,
    RATIO,
    Augmentation,
    Draws,
    Normalisation,
    to_float,
    to_unit,
)
from orda.errors import InputError, SettingError, UnknownName
from orda.seeds import child

SIZE = (12, 10)


def batch(count: int = 16, size: tuple[int, int] = SIZE) -> torch.Tensor:
    rng = np.random.default_rng(0)
    return torch.from_numpy(rng.integers(0, 256, (count, *size, 3), dtype=np.uint8))


@pytest.mark.parametrize(
    "augmentation",
    [
        Augmentation(crop=(0.3, 1.0), flip=0.5, jitter=0.3, grey=0.3),
        Augmentation(jitter=0.5),
        Augmentation(flip=0.5, grey=0.5),
        Augmentation(crop=(0.5, 0.9)),
    ],
)
def test_it_is_the_literal_twin(augmentation: Augmentation) -> None:
    images = batch(48)
    draws = augmentation.draw(len(images), SIZE, 3)
    got = augmentation.apply(to_unit(images).double(), draws)
    for i, image in enumerate(images.numpy() / 255):
        np.testing.assert_allclose(got[i].permute(1, 2, 0).numpy(), augmented(image, draws, i), atol=1e-6)


def test_every_order_of_the_jitter_occurs_and_is_followed() -> None:
    draws = Augmentation(jitter=0.3).draw(400, SIZE, 0)
    assert {tuple(order) for order in draws.order} == {
        (a, b, c, d) for a in range(4) for b in range(4) for c in range(4) for d in range(4) if len({a, b, c, d}) == 4
    }


def test_a_shift_is_the_literal_twin() -> None:
    augmentation = Augmentation(shift=2)
    images = batch(30)
    draws = augmentation.draw(len(images), SIZE, 1)
    assert set(np.unique(draws.shift)) == {-2, -1, 0, 1, 2}
    got = augmentation.apply(to_unit(images).double(), draws).permute(0, 2, 3, 1).numpy()
    for i, image in enumerate(images.numpy() / 255):
        np.testing.assert_allclose(got[i], shifted(image, *(int(v) for v in draws.shift[i])), atol=1e-6)


@pytest.mark.parametrize(
    ("place", "enhance", "factor"),
    [
        (0, ImageEnhance.Brightness, 1.25),
        (1, ImageEnhance.Contrast, 0.75),
        (2, ImageEnhance.Color, 1.3),
    ],
)
def test_the_blends_are_pillows(place: int, enhance: type, factor: float) -> None:
    """Pillow is what torchvision's jitter calls; it rounds to bytes (and the mean grey too), we do not."""
    images = batch(1)
    factors = np.array([[1.0, 1.0, 1.0, 0.0]])
    factors[0, place] = factor
    draws = Draws(
        np.array([[0.0, 0.0, SIZE[1], SIZE[0]]]),
        np.zeros((1, 2)),
        np.array([False]),
        factors,
        np.array([[0, 1, 2, 3]]),
        np.array([False]),
    )
    got = Augmentation(jitter=0.3).apply(to_unit(images), draws)[0].permute(1, 2, 0).numpy() * 255
    want = np.asarray(enhance(Image.fromarray(images[0].numpy())).enhance(factor), dtype=float)
    assert np.abs(got - want).max() <= 1.5


def test_the_same_seed_gives_the_same_batch_and_leaves_the_global_stream_alone() -> None:
    images, augmentation = batch(), AUGMENTATIONS["domainbed"]
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first = augmentation(images, child(0, "augment", 7))
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(6)
    assert torch.equal(augmentation(images, child(0, "augment", 7)), first)
    assert not torch.equal(augmentation(images, child(0, "augment", 8)), first)


def test_every_image_has_its_own_draw() -> None:
    same = batch(1).expand(32, -1, -1, -1)
    out = AUGMENTATIONS["domainbed"](same, 0)
    assert len({tuple(x.flatten().tolist()) for x in out}) == 32


def test_crops_fit_and_have_the_asked_area_and_ratio() -> None:
    size = (200, 200)
    left, top, width, height = AUGMENTATIONS["domainbed"].draw(4000, size, 0).box.T
    assert (left >= 0).all()
    assert (top >= 0).all()
    assert (left + width <= 200).all()
    assert (top + height <= 200).all()
    share, ratio = width * height / 4e4, width / height
    assert share.min() > 0.69
    assert share.max() <= 1.0
    assert abs(np.log(ratio).mean()) < 0.01
    assert ratio.min() > RATIO[0] * 0.98
    assert ratio.max() < RATIO[1] * 1.02
    centre = (left + width / 2).mean()
    assert abs(centre - 100) < 1.5


def test_a_crop_that_cannot_fit_is_the_largest_centred_box() -> None:
    left, top, width, height = Augmentation(crop=(1.0, 1.0)).draw(20, (100, 20), 0).box.T  # no ratio of 3:4..4:3 fits
    np.testing.assert_array_equal(np.stack([left, top, width, height]).T, np.tile([0, 36, 20, 27], (20, 1)))


def test_probabilities_and_ranges_are_those_asked() -> None:
    draws = Augmentation(flip=0.5, jitter=0.3, grey=0.1).draw(20000, SIZE, 0)
    assert abs(draws.flip.mean() - 0.5) < 0.015
    assert abs(draws.grey.mean() - 0.1) < 0.01
    for column, centre in enumerate([1, 1, 1, 0]):
        factor = draws.factor[:, column]
        assert centre - 0.3 <= factor.min() < centre - 0.299
        assert centre + 0.299 < factor.max() <= centre + 0.3
        assert abs(factor.mean() - centre) < 0.005


def test_named_settings_are_domainbeds() -> None:
    assert AUGMENTATIONS["domainbed"] == Augmentation(crop=(0.7, 1.0), flip=0.5, jitter=0.3, grey=0.1)
    assert AUGMENTATIONS["spawrious"] == Augmentation(crop=None, flip=0.5, jitter=0.3, grey=0.1)
    assert AUGMENTATIONS["none"].off
    assert not AUGMENTATIONS["shift"].off


def test_normalisation() -> None:
    images = batch(4)
    byte = images.permute(0, 3, 1, 2).double()
    mean = torch.tensor([0.485, 0.456, 0.406], dtype=torch.float64).view(3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225], dtype=torch.float64).view(3, 1, 1)
    torch.testing.assert_close(to_float(images).double(), (byte / 255 - mean) / std, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(to_float(images, "efficientnet-lite").double(), (byte - 127) / 128, rtol=0, atol=1e-5)
    torch.testing.assert_close(to_float(images, "none").double(), byte / 255, rtol=0, atol=1e-6)
    assert to_float(images, "centred").min() >= -1
    assert to_float(images).is_contiguous()
    torch.testing.assert_close(to_float(images, Normalisation((0, 0, 0), (2, 2, 2))), to_float(images, "none") / 2)


def test_to_float_augments_then_normalises() -> None:
    images = batch(8)
    want = NORMALISATIONS["imagenet"](AUGMENTATIONS["domainbed"](images, 3))
    torch.testing.assert_close(to_float(images, "imagenet", "domainbed", seed=3), want, rtol=0, atol=0)


def test_what_is_wrong_is_said() -> None:
    images = batch(2)
    with pytest.raises(SettingError, match="needs a seed"):
        to_float(images, "imagenet", "domainbed")
    with pytest.raises(UnknownName, match="domainbed"):
        to_float(images, "imagenet", "domainbad", seed=0)
    with pytest.raises(UnknownName, match="normalisation"):
        to_float(images, "image-net")
    with pytest.raises(InputError, match="uint8"):
        to_float(images.float())
    with pytest.raises(SettingError, match=r"crop .* flip .* jitter .* grey"):
        Augmentation(crop=(0.9, 0.5), flip=2, jitter=0.6, grey=-1)
    with pytest.raises(SettingError, match="shift"):
        Augmentation(shift=-1)
