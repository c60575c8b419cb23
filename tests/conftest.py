"""What every test starts from."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest
import torch

SOURCE = Path(__file__).parent.parent / "src" / "orda"

hypothesis.settings.register_profile("orda", deadline=None, derandomize=True, max_examples=30)
hypothesis.settings.load_profile("orda")


def pytest_configure() -> None:
    """Drop compiled code older than the newest source: numba does not see that a *called* function changed."""
    sources = [path for room in ("stratification", "ordering", "samplers") for path in (SOURCE / room).glob("*.py")]
    newest = max(path.stat().st_mtime for path in sources)
    for compiled in SOURCE.rglob("*.nb[ic]"):
        if compiled.stat().st_mtime < newest:
            compiled.unlink(missing_ok=True)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Small tensors gain nothing by threads; tests of what threads may change set their own number."""
    torch.set_num_threads(1)
