"""S from the Gram matrix, of which the upper half is worked on in stripes.

Stripe r has the rows of its part of 0..n−1, and all columns from its first row on. An entry right of the diagonal
block counts twice: in the sum of its row, and in that of its column.

    ┌───┬──────────┐
    │ 0 │          │
    └───┼───┬──────┤
        │ 1 │      │
        └───┼───┬──┤
            │ 2 │  │
            └───┴──┘

U is one-hot, so S = U K takes additions only: O(n²) whatever k, and half the memory traffic of a matrix product with K.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from orda.compiled import compiled
from orda.devices import sent
from orda.kernels import Kernel, block_rows, gram_matrix, slices, unfilled
from orda.records import FloatArray, IntArray
from orda.stratification.products import SumsThere, share_by_products
from orda.stratification.sums import StratumSums, one_hot, to_numpy
from orda.threads import TILE, in_pieces

DEVICE_ROWS = 1024  # rows of a stripe on a GPU


class Workspace:
    """Memory that several stratifications use one after another: fresh pages are slow to come by."""

    def __init__(self) -> None:
        self._flat: Tensor | None = None

    def take(self, count: int, like: Tensor) -> Tensor:
        """``count`` elements, not filled, of the dtype and on the device of ``like``; what was taken before is lost."""
        flat = self._flat
        if flat is None or flat.dtype != like.dtype or flat.device != like.device or len(flat) < count:
            self._flat = flat = None  # let go first: never both
            self._flat = flat = unfilled(like, count)
        return flat[:count]


def stripe_rows(points: Tensor) -> int:
    return TILE if points.device.type == "cpu" else DEVICE_ROWS


def gram_bytes(points: Tensor) -> int:
    """What the stripes of the points' Gram matrix take."""
    n = len(points)
    count: int = sum(length(part) * (n - part.start) for part in slices(n, stripe_rows(points)))
    return count * points.element_size()


