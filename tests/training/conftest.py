"""A small data set on disk, and configurations that train on it in a second."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from references.crashes import Crashes
from references.datasets import SHADE_SIZE, write_shades

from orda.training import TrainConfig


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """root/domain/class/*.png in a folder with spaces in its name."""
    return write_shades(tmp_path_factory.mktemp("data sets") / "shades of it")


@pytest.fixture
def make_config(root: Path) -> Callable[..., TrainConfig]:
    """A small configuration; changes by dotted names, "_" for "."."""

    def make(changes: dict[str, Any] | None = None) -> TrainConfig:
        small = {
            "data.name": "folder",
            "data.root": str(root),
            "data.sources": ["ink", "stone"],
            "data.target": "paper",
            "data.size": SHADE_SIZE,
            "data.cache_dir": str(root.parent / "cache"),
            "model.name": "small-cnn",
            "algorithm.name": "coral",
            "algorithm.settings.lr": 1e-3,
            "batch_size": 5,
            "horizon": 4,
            "steps": 17,
            "eval_every": 6,
            "machine.device": "cpu",
        }
        return TrainConfig().updated({**small, **(changes or {})})

    return make


@pytest.fixture(scope="session")
def crashes() -> Iterator[Crashes]:
    server = Crashes()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path) -> Iterator[None]:
    """Default folders ("runs") must not land in the project."""
    before = Path.cwd()
    os.chdir(tmp_path)
    yield
    os.chdir(before)
