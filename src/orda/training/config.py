"""What a training run is: one frozen record, and the same as YAML.

    data       which images, from which domains to which, and how they are split
    model      featuriser and head
    algorithm  the method and its settings (learning rate, λ, …)
    sampler    which examples meet in a minibatch, and its settings
    …          k, M, steps, evaluation, precision, seed
    machine    where and how it runs; no part of what the run *is*

``None`` means "the default for these data" (presets.py); ``resolved()`` puts it in. ``digest()`` is the hash of the
resolved configuration without the machine and without paths: two runs with one digest are the same experiment.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from orda.training import presets, schema
from orda.training.checks import config_faults

UNDEFINING = ("machine", "data.root", "data.cache_dir")
"""Keys, or groups of them, that do not change what a run is."""


@dataclass(frozen=True)
class DataConfig:
    """Which images. ``sources`` without a ``target`` is the name of a task ("o2o_easy", "Art->Clipart")."""

    name: str = "digits"
    root: str | None = None
    sources: tuple[str, ...] = ()
    target: str | None = None
    size: int | None = None
    resize: Literal["squash", "crop"] = "squash"
    holdout: float = 0.2  # of every source, for validation
    target_fraction: float = 0.5  # of the target, which training may see without labels
    split_by: Literal["example", "name"] | None = None  # None: what is honest for the data set
    stratified: bool = False  # the same shares in every class
    split_seed: int | None = None  # None: the run's seed
    augmentation: str | None = None  # None: the data set's own
    augment_target: bool = True
    complete: bool = True
    skip_damaged: bool = False
    cache_dir: str | None = None


@dataclass(frozen=True)
class ModelConfig:
    """Featuriser and head. ``weights``: "imagenet", "random", or a file."""

    name: str | None = None
    weights: str | None = None
    preset: Literal["domainbed-2020", "domainbed-2024"] = "domainbed-2020"  # batch normalisation frozen, or learning
    freeze_bn: bool | None = None  # None: as the preset says
    dropout: float = 0.0


@dataclass(frozen=True)
class AlgorithmConfig:
    """The method and its settings by name (``orda.algorithms``)."""

    name: str = "coral"
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SamplerConfig:
    """The sampler and its settings by name (``orda.samplers``); ``None``: ordered where a discrepancy is minimised,
    else uniform. It plans for the discrepancy that the algorithm minimises."""

    name: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class MachineConfig:
    """Where and how a run is done. Nothing here changes what it is."""

    device: str = "auto"
    deterministic: bool = True  # only algorithms that give the same bits every time
    channels_last: bool | None = None  # None: on CUDA
    compile: bool = False  # the model, by torch.compile
    resident: bool | None = None  # images in the device's memory; None: on CUDA, where they fit
    feature_batch: int | None = None  # images at once in extraction and evaluation; None: 512 on CUDA, 64 elsewhere
    checkpoint_every: int | None = None  # steps; None: at every evaluation; 0: never
    keep: Literal["model", "all", "nothing"] = "model"  # of the checkpoint once the run is finished
    assess: bool = False  # D0, bias and variance of every plan, also where the sampler has no need of them
    tensorboard: bool = False


@dataclass(frozen=True)
class TrainConfig:
    """One training run."""

    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    algorithm: AlgorithmConfig = field(default_factory=AlgorithmConfig)
    sampler: SamplerConfig = field(default_factory=SamplerConfig)
    batch_size: int | None = None  # k: examples of each domain in a minibatch
    horizon: int | None = None  # M: minibatches planned at once
    overlap: bool = False  # plans from features one block old: on a GPU they are made while training goes on
    steps: int | None = None
    eval_every: int | None = None
    select: Literal["first", "last"] | None = None  # among evaluations of equal source validation accuracy
    precision: Literal["auto", "float32", "bfloat16"] = "auto"  # of the networks; auto: bfloat16 on CUDA
    seed: int = 0
    machine: MachineConfig = field(default_factory=MachineConfig)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From nested plain values; an unknown key or a wrong type is a ``ConfigError`` that lists all faults."""
        return schema.build(cls, values)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """From a YAML file."""
        return schema.build(cls, schema.read_yaml(path), str(path))

    def to_dict(self) -> dict[str, Any]:
        """As nested plain values."""
        return schema.plain(self)

    def to_yaml(self) -> str:
        return schema.write_yaml(self.to_dict())

    def updated(self, changes: Mapping[str, Any]) -> Self:
        """With other values at dotted names: ``config.updated({"data.target": "Clipart", "seed": 1})``.

        Another algorithm or sampler starts from its own defaults, not from the settings of the last one.
        """
        values, asked = self.to_dict(), schema.nested(changes)
        for part in ("algorithm", "sampler"):
            name = asked.get(part, {}).get("name")
            if name is not None and name != values[part]["name"]:
                values[part]["settings"] = {}
        return self.from_dict(schema.merged(values, asked))

    def faults(self) -> list[str]:
        """All that is wrong with the values, whatever their types."""
        return config_faults(self)

    def resolved(self) -> Self:
        """Checked, and with the defaults of these data in place of every ``None`` that has one."""
        checked = self.from_dict(self.to_dict())
        return self.from_dict(presets.fill(checked.to_dict()))

    def digest(self) -> str:
        """12 hexadecimal digits: what the run is, whatever the machine."""
        return digest_of(self.defining())

    def defining(self) -> dict[str, Any]:
        """The resolved values that define the run, by dotted names."""
        values = schema.flat(self.resolved().to_dict())
        return {key: value for key, value in values.items() if not _undefining(key)}

    def differences(self, other: TrainConfig) -> list[str]:
        """The defining keys in which the two differ: "seed: 0, not 1"."""
        mine, its = self.defining(), other.defining()
        keys = [*mine, *(key for key in its if key not in mine)]
        return [f"{key}: {mine.get(key)!r}, not {its.get(key)!r}" for key in keys if mine.get(key) != its.get(key)]


def digest_of(defining: Mapping[str, Any]) -> str:
    """The digest of a run, from the values that define it by dotted names."""
    text = json.dumps(defining, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _undefining(key: str) -> bool:
    return any(key == name or key.startswith(name + ".") for name in UNDEFINING)