class GramSums(StratumSums):
    """S from stripes that are kept in a workspace or, without one, computed each time.

    By compiled ``additions`` on a CPU. On a GPU by matrix products: S stays there, and what is made of it comes over.
    """

    def __init__(
        self, points: Tensor, kernel: Kernel, k: int, workspace: Workspace | None, additions: bool | None = None
    ) -> None:
        super().__init__(k, to_numpy(kernel.diagonal(points)), points.dtype)
        self.method = "blocks" if workspace is None else "gram"
        self._points, self._kernel, self._device = points, kernel, points.device
        additions = points.device.type == "cpu" if additions is None else additions
        self._there = None if additions else SumsThere(k, self.diagonal, points.device)
        self._parts = list(slices(self.n, stripe_rows(points)))
        self._kept = None if workspace is None else self._keep(workspace)
        self.full_costs_moves = 3 if self._kept is not None else 2
        if self._kept is not None and self._there is not None:
            self.full_costs_moves = self.n + 1  # products with what is kept cost a GPU less than any new kernel values

    def at(self, labels: IntArray) -> FloatArray:
        found = super().at(labels)
        return found if self._there is None else self._there.on_host()

    def within(self, labels: IntArray) -> FloatArray:
        if self._there is None:
            return super().within(labels)
        self._go_to(labels)
        return self._there.within(labels)

    def distances(self, labels: IntArray, sizes: IntArray, within: FloatArray) -> npt.NDArray[np.floating]:
        if self._there is None:
            return super().distances(labels, sizes, within)
        self._go_to(labels)
        return self._there.distances(np.maximum(sizes, 1), within)

    def mean_kernel(self) -> float:
        return (float(self._sums.sum()) if self._there is None else self._there.total()) / self.n**2

    def among(self, indices: IntArray) -> FloatArray:
        return to_numpy(gram_matrix(self._kernel, self._points[self._sent(indices)]))

    def column(self, index: int) -> FloatArray:
        if self._kept is None:
            one = self._points[index : index + 1]
            values = in_pieces(lambda part: self._kernel.gram(self._points[part], one), self._parts, self._device)
            pieces = [value[:, 0] for value in values]
        else:
            home = index // length(self._parts[0])
            pieces = [self._kept[r][:, index - self._parts[r].start] for r in range(home)]
            pieces.append(self._kept[home][index - self._parts[home].start])
        return to_numpy(torch.cat(pieces))

    # ── the stripes ──

    def _keep(self, workspace: Workspace) -> list[Tensor]:
        """All stripes, filled tile by tile."""
        shapes = [(length(part), self.n - part.start) for part in self._parts]
        sizes = [height * width for height, width in shapes]
        flat = workspace.take(sum(sizes), self._points)
        kept = [piece.view(shape) for piece, shape in zip(torch.split(flat, sizes), shapes, strict=True)]

        def fill(tile: tuple[int, slice]) -> None:
            r, columns = tile
            first = self._parts[r].start
            kept[r][:, columns.start - first : columns.stop - first] = self._tile(self._parts[r], columns)

        tiles = [(r, columns) for r in range(len(kept)) for columns in self._columns(r)]
        for _ in in_pieces(fill, tiles, self._device):
            pass
        return kept

    def _stripe(self, r: int) -> Tensor:
        if self._kept is not None:
            return self._kept[r]
        return torch.cat([self._tile(self._parts[r], columns) for columns in self._columns(r)], 1)

    def _columns(self, r: int) -> list[slice]:
        """The columns of stripe r: its diagonal block, then the others, on a GPU as many at once as a block holds."""
        if self._there is None:
            return self._parts[r:]
        first = self._parts[r].stop
        wide = block_rows(length(self._parts[0]), self._points.element_size())
        return [self._parts[r], *(slice(first + c.start, first + c.stop) for c in slices(self.n - first, wide))]

    def _tile(self, rows: slice, columns: slice) -> Tensor:
        left = self._points[rows]
        return self._kernel.gram(left, left if rows == columns else self._points[columns])

    def _sent(self, indices: IntArray) -> Tensor:
        return sent(torch.from_numpy(indices), self._device)

    # ── S from nothing ──

    def _clear(self) -> None:
        if self._there is None:
            super()._clear()
        else:
            self._there.clear()

    def _compute(self, labels: IntArray) -> None:
        if self._there is not None:
            self._compute_there(labels, self._there)
            return
        if self._kept is not None:
            self._compute_in_place(labels)
            return

        def share(r: int) -> FloatArray:
            stripe, here = self._stripe(r), labels[self._parts[r].start :]
            sums = np.zeros((self.k, len(here)))
            height = len(stripe)
            _add_rows(stripe.numpy(), here, sums, 0)
            _add_columns(stripe.numpy(), here[:height], height, len(here) - height, sums, height)
            return sums

        for part, sums in zip(self._parts, in_pieces(share, range(len(self._parts)), self._device), strict=True):
            self._sums[:, part.start :] += sums

    def _compute_there(self, labels: IntArray, there: SumsThere) -> None:
        member = there.member(labels)

        def share(r: int) -> None:
            columns = slice(self._parts[r].start, self.n)
            there.add(columns, share_by_products(self._stripe(r), member[:, columns]))

        for _ in in_pieces(share, range(len(self._parts)), self._device):
            pass

    def _compute_in_place(self, labels: IntArray) -> None:
        """Each part of S by one worker: the columns of the stripes above, then the rows of its own stripe."""
        assert self._kept is not None
        stripes = [stripe.numpy() for stripe in self._kept]

        def fill(c: int) -> None:
            part = self._parts[c]
            for above, stripe in zip(self._parts[:c], stripes[:c], strict=True):
                _add_columns(stripe, labels[above], part.start - above.start, length(part), self._sums, part.start)
            _add_rows(stripes[c], labels[part.start :], self._sums, part.start)

        for _ in in_pieces(fill, range(len(stripes))):
            pass

    # ── S after some points moved ──

    def _move(self, moved: IntArray, old: IntArray, new: IntArray) -> None:
        if self._kept is not None and self._there is None:
            self._move_in_place(moved, old, new)
            return
        change = one_hot(self._sent(new), self.k) - one_hot(self._sent(old), self.k)  # (k, m)
        rows = self._points[self._sent(moved)]

        def share(part: slice) -> Tensor:
            columns, total = self._points[part], change.new_zeros(self.k, length(part))
            for some in slices(len(rows), length(self._parts[0])):
                total += change[:, some] @ self._kernel.gram(rows[some], columns).double()
            return total

        for part, sums in zip(self._parts, in_pieces(share, self._parts, self._device), strict=True):
            if self._there is None:
                self._sums[:, part] += to_numpy(sums)
            else:
                self._there.add(part, sums)

    def _move_in_place(self, moved: IntArray, old: IntArray, new: IntArray) -> None:
        """As ``_compute_in_place``, with the moved points only; ``moved`` is sorted."""
        assert self._kept is not None
        stripes = [stripe.numpy() for stripe in self._kept]
        within = [slice(*np.searchsorted(moved, (part.start, part.stop))) for part in self._parts]

        def fill(c: int) -> None:
            part = self._parts[c]
            for above, some, stripe in zip(self._parts[:c], within[:c], stripes[:c], strict=True):
                rows, first = moved[some] - above.start, part.start - above.start
                _move_columns(stripe, rows, old[some], new[some], first, length(part), self._sums, part.start)
            right = slice(within[c].start, None)
            _move_rows(stripes[c], moved[right] - part.start, old[right], new[right], self._sums, part.start)

        for _ in in_pieces(fill, range(len(stripes))):
            pass


