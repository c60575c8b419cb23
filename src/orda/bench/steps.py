"""Training with every sampler: steps a second, re-planning and the features for it included."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

import orda
from orda.algorithms import algorithm_type, make_settings
from orda.bench.clock import timed, wait
from orda.bench.data import CLASSES, images
from orda.errors import KernelWarning
from orda.models import build_model

Row = dict[str, Any]
SAMPLERS: dict[str, Callable[[orda.Discrepancy], orda.Sampler]] = {
    "uniform": lambda _: orda.Uniform(),
    "k-means++": lambda _: orda.KMeansPlusPlus(),
    "k-DPP": lambda _: orda.DPP(),
    "anticlustering": lambda _: orda.Anticlustering(),
    "stratified": lambda loss: orda.Stratified(loss),
    "ordered, greedy": lambda loss: orda.Ordered(loss, optimiser="greedy"),
    "ordered, assignment": lambda loss: orda.Ordered(loss),
}


@dataclass(frozen=True, slots=True)
class Training:
    """What is trained: a network on random images of one size."""

    model: str
    size: int  # of an image's side
    n: int  # images of a domain
    horizon: int
    blocks: int  # of ``horizon`` steps that are timed, each with a plan of its own
    algorithm: str = "mmd"


def training(device: torch.device, what: Training, sizes: tuple[int, ...], samplers: tuple[str, ...]) -> Iterator[Row]:
    """One row a k and sampler; the ratio is to uniform sampling's seconds at the same k."""
    source, target = (images(name, what.n, what.size, device) for name in ("source", "target"))
    for k in sizes:
        uniform = None
        for name in samplers:
            seconds = train(device, what, source, target, k, name)
            uniform = seconds if name == "uniform" else uniform
            steps = what.horizon * what.blocks
            ratio = None if uniform is None else seconds / uniform
            yield {"k": k, "sampler": name, "steps/s": steps / seconds, "over uniform": ratio}


def train(device: torch.device, what: Training, source: Any, target: Any, k: int, name: str) -> float:
    """Seconds of ``blocks`` blocks, after one that is not counted."""
    settings = {"gammas": "median"} if what.algorithm == "mmd" else {}
    amp = torch.bfloat16 if device.type == "cuda" else None
    model = build_model(what.model, CLASSES, weights="random", seed=0).to(device)
    learner = algorithm_type(what.algorithm)(model, make_settings(what.algorithm, **settings), seed=0, amp=amp)
    learner.to(device)
    assert learner.discrepancy is not None
    loader = orda.AdaptationLoader(
        source,
        target,
        sampler=SAMPLERS[name](learner.discrepancy),
        batch_size=k,
        horizon=what.horizon,
        featurizer=learner.features,
        device=device,
        feature_batch=512 if device.type == "cuda" else 64,
        on_plan=lambda _, features: learner.resolve(loader.sizes, features),
    )
    if learner.wants_features:
        learner.resolve(loader.sizes, loader.extract())
    batches = iter(loader)

    def steps(count: int) -> None:
        for step, batch in enumerate(itertools.islice(batches, count)):
            learner.update(batch, step)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KernelWarning)  # random weights: the features need not make sense
        steps(what.horizon)
        wait(device)
        seconds, _ = timed(lambda: steps(what.horizon * what.blocks), device)
    return seconds
