"""A domain as the rest of the library sees it: an array of images with labels and names.

    files ──decode once──> ArrayDomain ──subset, join──> ArrayDomain ──gather──> (b, H, W, 3) uint8, (b,) int64

The array is memory-mapped, in memory, or resident on a device; who reads it need not know which.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from orda.devices import sent
from orda.errors import DataError
from orda.records import IntArray

Pixels = npt.NDArray[np.uint8]
BLOCK = 1024  # images on their way to a device at once
Index = IntArray | Tensor | Sequence[int] | slice


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Chosen rows of one or more stored arrays, read only when they are asked for."""

    parts: tuple[Pixels, ...]  # (n_p, H, W, 3) each, of one H and W
    rows: IntArray  # (n,) into the parts, counted as if they stood one after another

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.rows), *self.parts[0].shape[1:])

    @property
    def dtype(self) -> np.dtype[np.uint8]:
        return self.parts[0].dtype

    @property
    def ndim(self) -> int:
        return 4

    def __getitem__(self, index: Any) -> Pixels:
        rows = self.rows[index]
        if len(self.parts) == 1 or np.ndim(rows) == 0:
            return self._flat(rows)
        picked = np.empty((len(rows), *self.shape[1:]), dtype=np.uint8)
        start = 0
        for part in self.parts:
            here = np.flatnonzero((rows >= start) & (rows < start + len(part)))
            picked[here] = part[rows[here] - start]
            start += len(part)
        return picked

    def _flat(self, rows: Any) -> Pixels:
        """Rows that all lie in one part: a number, or any when there is one part only."""
        start = 0
        for part in self.parts[:-1]:
            if rows < start + len(part):
                return np.asarray(part[rows - start])
            start += len(part)
        return np.asarray(self.parts[-1][rows - start])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("rows of a stored array cannot be had without a copy")
        return np.asarray(self[:], dtype=dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return View, (tuple(_ByPath(part) if _is_whole_file(part) else part for part in self.parts), self.rows)


@dataclass(frozen=True, eq=False)
class ArrayDomain:
    """One domain: images with labels, file names and the names of the classes.

    Map-style (``domain[i]`` is an image and its label) for any ``DataLoader``; :meth:`gather` takes a whole minibatch
    at once, without Python per image.
    """

    name: str
    images: Pixels | View | Tensor  # (n, H, W, 3) uint8; np.asarray(domain.images) reads all of them
    labels: IntArray  # (n,) into classes
    names: tuple[str, ...]  # (n,) file names relative to the domain
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        faults = _faults(self)
        if faults:
            raise DataError(f"domain {self.name!r} cannot be used", "; ".join(faults), "Correct the arrays given")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def size(self) -> tuple[int, int]:
        """(H, W) of every image."""
        return int(self.images.shape[1]), int(self.images.shape[2])

    @property
    def device(self) -> torch.device:
        """Where images are gathered: the CPU unless they are resident elsewhere."""
        return self.images.device if isinstance(self.images, Tensor) else torch.device("cpu")

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        """The image (H, W, 3) uint8 and its label."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is outside a domain of {len(self)} examples")
        images, labels = self.gather([index])
        return images[0], int(labels[0])

    def gather(self, index: Index) -> tuple[Tensor, Tensor]:
        """Images (b, H, W, 3) uint8 and labels (b,) int64 at ``index``, on the device where the images are."""
        if isinstance(self.images, Tensor):
            if isinstance(index, slice):
                return self.images[index].clone(), self._device_labels[index].clone()
            rows = sent(torch.as_tensor(index, dtype=torch.int64), self.images.device)
            rows = torch.where(rows < 0, rows + len(self), rows)
            # ten times as fast as images[rows] on a CPU
            return self.images.index_select(0, rows), self._device_labels.index_select(0, rows)
        where: Any = index.cpu().numpy() if isinstance(index, Tensor) else index
        if not isinstance(where, slice):
            where = np.asarray(where, dtype=np.int64)
        images, labels = np.array(self.images[where], copy=None), self.labels[where]
        if isinstance(where, slice):  # a slice of an array is a view of it: never hand out the store itself
            images, labels = images.copy(), labels.copy()
        return torch.from_numpy(images), torch.from_numpy(labels)

    def subset(self, index: Index, name: str | None = None) -> ArrayDomain:
        """The examples at ``index``; the images stay where they are (on a device they are copied there)."""
        where = np.arange(len(self), dtype=np.int64)[index.cpu().numpy() if isinstance(index, Tensor) else index]
        images = self.images[torch.from_numpy(where)] if isinstance(self.images, Tensor) else _rows(self.images, where)
        return replace(
            self,
            name=self.name if name is None else name,
            images=images,
            labels=self.labels[where],
            names=tuple(self.names[i] for i in where),
        )

    def on(self, device: str | torch.device) -> ArrayDomain:
        """The same domain with its images resident on ``device`` (n·H·W·3 bytes there), where they are gathered."""
        if isinstance(self.images, Tensor):
            return replace(self, images=self.images.to(device))
        images = torch.empty(self.images.shape, dtype=torch.uint8, device=device)
        for start in range(0, len(self), BLOCK):  # never a second copy of all of them in memory
            rows = slice(start, start + BLOCK)
            images[rows] = torch.from_numpy(np.array(self.images[rows])).to(device)
        return replace(self, images=images)

    def __reduce__(self) -> tuple[Any, ...]:
        images = _ByPath(self.images) if _is_whole_file(self.images) else self.images
        return ArrayDomain, (self.name, images, self.labels, self.names, self.classes)

    @cached_property
    def _device_labels(self) -> Tensor:
        assert isinstance(self.images, Tensor)
        return torch.from_numpy(self.labels).to(self.images.device)


def join(domains: Sequence[ArrayDomain], name: str | None = None) -> ArrayDomain:
    """Domains of the same classes and image size as one; stored images are not copied. Names become "domain/name"."""
    if len(domains) == 1 and name is None:
        return domains[0]
    first = domains[0]
    faults = [
        f"{other.name!r} has {len(other.classes)} classes and size {other.size}"
        for other in domains
        if other.classes != first.classes or other.size != first.size
    ]
    if faults:
        raise DataError(
            f"joined domains must have the classes and the size of the first, {first.name!r} "
            f"({len(first.classes)} classes, size {first.size})",
            "; ".join(faults),
            "Open all domains in one call",
        )
    views = [_rows(np.asarray(d.images.cpu()) if isinstance(d.images, Tensor) else d.images) for d in domains]
    starts = np.cumsum([0, *(sum(len(part) for part in view.parts) for view in views)])
    images = View(
        tuple(part for view in views for part in view.parts),
        np.concatenate([view.rows + start for view, start in zip(views, starts, strict=False)]),
    )
    joined = ArrayDomain(
        "+".join(d.name for d in domains) if name is None else name,
        images,
        np.concatenate([d.labels for d in domains]),
        tuple(f"{d.name}/{file}" for d in domains for file in d.names),
        first.classes,
    )
    return joined.on(first.images.device) if isinstance(first.images, Tensor) else joined


class _ByPath:
    """A memory-mapped array on its way to another process: it travels as a path and is mapped there again."""

    def __init__(self, array: Any) -> None:
        self.path = str(array.filename)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(np.load, mmap_mode="r"), (self.path,)


def _is_whole_file(array: Any) -> bool:
    """Whether it is all of a mapped .npy file (and not a slice of one)."""
    if not isinstance(array, np.memmap) or array.filename is None:
        return False
    return array.offset + array.nbytes == os.path.getsize(array.filename)


def _rows(images: Pixels | View, index: IntArray | None = None) -> View:
    """The images as a view of their stored arrays, at ``index`` or all of them."""
    view = images if isinstance(images, View) else View((images,), np.arange(len(images), dtype=np.int64))
    return view if index is None else View(view.parts, view.rows[index])


def _faults(domain: ArrayDomain) -> list[str]:
    images, n = domain.images, len(domain.images)
    faults = []
    if images.ndim != 4 or images.shape[-1] != 3 or str(images.dtype).removeprefix("torch.") != "uint8":
        faults.append(f"images must be (n, H, W, 3) uint8, not {tuple(images.shape)} {images.dtype}")
    if domain.labels.shape != (n,) or domain.labels.dtype != np.int64:
        faults.append(f"labels must be ({n},) int64, not {domain.labels.shape} {domain.labels.dtype}")
    elif n and not (domain.labels.min() >= 0 and domain.labels.max() < len(domain.classes)):
        faults.append(
            f"labels must lie in 0..{len(domain.classes) - 1}, not {domain.labels.min()}..{domain.labels.max()}"
        )
    if len(domain.names) != n:
        faults.append(f"there must be {n} names, not {len(domain.names)}")
    return faults
