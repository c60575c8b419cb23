"""What the documents name exists: files, protocols, and commands with their options."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from orda.cli.root import app
from orda.experiments.protocol import Protocol, shipped_protocols
from orda.experiments.simulate import STUDIES
from orda.training import schema

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAPER = (ROOT / "docs" / "paper.md").read_text()
FILES = sorted({text for text in re.findall(r"`([^`]+)`", PAPER) if re.fullmatch(r"[\w/-]+\.(py|yaml)", text)})


def commands(page: Path) -> list[str]:
    """The calls of orda in a page: of its bash blocks, and between backticks."""
    text = page.read_text()
    lines = [line for kind, block in BLOCK.findall(text) if kind == "bash" for line in block.splitlines()]
    lines += re.findall(r"`([^`\n]+)`", BLOCK.sub("", text))
    return [line.partition(" #")[0].strip() for line in lines if line.startswith("orda ")]


ALL = sorted({command for page in PAGES for command in commands(page)})


@pytest.mark.parametrize("path", FILES)
def test_the_papers_files_are_there(path: str) -> None:
    assert (ROOT / "src" / "orda" / path).is_file()


@pytest.mark.parametrize("command", ALL)
def test_commands_and_their_options_are_there(command: str) -> None:
    _, name, *words = command.split()
    found: Any = get_command(app)
    for word in (name, *words):
        if not hasattr(found, "get_command"):
            break
        found = found.get_command(found.make_context("orda", [], resilient_parsing=True), word)
        assert found is not None, f"{command}: there is no {word}"
    options = {option for parameter in found.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options | {"--help"}
    known: Any = {"simulate": {*STUDIES, "all"}, "sweep": shipped_protocols()}.get(name, {})
    if known and words and re.fullmatch(r"[a-z-]+", words[0]) and not words[0].startswith("-"):
        assert words[0] in known


def test_protocols_in_the_pages_can_be_loaded() -> None:
    found = [schema.parse_yaml(block, page.name) for page in PAGES for block in _yaml(page)]
    protocols = [values for values in found if "groups" in values]
    assert protocols
    for values in protocols:
        Protocol.from_dict({"name": "page", **values})


def _yaml(page: Path) -> list[str]:
    return [block for kind, block in BLOCK.findall(page.read_text()) if kind == "yaml"]


def test_the_pages_name_some() -> None:
    assert len(ALL) >= 10
    assert len(FILES) >= 20
