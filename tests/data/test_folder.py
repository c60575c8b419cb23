"""root/domain/class/*: what is found, in which order, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from references.datasets import write_image

from orda.data.decode import DecodeSettings
from orda.data.folder import list_folder, open_folder
from orda.errors import DamagedImages, DataError, UnknownName

MakeFolder = Callable[..., Path]


def test_domains_classes_and_files_are_sorted_and_labelled(make_folder: MakeFolder) -> None:
    root = make_folder(["photo", "art"], ["bee", "Zebra", "ant"], count=12)
    domains = open_folder(root, size=6)
    assert list(domains) == ["art", "photo"]
    art = domains["art"]
    assert art.classes == ("Zebra", "ant", "bee")  # upper case first, as ImageFolder labels them
    assert art.names[:3] == ("Zebra/0.png", "Zebra/1.png", "Zebra/10.png")
    assert art.labels.tolist() == [0] * 12 + [1] * 12 + [2] * 12
    for i in (0, 13, 35):
        with Image.open(root / "art" / art.names[i]) as image:
            np.testing.assert_array_equal(
                art[i][0].numpy(), np.asarray(image.resize((6, 6), Image.Resampling.BILINEAR))
            )


def test_what_is_no_image_is_passed_over(make_folder: MakeFolder) -> None:
    root = make_folder(count=2)
    (root / "art" / "ant" / "notes.txt").write_text("x")
    (root / "art" / "ant" / ".hidden.png").write_text("x")
    (root / "art" / "list.csv").write_text("x")
    (root / "__MACOSX" / "art" / "ant").mkdir(parents=True)
    write_image(root / "__MACOSX" / "art" / "ant" / "0.png")
    (root / "downloads").mkdir()
    write_image(root / "art" / "ant" / "more" / "x.PNG")
    found = {listing.name: listing.names for listing in list_folder(root)}
    assert found["photo"] == ("ant/0.png", "ant/1.png", "bee/0.png", "bee/1.png")
    assert found["art"] == ("ant/0.png", "ant/1.png", "ant/more/x.PNG", "bee/0.png", "bee/1.png")


def test_only_the_domains_asked_for(make_folder: MakeFolder) -> None:
    root = make_folder(["a", "b", "c"])
    assert list(open_folder(root, ["c", "a"], size=4)) == ["c", "a"]
    with pytest.raises(UnknownName, match=r"'d'.*a, b, c"):
        open_folder(root, ["d"])


def test_classes_that_differ_are_named_with_their_domain(make_folder: MakeFolder) -> None:
    root = make_folder(["a", "b", "c"], ["ant", "bee", "cow"])
    for i in range(3):
        (root / "b" / "cow" / f"{i}.png").unlink()  # an empty folder is a missing class
    write_image(root / "c" / "dog" / "0.png")
    with pytest.raises(DataError, match=r"(?s)a has no images of dog.*b has no images of cow, dog") as raised:
        open_folder(root)
    assert "c has" not in str(raised.value)
    assert open_folder(root, size=4, classes=["bee", "ant"])["b"].classes == ("bee", "ant")
    assert set(open_folder(root, ["a"], size=4)) == {"a"}  # only the domains asked for must agree


def test_damaged_images_of_all_domains_are_listed_at_once(make_folder: MakeFolder) -> None:
    root = make_folder()
    (root / "art" / "ant" / "1.png").write_text("broken")
    (root / "photo" / "bee" / "2.png").write_bytes(b"")
    with pytest.raises(DamagedImages, match=r"(?s)2 of 12.*art/ant/1\.png: .*photo/bee/2\.png: "):
        open_folder(root, size=4)


def test_a_root_without_data_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"must be in a folder.*nowhere"):
        open_folder(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="root/domain/class"):
        open_folder(tmp_path / "empty")
    write_image(tmp_path / "flat" / "x.png")
    with pytest.raises(DataError, match="root/domain/class"):
        open_folder(tmp_path / "flat")


def test_the_other_way_to_resize(make_folder: MakeFolder) -> None:
    root = make_folder(["a"])
    squashed = open_folder(root, size=6)["a"]
    cropped = open_folder(root, decode=DecodeSettings(6, 6, "crop"))["a"]
    assert not np.array_equal(squashed.images, cropped.images)
    np.testing.assert_array_equal(open_folder(root, size=6)["a"].images, squashed.images)  # both stay in the cache
