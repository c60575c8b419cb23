"""A configuration becomes the parts of a run: data, model, algorithm, sampler, loader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from orda.algorithms import Algorithm, algorithm_type, make_settings
from orda.data import DataSet, Normalisation, SplitDomains, Splits, Task, open_data, split
from orda.data.augment import Images
from orda.data.registry import find_task
from orda.devices import pick_channels_last, pick_feature_batch, pick_precision
from orda.loader import AdaptationLoader
from orda.models import Model, build_model
from orda.samplers import make_sampler
from orda.training.checkpoint import data_sha256
from orda.training.clock import Clock
from orda.training.config import TrainConfig

RESIDENT_SHARE = 0.4  # of a GPU's free memory that images may take


@dataclass(frozen=True)
class Parts:
    """What a run works with. ``algorithm`` and ``loader`` change as it goes on, nothing else does."""

    config: TrainConfig
    device: torch.device
    amp: torch.dtype | None
    data: DataSet
    task: Task
    domains: SplitDomains
    images: Images
    algorithm: Algorithm
    loader: AdaptationLoader

    @property
    def fingerprint(self) -> str:
        """Which examples are in which part."""
        return fingerprint(self.domains)


def fingerprint(domains: SplitDomains) -> str:
    """Which examples are in which part, as a hash."""
    validation = {f"validation {i}": part for i, part in enumerate(domains.validation)}
    return data_sha256({"train": domains.train, "adapt": domains.adapt, "evaluate": domains.evaluate, **validation})


def assemble(config: TrainConfig, device: torch.device, clock: Clock, progress: bool | None) -> Parts:
    """Open and split the data, build model and algorithm, sampler and loader; ``config`` is resolved."""
    with clock.part("decode"):
        task = find_task(config.data.name, config.data.sources, config.data.target, config.data.root)
        data = open_task(config, task, progress)
        splits = split_task(config, data, task)
        domains = splits.domains(*data.of(task))
    amp = pick_precision(config.precision, device)
    domains = _resident(domains, config, device)
    model = make_model(config, data.classes)
    images = make_images(config, model, data, device)
    algorithm = make_algorithm(config, model, amp, device)
    lengths = torch.tensor([len(part) for part in splits.train])
    algorithm.set_source_domains(torch.arange(len(lengths)).repeat_interleave(lengths))  # as join puts them
    if images.channels_last:
        algorithm.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    if config.machine.compile:
        algorithm.model.featurizer.compile()
    return Parts(
        config, device, amp, data, task, domains, images, algorithm, make_loader(config, domains, images, algorithm)
    )


def open_task(config: TrainConfig, task: Task, progress: bool | None) -> DataSet:
    """The domains of the task, decoded where they are not yet."""
    data = config.data
    return open_data(
        data.name,
        data.root,
        task=task,
        size=data.size,
        resize=data.resize,
        cache_dir=data.cache_dir,
        skip_damaged=data.skip_damaged,
        complete=data.complete,
        progress=progress,
    )


def split_task(config: TrainConfig, data: DataSet, task: Task) -> Splits:
    """The parts that train, validate, adapt and are evaluated (design: D11)."""
    return split(
        *data.of(task),
        seed=config.seed if config.data.split_seed is None else config.data.split_seed,
        holdout=config.data.holdout,
        target_fraction=config.data.target_fraction,
        by=config.data.split_by or data.split_by,
        stratified=config.data.stratified,
    )


def make_model(config: TrainConfig, classes: Sequence[str], weights: str | None = None) -> Model:
    """The model of the configuration, from ``weights`` or those it names."""
    assert config.model.name is not None
    return build_model(
        config.model.name,
        len(classes),
        weights=weights or config.model.weights,
        freeze_bn=config.model.freeze_bn if weights is None else False,
        dropout=config.model.dropout,
        seed=config.seed,
    )


def make_algorithm(config: TrainConfig, model: Model, amp: torch.dtype | None, device: torch.device) -> Algorithm:
    """The algorithm over the model, on the device."""
    name = config.algorithm.name
    settings = make_settings(name, **config.algorithm.settings)
    return algorithm_type(name)(model.to(device), settings, seed=config.seed, amp=amp).to(device)


def make_images(config: TrainConfig, model: Model, data: DataSet, device: torch.device) -> Images:
    """How images come to this model: its own normalisation, the data set's augmentation unless another is asked for."""
    return Images(
        device=device,
        normalisation=Normalisation(model.mean, model.std),  # type: ignore[arg-type]
        augmentation=config.data.augmentation or data.augmentation,
        channels_last=pick_channels_last(config.machine.channels_last, device),
    )


def make_loader(config: TrainConfig, domains: SplitDomains, images: Images, algorithm: Algorithm) -> AdaptationLoader:
    """The loader over the labelled source and the unlabelled part of the target."""
    assert config.sampler.name is not None
    assert config.batch_size is not None
    assert config.horizon is not None
    return AdaptationLoader(
        domains.train,
        domains.adapt,
        sampler=make_sampler(config.sampler.name, algorithm.discrepancy, **config.sampler.settings),
        batch_size=config.batch_size,
        horizon=config.horizon,
        featurizer=algorithm.features,
        seed=config.seed,
        transform=images,
        target_transform=images if config.data.augment_target else images.plain,
        device=images.device,
        feature_batch=pick_feature_batch(config.machine.feature_batch, images.device),
        overlap=config.overlap,
    )


def _resident(domains: SplitDomains, config: TrainConfig, device: torch.device) -> SplitDomains:
    """The same parts with their images in the device's memory, if asked for; on a GPU, if they fit."""
    wanted = config.machine.resident
    parts = [domains.train, domains.adapt, domains.evaluate, *domains.validation]
    if wanted is None and device.type == "cuda":
        needed = sum(int(np.prod(part.images.shape)) for part in parts)
        wanted = needed < RESIDENT_SHARE * torch.cuda.mem_get_info(device)[0]
    if not wanted:
        return domains
    return SplitDomains(
        domains.train.on(device),
        tuple(part.on(device) for part in domains.validation),
        domains.adapt.on(device),
        domains.evaluate.on(device),
    )
