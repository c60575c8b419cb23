"""Every Python block of the documents runs, and prints what the text block after it says.

Numbers may differ by what another processor's rounding does to a plan: they must agree within a factor of ``SLACK``;
everything else must be equal to the letter.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?|-?\d+e[+-]?\d+|\b\d+\b")
SLACK = 3.0


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCK.finditer(page.read_text())]


def agree(printed: str, promised: str) -> bool:
    if NUMBER.sub("#", printed.strip()) != NUMBER.sub("#", promised.strip()):
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(promised), strict=True)
    return all(a == b or 1 / SLACK <= float(a) / float(b) <= SLACK for a, b in pairs if float(b))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_runs_and_prints_what_it_says(page: Path, tmp_path: Path, monkeypatch: object) -> None:
    monkeypatch.chdir(tmp_path)  # type: ignore[attr-defined]
    namespace: dict[str, object] = {}
    found = blocks(page)
    for number, (language, text) in enumerate(found):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(text, f"{page.name}, block {number}", "exec"), namespace)
        if number + 1 < len(found) and found[number + 1][0] == "text":
            assert agree(printed.getvalue(), found[number + 1][1]), printed.getvalue()


def test_a_wrong_number_would_be_seen() -> None:
    assert agree("a 1.0e-3, 7", "a 1.2e-3, 7")
    assert not agree("a 1.0e-3, 7", "a 1.2e-5, 7")
    assert not agree("a 1.0", "b 1.0")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", BLOCK.sub("", page.read_text())):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_every_public_name_is_on_the_api_page() -> None:
    import orda

    page = (ROOT / "docs" / "api.md").read_text()
    missing = [name for name in orda.__all__ if f"`{name}" not in page]
    assert not missing, f"docs/api.md does not mention {missing}"
