"""``key=value`` from a command line: any key of a configuration, by its last name or in full."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from orda.errors import ConfigError
from orda.training import schema
from orda.training.config import TrainConfig


def parse_settings(settings: Sequence[str], config: TrainConfig) -> dict[str, Any]:
    """Values by dotted names, ready for ``config.updated``; values are YAML ("1e-3", "true", "[Art, Real]").

    >>> parse_settings(["scale=sum", "data.holdout=0.1"], TrainConfig())
    {'algorithm.settings.scale': 'sum', 'data.holdout': 0.1}
    """
    return parse_among(settings, list(schema.flat(config.resolved().to_dict())), "Keys: orda train --print-config")


def parse_among(settings: Sequence[str], known: Collection[str], remedy: str) -> dict[str, Any]:
    """The same with the dotted names that are ``known``."""
    found, faults = {}, []
    for setting in settings:
        key, sign, text = setting.partition("=")
        names = [name for name in known if name == key or name.endswith("." + key)]
        if not sign:
            faults.append(f"{setting!r} is not KEY=VALUE")
        elif key in names or len(names) == 1:
            found[key if key in names else names[0]] = schema.parse_yaml(text, f"--set {setting}")
        elif names:
            faults.append(f"{key!r} may be {' or '.join(names)}")
        else:
            short = {name.rpartition(".")[2] for name in known}
            faults.append(f"unknown key {key!r}{schema.did_you_mean(key, known if '.' in key else short)}")
    if faults:
        raise ConfigError("settings cannot be used", "; ".join(faults), remedy)
    return found
