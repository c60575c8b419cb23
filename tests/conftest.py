"""What every test starts from."""

from __future__ import annotations

import hypothesis
import pytest
import torch

hypothesis.settings.register_profile("orda", deadline=None, derandomize=True, max_examples=30)
hypothesis.settings.load_profile("orda")


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Small tensors gain nothing by threads; tests of what threads may change set their own number."""
    torch.set_num_threads(1)
