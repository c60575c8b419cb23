"""Small data sets of every kind that the loader takes, and a small network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from orda.data import ArrayDomain
from orda.seeds import generator, torch_generator, torch_stream

SOURCES, TARGETS, WIDTH = 37, 23, 5


class Items:
    """A map-style data set of vectors; ``labels=None`` gives items x alone."""

    def __init__(self, x: Tensor, labels: list[int] | None) -> None:
        self.x, self.labels = x, labels

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> Any:
        return self.x[i] if self.labels is None else (self.x[i], self.labels[i])


class Net(nn.Module):
    """With everything whose behaviour depends on the mode: batch normalisation and dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(WIDTH, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 4))
        self.head = nn.Linear(4, 3)

    def features(self, x: Tensor) -> Tensor:
        z: Tensor = self.body(x)
        return z


def domain(name: str, n: int, size: int = 4) -> ArrayDomain:
    rng = generator(0, "test", name)
    images = rng.integers(0, 256, (n, size, size, 3), dtype=np.uint8)
    labels = rng.integers(0, 3, n).astype(np.int64)
    return ArrayDomain(name, images, labels, tuple(f"{i}.png" for i in range(n)), ("a", "b", "c"))


@pytest.fixture
def source() -> Items:
    rng = torch_generator(0, "test", "source")
    x = torch.randn(SOURCES, WIDTH, generator=rng)
    return Items(x, x[:, :3].argmax(1).tolist())


@pytest.fixture
def target() -> Items:
    return Items(torch.randn(TARGETS, WIDTH, generator=torch_generator(0, "test", "target")) + 0.5, None)


@pytest.fixture
def net() -> Net:
    with torch_stream(0, "test", "net"):
        return Net()


@pytest.fixture
def array_domain() -> Callable[..., ArrayDomain]:
    return domain
