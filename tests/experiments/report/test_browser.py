"""The page in a real browser, dark and light, on a phone and in print: nothing overflows, the console stays empty."""

from __future__ import annotations

from pathlib import Path

import browser
import pytest

from orda.experiments.report import write_report

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        browser.chromium() is None,
        reason=f"no browser: none of {', '.join(browser.NAMES)} on PATH (Debian: apt-get install chromium)",
    ),
]


@pytest.fixture(scope="module")
def pages(real: Path, made: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A whole page; one with faults; one run alone."""
    out = tmp_path_factory.mktemp("pages & 'more'")
    one = sorted(real.glob("*/result.json"))[0].parent
    folders = {"whole": real, "faulty": made, "single": one}
    return {name: write_report(folder, out / f"{name}.html", progress=False) for name, folder in folders.items()}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("name", ["whole", "faulty", "single"])
def test_nothing_overflows_and_nothing_complains(pages: dict[str, Path], name: str, width: int, dark: bool) -> None:
    seen, console = browser.look(pages[name], width, dark)
    assert console == []
    assert seen["beyond"] == []
    assert seen["needed"] <= seen["width"] <= width
    assert (seen["empty"], seen["broken"], seen["fetched"]) == (0, 0, [])
    assert seen["dark"] == dark
    assert (seen["page"], seen["ink"]) == (
        ("rgb(21, 25, 30)", "rgb(230, 234, 238)") if dark else ("rgb(255, 255, 255)", "rgb(28, 33, 39)")
    )
    assert seen["smallest"] > 9  # pixels of a line of text in a figure


def test_the_look_finds_what_is_wrong(tmp_path: Path) -> None:
    page = tmp_path / "wrong.html"
    page.write_text(
        "<!doctype html><body><main><div style='width: 900px'>wide</div><img src='nothing.png'></main>"
        "<script>console.error('an error of the page')</script>"
    )
    seen, console = browser.look(page, 360)
    assert seen["needed"] >= 900
    assert any("wide" in each for each in seen["beyond"])
    assert seen["broken"] == 1
    assert any("an error of the page" in line for line in console)


def test_it_prints(pages: dict[str, Path], tmp_path: Path) -> None:
    pdf = tmp_path / "page.pdf"
    assert browser.print_page(pages["whole"], pdf) == []
    content = pdf.read_bytes()
    assert content.startswith(b"%PDF")
    assert len(content) > 20_000
