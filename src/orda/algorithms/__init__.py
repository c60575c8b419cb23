"""Algorithms: a minibatch in, one training step done, its losses out. One file per method."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch

from orda.algorithms.base import ADAM_SPACE, RUN_SPACE, Algorithm, Losses, task_loss
from orda.algorithms.erm import ERM
from orda.algorithms.settings import Settings
from orda.errors import SettingError, UnknownName
from orda.models import Model

ALGORITHMS: dict[str, type[Algorithm]] = {kind.name: kind for kind in (ERM,)}


def algorithm_type(name: str) -> type[Algorithm]:
    """The class of an algorithm by its name."""
    if name not in ALGORITHMS:
        raise UnknownName("algorithm", name, ALGORITHMS)
    return ALGORITHMS[name]


def make_settings(name: str, **values: Any) -> Settings:
    """The settings of algorithm ``name``; what is not given keeps its default."""
    kind = algorithm_type(name).settings_type
    known = [field.name for field in fields(kind)]
    unknown = [UnknownName(f"setting of {name!r}", key, known) for key in values if key not in known]
    if len(unknown) > 1:
        raise SettingError("; ".join(str(error) for error in unknown))
    if unknown:
        raise unknown[0]
    return kind(**values)


def build_algorithm(
    name: str, model: Model, *, steps: int, seed: int, amp: torch.dtype | None = None, **settings: Any
) -> Algorithm:
    """The algorithm ``name`` over ``model``, with settings by name."""
    return algorithm_type(name)(model, make_settings(name, **settings), steps=steps, seed=seed, amp=amp)


__all__ = [
    "ADAM_SPACE",
    "ALGORITHMS",
    "ERM",
    "RUN_SPACE",
    "Algorithm",
    "Losses",
    "Settings",
    "algorithm_type",
    "build_algorithm",
    "make_settings",
    "task_loss",
]
