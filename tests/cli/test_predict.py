"""``orda predict`` on a trained run."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from cli.conftest import DOMAINS
from cli.test_root import run
from references.datasets import ANIMALS

import orda

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def images(shades: Path) -> Path:
    return shades / DOMAINS[1]


def test_every_format_says_the_same(trained: Path, images: Path, capsys: Capture) -> None:
    asked = "predict", str(trained), str(images)
    as_json = json.loads(run_out(capsys, *asked, "--json"))
    as_csv = list(csv.DictReader(io.StringIO(run_out(capsys, *asked, "--csv"))))
    assert as_csv == [{key: str(value) for key, value in row.items()} for row in as_json]
    expected = [
        {"name": p.name, "label": p.label, "class_name": p.class_name, "probability": p.probability}
        for p in orda.load(trained, device="cpu").predict(images)
    ]
    assert as_json == expected
    assert [row["name"] for row in as_json] == sorted(str(path) for path in images.rglob("*.png"))
    assert all(ANIMALS[row["label"]] == row["class_name"] for row in as_json)
    wide = run_out(capsys, *asked, "--device", "cpu")
    assert wide.count("%") == len(as_json)


def run_out(capsys: Capture, *args: str) -> str:
    code, out, err = run(capsys, *args)
    assert (code, err) == (0, "")
    return out


def test_it_has_learnt_something(trained: Path, images: Path, capsys: Capture) -> None:
    """Far above chance, a third, on images of the target."""
    rows = json.loads(run_out(capsys, "predict", str(trained), str(images), "--json"))
    right = [row["class_name"] == Path(row["name"]).parent.name for row in rows]
    assert sum(right) / len(right) > 0.6


def test_files_and_folders_in_the_order_given(trained: Path, images: Path, capsys: Capture) -> None:
    files = [images / "cat" / "paper3.png", images / "ant" / "paper1.png"]
    out = run_out(capsys, "predict", str(trained), *map(str, files), str(images / "bee"), "--json")
    names = [row["name"] for row in json.loads(out)]
    assert names[:2] == [str(path) for path in files]
    assert names[2:] == sorted(str(path) for path in (images / "bee").iterdir())


def test_damaged_images_are_all_listed(trained: Path, images: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = shutil.copytree(images / "ant", tmp_path / "ant")
    bad = [folder / f"paper{i}.png" for i in (0, 2)]
    for path in bad:
        path.write_bytes(path.read_bytes()[:60])
    code, out, err = run(capsys, "predict", str(trained), str(folder))
    assert (code, out) == (1, "")
    assert "2 of 14 are not" in err
    assert all(str(path) in err for path in bad)


@pytest.mark.parametrize(
    ("where", "args", "message"),
    [
        ("", ["no.png", "neither.png"], "images must exist; got no.png, neither.png"),
        ("", [".", "--json", "--csv"], "one format at a time"),
        ("", [".", "--device", "cuda:99"], "the device must be one that torch can use"),
        ("no", ["."], "a run must have been trained and evaluated once before it can predict; got"),
    ],
)
def test_errors_are_one_line(where: str, args: list[str], message: str, trained: Path, capsys: Capture) -> None:
    code, out, err = run(capsys, "predict", str(trained / where), *args)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"orda: {message}")


def test_a_damaged_checkpoint_is_one_line(trained: Path, images: Path, tmp_path: Path, capsys: Capture) -> None:
    copy = shutil.copytree(trained, tmp_path / "copy")
    (copy / "checkpoint.pt").write_bytes((copy / "checkpoint.pt").read_bytes()[:1000])
    code, _, err = run(capsys, "predict", str(copy), str(images))
    assert (code, err.count("\n")) == (1, 1)
    assert err.startswith("orda: a checkpoint must be readable")


def test_a_folder_without_images_is_said(trained: Path, tmp_path: Path, capsys: Capture) -> None:
    code, out, err = run(capsys, "predict", str(trained), str(tmp_path), "--csv")
    assert (code, out) == (0, "name,label,class_name,probability\n")
    assert f"no images in {tmp_path}" in err
