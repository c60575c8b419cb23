"""Features for planning (design: D9): in evaluation mode, without gradient, in full precision; the network is left as
it was."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from orda.errors import FeatureError

Featurizer = Callable[[Tensor], Tensor]


def extract_features(featurizer: Featurizer, batches: Iterable[Tensor], count: int) -> Tensor:
    """z = f(x) for ``count`` examples that come in batches of x: (count, d), at least float32.

    The modules behind ``featurizer`` are in evaluation mode meanwhile, and each is put back as it was.
    """
    z: Tensor | None = None
    done = 0
    with torch.inference_mode(False), torch.no_grad(), evaluating(modules_behind(featurizer)):
        for x in batches:
            part = _checked(featurizer(x), len(x))
            if z is None:
                z = part.new_empty((count, part.shape[1]))
            z[done : done + len(part)] = part
            done += len(part)
    assert z is not None
    assert done == count
    return z


def modules_behind(featurizer: Featurizer) -> list[nn.Module]:
    """The modules that a call of ``featurizer`` runs: itself, the object whose method it is, or what a function or a
    lambda refers to by name."""
    if isinstance(featurizer, nn.Module):
        return [featurizer]
    if isinstance(featurizer, functools.partial):
        inside = [featurizer.func, *featurizer.args, *featurizer.keywords.values()]
        return [module for part in inside if callable(part) for module in modules_behind(part)]
    owner = getattr(featurizer, "__self__", None)
    if owner is not None and not inspect.ismodule(owner):
        return _modules_of(owner)
    if inspect.isfunction(featurizer):
        names = inspect.getclosurevars(featurizer)
        return [m for value in (*names.nonlocals.values(), *names.globals.values()) for m in _modules_of(value)]
    return _modules_of(featurizer)


@contextmanager
def evaluating(modules: Iterable[nn.Module]) -> Iterator[None]:
    """Inside, all the modules are in evaluation mode; afterwards each is in the mode that it had."""
    modes = {part: part.training for module in modules for part in module.modules()}
    try:
        for part in modes:
            part.training = False
        yield
    finally:
        for part, mode in modes.items():
            part.training = mode


def _modules_of(owner: Any) -> list[nn.Module]:
    """The object, if it is a module, or the modules among its attributes."""
    if isinstance(owner, nn.Module):
        return [owner]
    if inspect.ismodule(owner) or isinstance(owner, type):
        return []
    return [value for value in getattr(owner, "__dict__", {}).values() if isinstance(value, nn.Module)]


def _checked(z: Any, count: int) -> Tensor:
    if not isinstance(z, Tensor) or z.ndim != 2 or len(z) != count or not z.is_floating_point():
        got = f"{tuple(z.shape)} {z.dtype}" if isinstance(z, Tensor) else type(z).__name__
        raise FeatureError(
            f"the featuriser must give floating-point features ({count}, d) for {count} examples",
            got,
            "Flatten what it returns for each example, e.g. lambda x: net(x).flatten(1)",
        )
    return z.to(torch.promote_types(z.dtype, torch.float32))
