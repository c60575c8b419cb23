"""Random search as data: which settings of a row are drawn from what, and the draws themselves.

The spaces are declared beside the algorithms; a protocol may put another distribution in place of one of theirs, add
one for another setting, or say ``null``: not drawn. What the protocol sets for a row is never drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from orda.algorithms import algorithm_type, draw_values, make_settings
from orda.algorithms.space import Choice, Distribution, LogUniform, PowerOfTwo, Space, Uniform
from orda.errors import InputError
from orda.training.schema import did_you_mean

if TYPE_CHECKING:
    from orda.experiments.protocol import Row

RANGES: Mapping[str, type[Uniform] | type[LogUniform] | type[PowerOfTwo]] = {
    "uniform": Uniform,  # U(low, high)
    "log-uniform": LogUniform,  # 10^U(low, high)
    "power-of-two": PowerOfTwo,  # ⌊2^U(low, high)⌋
}
KINDS = (*RANGES, "choice")
RUN_KEYS = {"batch_size": "batch_size", "horizon": "horizon", "dropout": "model.dropout"}
"""Where the drawn values stand in a run's configuration, unless they are settings of the algorithm."""


def parse_distribution(value: Any) -> Distribution | None:
    """``{log-uniform: [-5, -3]}`` or ``{choice: [0, 0.1]}``; ``None`` for what is not one."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return None
    ((kind, arguments),) = value.items()
    if kind == "choice" and isinstance(arguments, list) and arguments:
        return Choice(tuple(arguments))
    if kind in RANGES and isinstance(arguments, list) and len(arguments) == 2 and all(map(_is_number, arguments)):
        low, high = arguments
        return RANGES[kind](low, high) if low < high else None
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def config_key(name: str) -> str:
    """Where the value drawn for ``name`` stands in a run's configuration."""
    return RUN_KEYS.get(name, f"algorithm.settings.{name}")


def row_space(row: Row, changes: Mapping[str, Any]) -> Space:
    """What is drawn for a row: the declared space with the protocol's ``changes``, without what is fixed."""
    kind = algorithm_type(row.config.algorithm.name)
    settings = make_settings(row.config.algorithm.name, **row.config.algorithm.settings)
    space: dict[str, Distribution] = {**kind.run_space, **kind.search_space(settings)}
    for name, value in changes.items():
        distribution = parse_distribution(value)
        if distribution is None:
            space.pop(name, None)
        elif name in (*RUN_KEYS, *_settings_of(row)):
            space[name] = distribution
    return {name: space[name] for name in space if config_key(name) not in row.fixed}


def draw(space: Space, seed: int, number: int) -> dict[str, Any]:
    """Draw ``number`` from a row's space, by the names of a run's configuration; draw 0 changes nothing."""
    return {config_key(name): value for name, value in draw_values(space, seed, number).items()}


def space_faults(changes: Mapping[str, Any], rows: Sequence[Row]) -> list[str]:
    """What is wrong with a protocol's ``search.space``."""
    known = {*RUN_KEYS, *(name for row in rows for name in _settings_of(row))}
    faults = []
    for name, value in changes.items():
        if name not in known:
            faults.append(f"search.space.{name} is a setting of no row{did_you_mean(name, known)}")
        elif value is not None and parse_distribution(value) is None:
            faults.append(
                f"search.space.{name} must be null (not drawn) or one of {{{'|'.join(RANGES)}: [low, high]}}"
                f" and {{choice: [a, b, …]}}, not {value!r}"
            )
    return faults or [fault for row in rows for fault in _draw_faults(row, changes)]


def _draw_faults(row: Row, changes: Mapping[str, Any]) -> list[str]:
    """A draw that the configuration refuses, so that it is told before the sweep and not run by run."""
    values = draw(row_space(row, changes), 0, 1)
    try:
        row.config.updated(values).resolved()
    except (InputError, ValueError) as error:
        return [f"search.space of {row.name}: {getattr(error, 'got', None) or error}"]
    return []


def _settings_of(row: Row) -> set[str]:
    return {field.name for field in fields(algorithm_type(row.config.algorithm.name).settings_type)}
