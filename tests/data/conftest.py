"""Tiny data sets in their true layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from references.datasets import write_image


@pytest.fixture(autouse=True)
def _no_cache_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ORDA_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))


@pytest.fixture
def make_folder(tmp_path: Path) -> Callable[..., Path]:
    """Writes root/domain/class/i.png and returns the root."""

    def make(
        domains: Iterable[str] = ("art", "photo"),
        classes: Iterable[str] = ("ant", "bee"),
        count: int = 3,
        name: str = "my data",
    ) -> Path:
        root = tmp_path / name
        for d, domain in enumerate(domains):
            for c, label in enumerate(classes):
                for i in range(count):
                    write_image(root / domain / label / f"{i}.png", seed=100 * d + 10 * c + i)
        return root

    return make
