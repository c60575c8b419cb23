"""The page as a whole: parts, escapes, missing things by name, the same bytes for the same runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from experiments.report.conftest import AWKWARD, TITLE, real_protocol
from experiments.report.reading import Page, read

from orda.errors import RunError
from orda.experiments.protocol import Protocol
from orda.experiments.report import write_report
from orda.experiments.store import Store
from orda.training import RunPaths

SECTIONS = ["summary", "accuracy", "comparisons", "curves", "estimates", "times"]
PICTURES = ["features", "strata"]
REST = ["hyperparameters", "runs", "again"]


@pytest.fixture(scope="module")
def page(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Page:
    out = tmp_path_factory.mktemp("out") / "new folder" / "page.html"
    assert write_report(made, out, progress=False) == out
    return read(out.read_text())


@pytest.fixture(scope="module")
def full(real: Path) -> Page:
    return read(write_report(real, progress=False).read_text())


def ids(page: Page) -> list[str]:
    return [attributes["id"] for _, attributes in page.tags if "id" in attributes]


def test_all_sections_are_there_and_the_contents_lead_to_them(full: Page) -> None:
    assert ids(full) == [*SECTIONS, *PICTURES, *REST]
    assert [link["href"] for link in full.all("a")] == [f"#{name}" for name in ids(full)]


def test_all_figures_are_there(full: Page) -> None:
    told = [text for text in full.texts if text.strip()]
    for part in (
        "Accuracy, source validation",
        "Accuracy, target",
        "Task loss",
        "Discrepancy of minibatches, D̂",
        "Paired differences in accuracy",
        "Bias and variance by sampler",
        "Seconds a run, by part",
        "Before training",
        "Pair 1",
    ):
        assert part in told
    panels = [svg for svg in full.all("svg") if svg.get("class") == "panel"]
    # means, differences; 5 curves; 2 rows of estimates and their errors; times; one map before and three after
    assert len(panels) == 1 + 1 + 5 + 2 + 1 + 1 + 4
    assert all(svg["role"] == "img" for svg in panels)
    assert len(full.all("title")) > len(panels)


def test_nothing_comes_from_elsewhere(full: Page, page: Page) -> None:
    for each in (full, page):
        for tag, attributes in each.tags:
            assert tag not in ("script", "link", "iframe", "object", "base")
            for key in ("src", "href", "xlink:href", "srcset", "action", "poster"):
                assert attributes.get(key, "#").startswith(("#", "data:image/")), (tag, attributes)
            assert not any(key.startswith("on") for key in attributes)
        policy = next(meta for meta in each.all("meta") if "http-equiv" in meta)
        assert policy["content"].startswith("default-src 'none'")


def test_style_asks_for_nothing(real: Path) -> None:
    style = re.search(r"<style>(.*?)</style>", write_report(real, progress=False).read_text(), re.DOTALL)
    assert style
    assert "url(" not in style[1]
    assert "@import" not in style[1]


def test_texts_from_outside_are_text(made: Path, page: Page) -> None:
    assert TITLE in page.text
    assert str(made).replace("'", "") in page.text.replace("'\"'\"'", "").replace("'", "")
    assert not page.all("script")
    assert not page.all("b") or all(tag != "b" or "class" not in a for tag, a in page.tags)


def test_ids_are_unique_and_headings_do_not_jump(full: Page) -> None:
    assert len(set(ids(full))) == len(ids(full))
    levels = [int(tag[1]) for tag, _ in full.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(level in (2, 4) for level in levels[1:])


def test_images_have_texts_and_sizes(full: Page) -> None:
    images = full.all("img")
    assert images
    assert {image["alt"] for image in images} <= {"ant", AWKWARD, "cat"}
    assert all(image["width"] and image["height"] for image in images)


def test_what_is_missing_is_named(page: Page) -> None:
    for text in (
        "3 runs of 12 without a result",
        "failed: ERM, rendered->handwritten, repeat 1, draw 0",
        "ValueError: it always does",
        "damaged record: CORAL, rendered->handwritten, repeat 0, draw 0",
        "a checkpoint must be readable",
        "9 of 12 runs done, 1 of them diverged",
    ):
        assert text in page.text


def test_the_same_runs_make_the_same_bytes(real: Path, made: Path, tmp_path: Path) -> None:
    for folder in (real, made):
        once, again = (write_report(folder, tmp_path / name, progress=False).read_bytes() for name in ("a", "b"))
        assert once == again


def test_pictures_can_be_left_out(real: Path, tmp_path: Path) -> None:
    small = read(write_report(real, tmp_path / "small.html", pictures=False, progress=False).read_text())
    assert ids(small) == [*SECTIONS, *REST]


def test_data_that_are_gone_are_told_of(real: Path, shades: Path, tmp_path: Path) -> None:
    away = shades.with_name("elsewhere")
    shades.rename(away)
    try:
        told = read(write_report(real, tmp_path / "gone.html", progress=False).read_text())
    finally:
        away.rename(shades)
    assert "No map of ERM, ink->paper, repeat 0, draw 0" in told.text
    assert "features" in ids(told)
    assert "strata" not in ids(told)


def test_two_sweeps_make_two_chapters(real: Path, shades: Path, tmp_path: Path) -> None:
    store = Store(real)
    protocol, places = store.load_sweep("shades")
    some = [place for place in places if place.group == "CORAL"]
    smaller = {**real_protocol(shades), "name": "fewer", "title": "Fewer & fewer"}
    smaller["groups"] = {"CORAL": smaller["groups"]["CORAL"]}
    store.save_sweep(Protocol.from_dict(smaller), some)
    try:
        both = read(write_report(real, tmp_path / "two.html", pictures=False, progress=False).read_text())
        one = read(write_report(real, tmp_path / "one.html", protocols=["shades"], pictures=False).read_text())
    finally:
        for file in (real / "sweeps" / "fewer").iterdir():
            file.unlink()
        (real / "sweeps" / "fewer").rmdir()
    assert "2 sweeps: Fewer & fewer, shades" in both.text
    assert {"sweep-1", "sweep-1-summary", "sweep-2", "sweep-2-again"} <= set(ids(both))
    assert len(set(ids(both))) == len(ids(both))
    assert [link["href"] for link in both.all("a")] == ["#sweep-1", "#sweep-2"]
    assert "summary" in ids(one)
    assert protocol.name == "shades"


def test_one_run_alone(real: Path, tmp_path: Path) -> None:
    folder = next(path.parent for path in sorted(real.glob("*/result.json")) if "ordered" in (path.read_text()))
    single = read(write_report(folder, tmp_path / "one.html", progress=False).read_text())
    assert ids(single) == [name for name in [*SECTIONS, *PICTURES, *REST] if name != "comparisons"]
    assert f"orda train --config {RunPaths(folder).config} --out NEW" in single.text
    assert (folder / "report.html").exists() is False


def test_runs_that_no_sweep_knows(real: Path, tmp_path: Path) -> None:
    folder = tmp_path / "loose"
    folder.mkdir()
    found = sorted(path.parent for path in real.glob("*/result.json"))
    for number, run in enumerate(found):
        (folder / f"run <{number}>").symlink_to(run)
    (folder / "bad").mkdir()
    (folder / "bad" / "result.json").write_text("{")
    loose = read(write_report(folder, pictures=False, progress=False).read_text())
    assert "6 runs." in loose.text
    assert "run <5>" in loose.text
    assert "Set aside, for they cannot be read: 1 record." in loose.text
    assert "coral, ordered" in loose.text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "a report is made from a folder of runs"),
        (lambda path: path.mkdir(), "a report is made from finished runs"),
        (lambda path: path.write_text(""), "a report is made from a folder of runs"),
    ],
)
def test_folders_without_runs(make: object, message: str, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    make(folder)  # type: ignore[operator]
    with pytest.raises(RunError, match=message):
        write_report(folder)


def test_a_folder_whose_only_record_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text("{}")
    with pytest.raises(RunError, match="a report needs a run that can be read"):
        write_report(tmp_path)


def test_nothing_is_written_where_nothing_can_be(real: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot write"):
        write_report(real, tmp_path / "file" / "page.html", pictures=False)
