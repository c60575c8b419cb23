"""A make-believe GPU: what a program asks of the device, on a machine that has none.

A ``Card`` tensor says that it is on ``cuda:0``. Its values are in host memory, where its operations are computed, so
that a step on it gives the CPU's numbers, gradients included. But only a copy brings values to it or from it: where an
operation mixes host and device it raises, as a GPU would, and the ``Ledger`` keeps what the host would have waited for.

    with card() as ledger:
        step(x.to(CARD))
    assert not ledger.waits and all(copy.asynchronous for copy in ledger.copies)

(torch's own ``FakeTensorMode`` has no backward pass for "cuda" in a build without CUDA.)
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map

from orda import devices
from orda.seeds import torch_generator, torch_stream

CARD = torch.device("cuda:0")
CPU = torch.device("cpu")
aten = torch.ops.aten

WAITING = {  # operations whose result, or its shape, the host must know
    aten._local_scalar_dense.default,
    aten.nonzero.default,
    aten.masked_select.default,
    aten.equal.default,
    aten.bincount.default,
    aten.repeat_interleave.Tensor,
    aten._unique2.default,
    aten.unique_dim.default,
    aten.unique_consecutive.default,
}
FROM_HOST = (torch.tensor, torch.as_tensor, torch.asarray)  # with device=…, they copy what they are given and wait


@dataclass(frozen=True)
class Copy:
    """One transfer between host and device."""

    to_card: bool
    bytes: int
    asynchronous: bool  # non_blocking=True was said
    pinned: bool  # and the host's memory is such that it can be


@dataclass
class Ledger:
    """What the host asked of the card."""

    copies: list[Copy] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)  # the operations that the host waited for
    launched: list[str] = field(default_factory=list)  # operations on the card, but for views

    def clear(self) -> None:
        self.copies.clear()
        self.waits.clear()
        self.launched.clear()

    @property
    def held_up(self) -> list[Any]:
        """Everything at which the host would have waited for the device."""
        return [*self.waits, *(copy for copy in self.copies if not copy.asynchronous)]


class Card(Tensor):
    """A tensor on the card."""

    ledger: ClassVar[Ledger] = Ledger()
    inside: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, inside: Tensor) -> Card:
        made: Card = Tensor._make_wrapper_subclass(
            cls,
            inside.shape,
            strides=inside.stride(),
            storage_offset=inside.storage_offset(),
            dtype=inside.dtype,
            device=CPU,  # autograd asks the device itself for its streams: there is none
        )
        return made

    def __init__(self, inside: Tensor) -> None:
        self.inside = inside

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Card({tuple(self.shape)}, {self.dtype})"

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        _check_places(func, args, kwargs)
        if func in WAITING or _looks_for_true(func, args):
            cls.ledger.waits.append(str(func))
        if not func.is_view:
            cls.ledger.launched.append(str(func))
        found = func(*tree_map(_inside, args), **tree_map(_inside, kwargs))
        found = tree_map(lambda x: Card(x) if isinstance(x, Tensor) else x, found)
        return return_and_correct_aliasing(func, args, kwargs, found)


def _inside(x: Any) -> Any:
    return x.inside if isinstance(x, Card) else x


def _check_places(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """All operands are on the card; numbers may come along from the host, and so, at a price, may indices."""
    stray = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor) and not isinstance(x, Card) and x.ndim]
    if not stray:
        return
    if func in (aten.index.Tensor, aten.index_put_.default, aten.index_put.default) and isinstance(args[0], Card):
        Card.ledger.copies.extend(Copy(True, x.nbytes, False, False) for x in stray)
    elif func is aten.copy_.default:
        source, asynchronous = args[1], len(args) > 2 and bool(args[2])
        Card.ledger.copies.append(Copy(isinstance(args[0], Card), source.nbytes, asynchronous, is_pinned(source)))
    else:
        raise RuntimeError(f"{func}: all tensors must be on one device, got {[tuple(x.shape) for x in stray]} on cpu")


def _looks_for_true(func: Any, args: tuple[Any, ...]) -> bool:
    """Whether it is an index by a mask, of which the host must know how many it takes."""
    if func not in (aten.index.Tensor, aten.index_put_.default, aten.index_put.default):
        return False
    masks = [x for x in args[1] if isinstance(x, Tensor) and x.dtype == torch.bool]
    return bool(masks) and (func is aten.index.Tensor or args[2].numel() > 1)


class _ToCard(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return Card(x.detach().clone())

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Tensor:
        found: Tensor = gradients[0].inside
        return found


class _ToHost(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Tensor:
        found: Tensor = x.inside.clone()
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return Card(gradients[0])


def is_pinned(x: Tensor) -> bool:
    return getattr(x, "pinned", False)


def _pinned(x: Tensor) -> Tensor:
    found = x.clone()
    found.pinned = True  # type: ignore[attr-defined]
    return found


class _Host(TorchFunctionMode):
    """What Python calls: devices are named here, and here tensors go from one to the other."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func == Tensor.to:
            return _moved(*args, **kwargs)
        if func == Tensor.pin_memory:
            return _pinned(*args)
        if func in OF_CARDS and isinstance(args[0], Card):
            return OF_CARDS[func](*args, **kwargs)
        if not _names_card(kwargs.get("device")):
            return func(*args, **kwargs)
        if func in FROM_HOST and not isinstance(args[0], Card):
            device = kwargs.pop("device")
            return _moved(func(*args, **kwargs), device)
        found = func(*args, **(kwargs | {"device": CPU}))
        return found if isinstance(found, Card) else Card(found)


