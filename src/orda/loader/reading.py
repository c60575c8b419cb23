"""How the loader reads its two data sets: whole minibatches from arrays, or item by item through a ``DataLoader``.

Both kinds of reader give the same: minibatches (x_s, y_s, x_t) for rows of indices, and all the x of a domain in order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, TensorDataset, default_collate

from orda import seeds
from orda.data import ArrayDomain
from orda.devices import sent
from orda.errors import InputError

Triple = tuple[Tensor, Tensor, Tensor]  # x_s, y_s, x_t
Collate = Callable[[list[Any]], Any]
SOURCE, TARGET = 0, 1


class Sets(NamedTuple):
    """The data sets of both domains, and what the features for planning are taken from."""

    source: Any
    target: Any
    planning_source: Any
    planning_target: Any


class Reader(ABC):
    """Reads minibatches, and whole domains."""

    @property
    @abstractmethod
    def devices(self) -> tuple[torch.device, torch.device]:
        """Where minibatches of the source and of the target are when they have been read."""

    @abstractmethod
    def minibatches(self, source: Tensor, target: Tensor, first: int) -> Iterator[Triple]:
        """Minibatches of the rows of two index matrices (m, k); ``first`` is the number of the first among all."""

    @abstractmethod
    def everything(self, domain: int, size: int) -> Iterator[Tensor]:
        """All the x of a domain in order, for planning, ``size`` at a time."""


class Rows(Protocol):
    """An array-backed data set: a whole minibatch at once."""

    def __len__(self) -> int: ...

    @property
    def device(self) -> torch.device:
        """Where it is gathered, and where an index is best."""

    def gather(self, index: Any) -> tuple[Tensor, Tensor | None]: ...


class ArrayReader(Reader):
    """Gathers from arrays; no Python per image."""

    def __init__(self, sets: Sequence[Rows]) -> None:
        self.sets = Sets(*sets)

    @property
    def devices(self) -> tuple[torch.device, torch.device]:
        return self.sets.source.device, self.sets.target.device

    def minibatches(self, source: Tensor, target: Tensor, first: int) -> Iterator[Triple]:
        del first
        # all rows at once: with a copy for every minibatch the host would wait for a GPU twice a step
        source, target = (sent(rows, device) for rows, device in zip((source, target), self.devices, strict=True))
        for i, j in zip(source, target, strict=True):
            x_s, y_s = self.sets.source.gather(i)
            yield x_s, y_s, self.sets.target.gather(j)[0]

    def everything(self, domain: int, size: int) -> Iterator[Tensor]:
        rows = self.sets[2 + domain]
        for start in range(0, len(rows), size):
            yield rows.gather(slice(start, start + size))[0]


class TensorRows:
    """A ``TensorDataset`` as rows."""

    def __init__(self, dataset: TensorDataset) -> None:
        self.tensors = dataset.tensors

    def __len__(self) -> int:
        return len(self.tensors[0])

    @property
    def device(self) -> torch.device:
        return self.tensors[0].device

    def gather(self, index: Any) -> tuple[Tensor, Tensor | None]:
        if isinstance(index, Tensor):
            index = sent(index, self.device)
        return self.tensors[0][index], self.tensors[1][index].long() if len(self.tensors) > 1 else None


def as_rows(dataset: Any) -> Rows | None:
    """The data set as rows, if it is backed by arrays."""
    if isinstance(dataset, TensorDataset):
        return TensorRows(dataset)
    return dataset if isinstance(dataset, ArrayDomain) else None


class ItemReader(Reader):
    """Reads item by item, in ``workers`` processes (0: here), all of them shared by both domains.

    Before each item torch's stream is that of (seed, minibatch, place in it). So what a data set draws from it, as
    torchvision's transforms do, depends neither on the number of workers nor on where a run was resumed.
    """

    def __init__(self, sets: Sets, *, collate: Collate | None, workers: int, pin_memory: bool, seed: int) -> None:
        self._order = _Order()
        self._sizes = len(sets.planning_source), len(sets.planning_target)
        self._loader: DataLoader[Any] = DataLoader(
            _Items(sets, seed),
            batch_sampler=self._order,
            num_workers=workers,
            persistent_workers=workers > 0,
            collate_fn=_Collate(collate or default_collate),
            pin_memory=pin_memory,
            generator=torch.Generator(),  # no item uses it; without it torch's own stream would move
        )

    @property
    def devices(self) -> tuple[torch.device, torch.device]:
        return torch.device("cpu"), torch.device("cpu")

    def minibatches(self, source: Tensor, target: Tensor, first: int) -> Iterator[Triple]:
        pairs = zip(source.tolist(), target.tolist(), strict=True)
        self._order.rows = [
            [_Key(SOURCE, i, number, h) for h, i in enumerate(mine)]
            + [_Key(TARGET, j, number, len(mine) + h) for h, j in enumerate(its)]
            for number, (mine, its) in enumerate(pairs, first)
        ]
        yield from self._loader

    def everything(self, domain: int, size: int) -> Iterator[Tensor]:
        n = self._sizes[domain]
        self._order.rows = [
            [_Key(2 + domain, i, -1, i) for i in range(start, min(start + size, n))] for start in range(0, n, size)
        ]
        yield from self._loader


class _Key(NamedTuple):
    """Which item is wanted, and what its stream of random numbers is called."""

    which: int  # a data set of Sets
    row: int
    number: int  # of the minibatch; -1: for planning
    place: int


class _Order:
    """The batch sampler of a ``DataLoader`` that lives on while what is asked for changes."""

    def __init__(self) -> None:
        self.rows: list[list[_Key]] = []

    def __iter__(self) -> Iterator[list[_Key]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


class _Items(Dataset[tuple[int, Any, Any]]):
    """All data sets as one. What a target's item holds besides x is dropped here, labels first of all."""

    def __init__(self, sets: Sets, seed: int) -> None:
        self.sets, self.seed = sets, seed

    def __getitem__(self, key: _Key) -> tuple[int, Any, Any]:
        with seeds.torch_stream(self.seed, "item", key.number, key.place):
            item = self.sets[key.which][key.row]
        return key.which, x_of(item), item[1] if key.which == SOURCE else None


