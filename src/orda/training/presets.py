"""What ``None`` means in a configuration: defaults by data set, and DomainBed's two eras (design: D12)."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from orda.algorithms import algorithm_type, make_settings
from orda.models import ARCHITECTURES
from orda.samplers import SAMPLERS
from orda.training import schema

COMMON: dict[str, Any] = {
    "model": {"name": "resnet18"},
    "batch_size": 32,
    "horizon": 100,
    "steps": 3000,
    "eval_every": 300,
    "select": "first",  # DomainBed's rule
}
BY_DATA: Mapping[str, dict[str, Any]] = {
    "digits": {
        "data": {"sources": ["rendered"], "target": "handwritten"},
        "model": {"name": "small-cnn"},
        "horizon": 25,  # 32 strata of so many are what 898 handwritten digits give
        "steps": 600,
        "eval_every": 50,
        "select": "last",
    },
    "spawrious": {"eval_every": 100},  # DomainBed's
}
SETTINGS: Mapping[str, Mapping[str, dict[str, Any]]] = {
    # λ: of 1, 10, …, 10⁴ the one with the best source validation under uniform minibatches; under ordered ones those
    # from 1 to 1,000 are alike (benchmarks/digits.py penalties)
    "digits": {"": {"lr": 1e-3}, "coral": {"scale": "mean", "penalty": 100.0}},
}
"""Settings of algorithms by data set; "" is any algorithm. Those of one algorithm are taken whole or not at all."""


def fill(values: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration ``values`` with the defaults of its data set where it has ``None``."""
    data, algorithm = values["data"]["name"], values["algorithm"]["name"]
    defaults = schema.merged(COMMON, BY_DATA.get(data, {}))
    if values["data"]["sources"] or values["data"]["target"]:
        defaults = {**defaults, "data": {}}  # a task is taken whole or not at all
    filled = _under(defaults, values)
    filled["model"] |= _model(filled["model"])
    filled["algorithm"] = {"name": algorithm, "settings": _algorithm_settings(data, values["algorithm"])}
    filled["sampler"] = _sampler(values["sampler"], algorithm)
    return filled


def _under(defaults: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """``values``, with the default wherever it is ``None`` or an empty list."""
    filled = dict(values)
    for key, default in defaults.items():
        if isinstance(default, Mapping):
            filled[key] = _under(default, values[key])
        elif values[key] is None or values[key] == []:
            filled[key] = default
    return filled


def _model(model: Mapping[str, Any]) -> dict[str, Any]:
    """ImageNet weights where there are any; batch normalisation frozen in the era of 2020, if weights are loaded."""
    weights = model["weights"]
    if weights is None:
        weights = "random" if ARCHITECTURES[model["name"]].imagenet is None else "imagenet"
    frozen = model["freeze_bn"]
    if frozen is None:
        frozen = model["preset"] == "domainbed-2020" and weights != "random"
    return {"weights": weights, "freeze_bn": frozen}


def _algorithm_settings(data: str, algorithm: Mapping[str, Any]) -> dict[str, Any]:
    name = algorithm["name"]
    known = SETTINGS.get(data, {})
    asked = algorithm["settings"]
    own = known.get(name, {})
    if any(asked.get(key, value) != value for key, value in own.items()):  # λ of one scale means nothing at another
        own = {}
    return asdict(make_settings(name, **{**known.get("", {}), **own, **asked}))


def _sampler(sampler: Mapping[str, Any], algorithm: str) -> dict[str, Any]:
    name = sampler["name"]
    if name is None:
        name = "ordered" if algorithm_type(algorithm).alignment == "discrepancy" else "uniform"
    return {"name": name, "settings": {**sampler_settings(name), **sampler["settings"]}}


def sampler_settings(name: str) -> dict[str, Any]:
    """The settings of a sampler with their defaults; the discrepancy is no setting, it follows the algorithm."""
    parameters = inspect.signature(SAMPLERS[name]).parameters
    return {key: parameter.default for key, parameter in parameters.items() if key != "discrepancy"}
