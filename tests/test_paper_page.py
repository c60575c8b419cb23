"""The page that maps the paper to this library names files and commands that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from orda.cli.root import app
from orda.experiments.protocol import shipped_protocols
from orda.experiments.simulate import STUDIES

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "paper.md").read_text()
QUOTED = re.findall(r"`([^`]+)`", PAGE)
COMMANDS = sorted({text for text in QUOTED if text.startswith("orda ")})


@pytest.mark.parametrize("path", sorted({text for text in QUOTED if re.fullmatch(r"[\w/-]+\.(py|yaml)", text)}))
def test_files_are_there(path: str) -> None:
    assert (ROOT / "src" / "orda" / path).is_file()


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_and_their_options_are_there(command: str) -> None:
    _, name, *words = command.split()
    group = get_command(app)
    found = group.get_command(group.make_context("orda", [], resilient_parsing=True), name)  # type: ignore[attr-defined]
    assert found is not None
    options = {option for parameter in found.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in words if word.startswith("--")} <= options
    known = {"sweep": shipped_protocols(), "simulate": STUDIES}.get(name, {})
    assert not known or words[0] in known


def test_the_page_names_some() -> None:
    assert len(COMMANDS) >= 7
