"""What can be wrong with the values of a configuration, all of it at once."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from orda.algorithms import ALGORITHMS, make_settings
from orda.data import AUGMENTATIONS
from orda.data.registry import DATASETS
from orda.errors import InputError, SettingError
from orda.models import ARCHITECTURES
from orda.samplers import SAMPLERS, make_sampler
from orda.training import presets
from orda.training.schema import did_you_mean

if TYPE_CHECKING:
    from orda.training.config import TrainConfig


def config_faults(config: TrainConfig) -> list[str]:
    """Names that are not known, numbers outside their range, settings that do not belong."""
    return [*_unknown_names(config), *_ranges(config), *_algorithm(config), *_sampler(config), *_combinations(config)]


def _unknown_names(config: TrainConfig) -> list[str]:
    checked: list[tuple[str, str | None, Collection[str]]] = [
        ("data.name", config.data.name, DATASETS),
        ("data.augmentation", config.data.augmentation, AUGMENTATIONS),
        ("model.name", config.model.name, ARCHITECTURES),
        ("algorithm.name", config.algorithm.name, ALGORITHMS),
        ("sampler.name", config.sampler.name, SAMPLERS),
    ]
    return [
        f"{key} {value!r} is unknown{did_you_mean(value, known)}"
        for key, value, known in checked
        if value is not None and value not in known
    ]


def _ranges(config: TrainConfig) -> list[str]:
    data, machine = config.data, config.machine
    checked: list[tuple[str, Any, Callable[[Any], bool], str]] = [
        ("batch_size", config.batch_size, lambda v: v >= 1, "at least 1"),
        ("horizon", config.horizon, lambda v: v >= 1, "at least 1"),
        ("steps", config.steps, lambda v: v >= 1, "at least 1"),
        ("eval_every", config.eval_every, lambda v: v >= 1, "at least 1"),
        ("data.size", data.size, lambda v: v >= 1, "at least 1"),
        ("data.holdout", data.holdout, lambda v: 0 < v < 1, "above 0 and below 1: selection needs validation"),
        ("data.target_fraction", data.target_fraction, lambda v: 0 < v < 1, "above 0 and below 1"),
        ("model.dropout", config.model.dropout, lambda v: 0 <= v < 1, "at least 0 and below 1"),
        ("machine.feature_batch", machine.feature_batch, lambda v: v >= 1, "at least 1"),
        ("machine.checkpoint_every", machine.checkpoint_every, lambda v: v >= 0, "at least 0 (0: never)"),
    ]
    return [
        f"{key} must be {words}, not {value}"
        for key, value, holds, words in checked
        if value is not None and not holds(value)
    ]


def _algorithm(config: TrainConfig) -> list[str]:
    if config.algorithm.name not in ALGORITHMS:
        return []
    try:
        make_settings(config.algorithm.name, **config.algorithm.settings)
    except InputError as error:
        ranges = type(error) is SettingError and error.got is not None  # its rule and its remedy are those of the whole
        return [f"algorithm.settings: {error.got if ranges else error}"]
    return []


def _sampler(config: TrainConfig) -> list[str]:
    name, settings = config.sampler.name, config.sampler.settings
    if name is None or name not in SAMPLERS:
        return [] if name is not None or not settings else ["sampler.settings need sampler.name"]
    known = presets.sampler_settings(name)
    unknown = [key for key in settings if key not in known]
    if unknown:
        return [f"unknown key 'sampler.settings.{key}' of {name!r}{did_you_mean(key, known)}" for key in unknown]
    try:
        make_sampler(name, None, **settings)
    except (InputError, TypeError) as error:
        return [f"sampler.settings: {error}"]
    return []


def _combinations(config: TrainConfig) -> list[str]:
    faults = []
    if config.data.name != "digits" and config.data.name in DATASETS and not config.data.sources:
        faults.append(f"data.sources (--source) must name what {config.data.name} is to learn from")
    if config.data.target is not None and not config.data.sources:
        faults.append("data.target (--target) needs data.sources (--source)")
    batch, smallest = config.batch_size, 1
    if config.algorithm.name in ALGORITHMS:
        smallest = ALGORITHMS[config.algorithm.name].smallest_batch
    if batch is not None and 1 <= batch < smallest:
        faults.append(f"batch_size must be at least {smallest} for {config.algorithm.name}, not {batch}")
    return faults