@compiled
def _add_columns(stripe: FloatArray, labels: IntArray, first: int, count: int, sums: FloatArray, at: int) -> None:
    """Row i of a stripe adds to its stratum ``labels[i]``, at ``count`` columns from ``first`` on (``at`` in S)."""
    for i in range(len(stripe)):
        target, values = sums[labels[i], at : at + count], stripe[i, first : first + count]
        for j in range(count):
            target[j] += values[j]


@compiled
def _add_rows(stripe: FloatArray, labels: IntArray, sums: FloatArray, at: int) -> None:
    """Column j of a stripe adds to its stratum ``labels[j]``, at every row (from ``at`` on in S). Four rows at once."""
    height, width = stripe.shape
    four = np.empty((len(sums), 4))
    for i in range(0, height, 4):
        a, b = stripe[i], stripe[min(i + 1, height - 1)]
        c, d = stripe[min(i + 2, height - 1)], stripe[min(i + 3, height - 1)]
        four[:] = 0
        for j in range(width):
            total = four[labels[j]]
            total[0] += a[j]
            total[1] += b[j]
            total[2] += c[j]
            total[3] += d[j]
        for h in range(len(sums)):
            for q in range(min(4, height - i)):
                sums[h, at + i + q] += four[h, q]


@compiled
def _move_columns(
    stripe: FloatArray, rows: IntArray, old: IntArray, new: IntArray, first: int, count: int, sums: FloatArray, at: int
) -> None:
    """``_add_columns`` for ``rows`` that go from stratum ``old`` to ``new``."""
    for m in range(len(rows)):
        values = stripe[rows[m], first : first + count]
        gains, loses = sums[new[m], at : at + count], sums[old[m], at : at + count]
        for j in range(count):
            gains[j] += values[j]
            loses[j] -= values[j]


@compiled
def _move_rows(stripe: FloatArray, columns: IntArray, old: IntArray, new: IntArray, sums: FloatArray, at: int) -> None:
    """``_add_rows`` for ``columns`` that go from stratum ``old`` to ``new``."""
    change = np.empty(len(sums))
    for i in range(len(stripe)):
        values = stripe[i]
        change[:] = 0
        for m in range(len(columns)):
            value = values[columns[m]]
            change[new[m]] += value
            change[old[m]] -= value
        for h in range(len(sums)):
            sums[h, at + i] += change[h]


def length(part: slice) -> int:
    return int(part.stop) - int(part.start)
