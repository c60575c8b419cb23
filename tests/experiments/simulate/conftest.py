"""A place for the toy study's misbehaviour, and the names of what a study leaves."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "misbehaviour"
    folder.mkdir()
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / 'it\'s a "folder" of studies; $HOME'
