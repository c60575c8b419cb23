"""S on a GPU: made there by matrix products, and there made into what comes over.

What kernel k-means asks for in every sweep are distances and V, not S: they come over in its place.
"""

from __future__ import annotations

import torch
from torch import Tensor

from orda.devices import sent
from orda.records import FloatArray, IntArray
from orda.stratification.sums import one_hot, to_numpy


class SumsThere:
    """S (k, n) in float64 on the device of some points."""

    def __init__(self, k: int, diagonal: FloatArray, device: torch.device) -> None:
        self.k, self.device = k, device
        self.values = torch.zeros(k, len(diagonal), dtype=torch.float64, device=device)
        self._diagonal = self.send(diagonal)
        self._host: FloatArray | None = None

    def send(self, array: FloatArray | IntArray) -> Tensor:
        return sent(torch.from_numpy(array), self.device)

    def member(self, labels: IntArray) -> Tensor:
        """U (k, n)."""
        return one_hot(self.send(labels), self.k)

    def clear(self) -> None:
        self.values.zero_()
        self._host = None

    def add(self, columns: slice, share: Tensor) -> None:
        self.values[:, columns] += share
        self._host = None

    def on_host(self) -> FloatArray:
        """S itself, for the moves of single points; it comes over once."""
        if self._host is None:
            self._host = to_numpy(self.values)
        return self._host

    def total(self) -> float:
        return float(self.values.sum())

    def within(self, labels: IntArray) -> FloatArray:
        """V (k,)."""
        return to_numpy((self.member(labels) * self.values).sum(1))

    def distances(self, sizes: IntArray, within: FloatArray) -> FloatArray:
        """P (n, k)."""
        ends = self.send(within / sizes**2)
        p = self._diagonal[:, None] - 2 * (self.values / self.send(sizes)[:, None]).T + ends
        return to_numpy(p.clamp_min_(0).contiguous())


def share_by_products(stripe: Tensor, member: Tensor) -> Tensor:
    """What a stripe adds to S from its first row on, by two matrix products; U (k, w) says whose its columns are."""
    stripe, height = stripe.double(), len(stripe)
    rows = member @ stripe.mT
    columns = member[:, :height] @ stripe[:, height:]
    return torch.cat([rows, columns], 1)