class _Collate:
    """Items of one or two domains become tensors."""

    def __init__(self, collate: Collate) -> None:
        self.collate = collate

    def __call__(self, items: list[tuple[int, Any, Any]]) -> Any:
        mine = [item for item in items if item[0] == SOURCE]
        if not mine and items[0][0] != TARGET:
            return self.collate([x for _, x, _ in items])
        labels = torch.tensor([int(y) for _, _, y in mine], dtype=torch.int64)
        return self.collate([x for _, x, _ in mine]), labels, self.collate([x for w, x, _ in items if w == TARGET])


def x_of(item: Any) -> Any:
    """x of an item x or (x, …)."""
    return item[0] if isinstance(item, (tuple, list)) else item


def check_sets(sets: Sets, collate: Collate | None) -> None:
    """One error for all that is wrong with the data sets, as far as their lengths and first items tell."""
    faults = []
    for name, dataset in sets._asdict().items():
        if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
            faults.append(f"{name} must be map-style, with len() and [i], not {type(dataset).__name__}")
        elif len(dataset) == 0:
            faults.append(f"{name} is empty")
        else:
            faults += _first_item_faults(name, dataset, collate or default_collate)
    if not faults:
        faults = [
            f"planning_{name} must hold the examples of {name}, {len(own)} of them, not {len(other)}"
            for name, own, other in (("source", sets.source, sets[2]), ("target", sets.target, sets[3]))
            if len(own) != len(other)
        ]
    if faults:
        raise InputError("the data sets cannot be used: " + "; ".join(faults))


def _first_item_faults(name: str, dataset: Any, collate: Collate) -> list[str]:
    with seeds.torch_stream(0, "first item"):
        item = dataset[0]
    faults = []
    if name == "source":
        faults = _label_faults(item)
    try:
        x = collate([x_of(item)])
    except (TypeError, RuntimeError) as error:
        return [*faults, f"{name}[0] cannot be made a batch ({error}): return tensors, or pass collate"]
    if not isinstance(x, Tensor):
        faults.append(
            f"the x of {name}[0] must become a tensor, not {type(x).__name__}: return (x, …), or pass collate"
        )
    return faults


def _label_faults(item: Any) -> list[str]:
    if not isinstance(item, (tuple, list)) or len(item) < 2:
        return [f"source items must be (x, y), with a label; source[0] is {type(item).__name__} without one"]
    try:
        whole = float(item[1]) == int(item[1])
    except (TypeError, ValueError):
        whole = False
    return [] if whole else [f"labels must be whole numbers, source[0] has {item[1]!r}"]
