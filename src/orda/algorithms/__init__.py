"""Algorithms: a minibatch in, one training step done, its losses out. One file per method."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import torch

from orda.algorithms.align import AlignCORAL, AlignMMD, CORALSettings, MMDSettings
from orda.algorithms.arm import ARM, ARMSettings
from orda.algorithms.base import ADAM_SPACE, RUN_SPACE, Algorithm, Losses, task_loss
from orda.algorithms.cdan import CDAN, CDANSettings
from orda.algorithms.dann import DANN, DANNSettings
from orda.algorithms.els import ELS, ELSSettings
from orda.algorithms.erm import ERM
from orda.algorithms.mcc import MCC, MCCSettings
from orda.algorithms.sdat import SDAT, SDATSettings
from orda.algorithms.settings import Settings
from orda.algorithms.space import draw_values
from orda.errors import SettingError, UnknownName
from orda.models import Model

ALGORITHMS: dict[str, type[Algorithm]] = {
    "erm": ERM,
    "coral": AlignCORAL,
    "mmd": AlignMMD,
    "dann": DANN,
    "cdan": CDAN,
    "cdan-sdat": SDAT,
    "cdan-els": ELS,
    "arm": ARM,
    "mcc": MCC,
}


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


def draw_settings(name: str, seed: int, number: int, **fixed: Any) -> Settings:
    """Draw ``number`` of the random search ``seed`` for algorithm ``name``; draw 0 is the defaults.

    What is ``fixed`` is not drawn, and moves no other draw.
    """
    asked = make_settings(name, **fixed)
    space = algorithm_type(name).search_space(asked)
    drawn: dict[str, Any] = draw_values({key: space[key] for key in space if key not in fixed}, seed, number)
    return replace(asked, **drawn)


def build_algorithm(
    name: str, model: Model, *, seed: int, amp: torch.dtype | None = None, **settings: Any
) -> Algorithm:
    """The algorithm ``name`` over ``model``, with settings by name."""
    return algorithm_type(name)(model, make_settings(name, **settings), seed=seed, amp=amp)


__all__ = [
    "ADAM_SPACE",
    "ALGORITHMS",
    "ARM",
    "CDAN",
    "DANN",
    "ELS",
    "ERM",
    "MCC",
    "RUN_SPACE",
    "SDAT",
    "ARMSettings",
    "Algorithm",
    "AlignCORAL",
    "AlignMMD",
    "CDANSettings",
    "CORALSettings",
    "DANNSettings",
    "ELSSettings",
    "Losses",
    "MCCSettings",
    "MMDSettings",
    "SDATSettings",
    "Settings",
    "algorithm_type",
    "build_algorithm",
    "draw_settings",
    "draw_values",
    "make_settings",
    "task_loss",
]
