"""The embedded digits: readable fonts, fixed pixels, and a shift that is real."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFont
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from orda.data import digits
from orda.data.digits import CLASSES, DOMAINS, FONTS, RENDERED, TASKS, open_digits, render, textured
from orda.errors import DataError, UnknownName


def test_six_domains_of_small_colour_images() -> None:
    domains = open_digits()
    assert list(domains) == list(DOMAINS)
    for name, domain in domains.items():
        assert domain.images.shape == (RENDERED if name.startswith("rendered") else 1797, 8, 8, 3)
        assert domain.classes == CLASSES
        grey = (np.asarray(domain.images) == np.asarray(domain.images)[..., :1]).all()
        assert grey == (not name.endswith("textured"))
        assert all(file.startswith(f"{label}/") for file, label in zip(domain.names, domain.labels, strict=True))
    assert np.bincount(domains["rendered"].labels).tolist() == [RENDERED // 10] * 10


def test_the_handwritten_are_scikit_learns() -> None:
    images, labels = load_digits(return_X_y=True)
    domains = open_digits(["handwritten", "handwritten-inverted"])
    plain = np.asarray(domains["handwritten"].images)
    np.testing.assert_array_equal(plain[..., 0], np.rint(images.reshape(-1, 8, 8) * 255 / 16))
    np.testing.assert_array_equal(domains["handwritten"].labels, labels)
    np.testing.assert_array_equal(domains["handwritten-inverted"].images, 255 - plain)
    assert domains["handwritten"].names == domains["handwritten-inverted"].names


def test_they_are_the_same_in_every_process_and_other_in_every_domain() -> None:
    first = open_digits(["rendered"])["rendered"]
    digits._domain.cache_clear()
    second = open_digits(["rendered"])["rendered"]
    np.testing.assert_array_equal(first.images, second.images)
    plain, inverted = first, open_digits(["rendered-inverted"])["rendered-inverted"]
    assert not np.array_equal(plain.labels, inverted.labels)
    assert not set(plain.names) & set(inverted.names)


def test_every_font_draws_ten_different_digits() -> None:
    """And none draws the box that stands for a missing glyph."""
    import matplotlib

    masters = digits._masters()
    for f, name in enumerate(FONTS):
        plain = masters[f, :, 0]
        assert (plain.sum((1, 2)) > 100).all()
        for a, b in combinations(range(10), 2):
            assert np.abs(plain[a] - plain[b]).sum() > 50, (name, a, b)
        font = ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{name}.ttf"), 40)
        missing = bytes(font.getmask("\ufffe"))
        assert all(bytes(font.getmask(digit)) != missing for digit in CLASSES)


def test_printed_digits_keep_their_shape() -> None:
    """The mean rendering of a class is most like the upright master of that class: not mirrored, not upside down."""
    ink, labels = render(2000, np.random.default_rng(0))
    means = np.stack([ink[labels == c].mean(0) for c in range(10)])
    masters = digits._masters()[0, :, 0].reshape(10, 64, 64)
    small = np.stack([np.asarray(Image.fromarray(m).resize((8, 8), Image.Resampling.BOX)) for m in masters])
    found = [int(np.argmax([np.corrcoef(mean.ravel(), s.ravel())[0, 1] for s in small])) for mean in means]
    assert found == list(range(10))


def test_a_texture_is_smooth_and_a_digit_its_negative() -> None:
    rng = np.random.default_rng(0)
    none = textured(np.zeros((50, 8, 8), dtype=np.float32), rng)
    assert none.max() <= 102
    assert np.abs(np.diff(none.astype(int), axis=1)).max() < 0.4 * 255 * 2 / 7 + 2
    full = textured(np.ones((50, 8, 8), dtype=np.float32), np.random.default_rng(0))
    assert np.abs(full.astype(int) + none - 255).max() <= 1


def test_the_shift_is_real() -> None:
    """The docstring's table in small: high on held-out printed digits, far lower on handwritten ones, above chance."""
    domains = open_digits(["rendered", "handwritten"])
    (x, y), (tx, ty) = ((np.asarray(d.images)[..., 0].reshape(len(d), -1) / 255, d.labels) for d in domains.values())
    model = KNeighborsClassifier(3).fit(x[:3200], y[:3200])
    held_out, target = model.score(x[3200:], y[3200:]), model.score(tx, ty)
    assert held_out > 0.9
    assert 0.4 < target < held_out - 0.15


def test_tasks_and_unknown_names() -> None:
    assert len(TASKS) == 12
    assert ("rendered", "handwritten") in TASKS
    with pytest.raises(UnknownName, match="handwritten"):
        open_digits(["handwriten"])


def test_missing_fonts_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    monkeypatch.setattr(matplotlib, "get_data_path", lambda: str(tmp_path))
    digits._masters.cache_clear()
    with pytest.raises(DataError, match="DejaVuSans"):
        digits._masters()
