"""Office-Home in every spelling, counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from references.datasets import write_image, write_office_home

from orda.data import office_home
from orda.data.decode import DecodeSettings
from orda.data.office_home import CLASSES, COUNTS, domain_name, list_office_home, open_office_home
from orda.errors import DataError, UnknownName

SMALL = DecodeSettings(6, 6)


def test_the_published_numbers() -> None:
    assert sum(COUNTS.values()) == 15588
    assert len(CLASSES) == len(set(CLASSES)) == 65
    assert list(CLASSES) == sorted(CLASSES)  # the labels that a sorted listing of the original folders gives
    assert CLASSES.index("TV") + 1 == CLASSES.index("Table")


@pytest.mark.parametrize(
    "spelling",
    [
        ("Art", "Clipart", "Product", "Real World"),
        ("Art", "Clipart", "Product", "Real_World"),
        ("art", "clipart", "product", "real_world"),
        ("art", "clipart", "product", "real"),
        ("Art", "Clipart", "Product", "RealWorld"),
        ("A", "C", "P", "R"),
    ],
)
@pytest.mark.parametrize("below", ["", "OfficeHomeDataset_10072016"])
def test_every_spelling_in_use(tmp_path: Path, spelling: tuple[str, ...], below: str) -> None:
    write_office_home(tmp_path / below, spelling)
    domains = open_office_home(tmp_path, decode=SMALL, complete=False)
    assert list(domains) == ["Art", "Clipart", "Product", "Real"]
    assert domains["Real"].classes == CLASSES[:3]
    assert domains["Real"].names[0] == "Alarm_Clock/00001.jpg"
    assert open_office_home(tmp_path, ["Real World"], decode=SMALL, complete=False).keys() == {"Real"}


def test_class_folders_in_other_cases_have_the_same_labels(tmp_path: Path) -> None:
    for domain in ("art", "clipart"):
        for name in ("alarm_clock", "tv", "table", "Paper Clip", "notaclass"):
            write_image(tmp_path / domain / name / "1.jpg")
    domains = open_office_home(tmp_path, ["art", "clipart"], decode=SMALL, complete=False)
    assert domains["Art"].classes == ("Alarm_Clock", "Paper_Clip", "TV", "Table")
    assert domains["Art"].names == ("alarm_clock/1.jpg", "Paper Clip/1.jpg", "tv/1.jpg", "table/1.jpg")


def test_a_complete_copy_has_the_published_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_office_home(tmp_path, classes=65, count=1)
    with pytest.raises(DataError, match=r"(?s)Art has 65 images, not 2,427.*Real has 65 images, not 4,357"):
        list_office_home(tmp_path)
    monkeypatch.setattr(office_home, "COUNTS", dict.fromkeys(COUNTS, 65))
    assert [len(listing.names) for listing in list_office_home(tmp_path)] == [65] * 4
    (tmp_path / "Clipart" / "Bed" / "00001.jpg").unlink()
    with pytest.raises(DataError, match=r"Clipart has no images of Bed") as raised:
        list_office_home(tmp_path)
    assert "Art has" not in str(raised.value)


def test_incomplete_copies_must_still_agree(tmp_path: Path) -> None:
    write_office_home(tmp_path)
    write_image(tmp_path / "Art" / "Webcam" / "00001.jpg")
    with pytest.raises(DataError, match="Clipart has no images of Webcam"):
        list_office_home(tmp_path, complete=False)


def test_what_is_missing_or_there_twice(tmp_path: Path) -> None:
    write_office_home(tmp_path, ("Art", "Clipart"))
    with pytest.raises(DataError, match=r"Art, Clipart, Product, Real.*--download"):
        list_office_home(tmp_path, complete=False)
    assert len(list_office_home(tmp_path, ["Art", "Clipart"], complete=False)) == 2
    write_office_home(tmp_path, ("Product", "Real World", "real_world"))
    with pytest.raises(DataError, match=r"Real World, .*real_world"):
        list_office_home(tmp_path, complete=False)
    with pytest.raises(DataError, match="nowhere"):
        list_office_home(tmp_path / "nowhere")
    with pytest.raises(UnknownName, match="Clipart"):
        list_office_home(tmp_path, ["Clippart"])
    assert domain_name("real-world") == "Real"