class _Autograd(TorchDispatchMode):
    """What the backward pass makes for itself, it makes on the card."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        found = func(*args, **(kwargs or {}))
        from_nothing = not any(isinstance(x, Tensor) for x in tree_leaves((args, kwargs)))
        if from_nothing and torch._C._current_autograd_node() is not None:
            return tree_map(lambda x: Card(x) if isinstance(x, Tensor) else x, found)
        return found


def _no_array(x: Tensor) -> Any:
    raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first")


OF_CARDS: dict[Any, Callable[..., Any]] = {
    Tensor.device.__get__: lambda x: CARD,  # type: ignore[attr-defined]
    Tensor.is_cuda.__get__: lambda x: True,  # type: ignore[attr-defined]
    Tensor.cpu: lambda x: _moved(x, CPU),
    Tensor.tolist: lambda x: _moved(x, CPU).tolist(),
    Tensor.numpy: _no_array,
}


def _moved(
    x: Tensor,
    *given: Any,
    device: Any = None,
    dtype: torch.dtype | None = None,
    non_blocking: bool = False,
    **layout: Any,
) -> Tensor:
    """``Tensor.to`` in all its forms."""
    for one in given:
        if isinstance(one, Tensor):
            device, dtype = CARD if isinstance(one, Card) else CPU, one.dtype
        elif isinstance(one, torch.dtype):
            dtype = one
        elif isinstance(one, bool):
            non_blocking = one
        elif one is not None:
            device = one
    if layout or dtype not in (None, x.dtype):
        x = x.to(dtype=dtype or x.dtype, **layout)
    here = isinstance(x, Card)
    if device is None or _names_card(device) == here:
        return x
    Card.ledger.copies.append(Copy(not here, x.nbytes, non_blocking, is_pinned(x)))
    found: Tensor = (_ToHost if here else _ToCard).apply(x)  # type: ignore[no-untyped-call]
    return found


def _names_card(device: Any) -> bool:
    return isinstance(device, (str, torch.device)) and torch.device(device).type == CARD.type


class Stream:
    """The one stream of the card."""

    def synchronize(self) -> None:
        Card.ledger.waits.append("synchronize")


@contextlib.contextmanager
def card() -> Iterator[Ledger]:
    """Inside, there is a make-believe GPU."""
    torch_autocast, swap = torch.autocast, torch.__future__.get_swap_module_params_on_conversion()
    Card.ledger = Ledger()
    with pytest.MonkeyPatch.context() as patch, _Host(), _Autograd():
        patch.setattr(torch, "autocast", lambda _, **settings: torch_autocast("cpu", **settings))
        patch.setattr("orda.seeds.torch_stream", lambda *names, **_: torch_stream(*names))
        patch.setattr("orda.seeds.torch_generator", lambda *names, **_: torch_generator(*names))
        patch.setattr(torch.cuda, "is_available", lambda: True)
        patch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
        patch.setattr(torch.cuda, "synchronize", lambda *_: Card.ledger.waits.append("synchronize"))
        patch.setattr(torch.cuda, "current_stream", lambda *_: Stream())
        torch.__future__.set_swap_module_params_on_conversion(True)  # Module.to keeps its Parameters, as on CUDA
        devices.constant.cache_clear()
        try:
            yield Card.ledger
        finally:
            torch.__future__.set_swap_module_params_on_conversion(swap)
            devices.constant.cache_clear()
