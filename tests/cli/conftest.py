"""Images on disk in folders with awkward names, and a trained run, for commands that start from those."""

from __future__ import annotations

from pathlib import Path

import pytest
from references.datasets import SHADE_SIZE, write_shades

from orda.training import TrainConfig, train

DOMAINS = ("ink 'x'", 'paper "y" [b]', "stone")


@pytest.fixture(scope="session")
def shades(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """root/domain/class/*.png; do not change it."""
    return write_shades(tmp_path_factory.mktemp("data") / "shades of 'it' [b]", DOMAINS)


@pytest.fixture(scope="session")
def flags(shades: Path) -> list[str]:
    """``orda train`` on them in a second."""
    names = ["--data", "folder", "--root", str(shades), "--source", DOMAINS[0], "--target", DOMAINS[1]]
    small = ["--size", str(SHADE_SIZE), "--model", "small-cnn", "--lr", "1e-3", "-k", "4", "-M", "5"]
    return [*names, *small, "--steps", "12", "--eval-every", "6", "--device", "cpu"]


@pytest.fixture(scope="session")
def trained(shades: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run; do not change it."""
    run = tmp_path_factory.mktemp("runs") / "a 'run' [b]"
    asked = {
        "data.name": "folder",
        "data.root": str(shades),
        "data.sources": list(DOMAINS[:1]),
        "data.target": DOMAINS[1],
        "data.size": SHADE_SIZE,
        "model.name": "small-cnn",
        "algorithm.settings.lr": 3e-3,
        "batch_size": 6,
        "horizon": 3,
        "steps": 40,
        "eval_every": 20,
        "machine.device": "cpu",
    }
    train(TrainConfig().updated(asked), run)
    return run
