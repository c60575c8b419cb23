"""Tensors of a few numbers: two threads would only wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def _one_thread(_few_threads: None) -> Iterator[None]:
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(2)
