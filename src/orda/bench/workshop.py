"""What is trained, put together as a run does it: on a GPU in bfloat16, channels last, with resident images that are
augmented there. Nothing of ``orda.training`` is needed for it."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

import orda
from orda.algorithms import Algorithm, algorithm_type, make_settings
from orda.bench.data import CLASSES, images
from orda.data import Normalisation
from orda.data.augment import Images
from orda.devices import deterministic, pick_channels_last, pick_feature_batch, pick_precision
from orda.errors import KernelWarning
from orda.models import build_model
from orda.records import Batch

OVERLAP = ", overlap"  # at the end of a sampler's name: with plans made while training goes on
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
    augmentation: str = "none"
    compile: bool = False  # the featuriser, by torch.compile


def described(what: Training, device: torch.device) -> str:
    """In words."""
    said = [
        f"{what.model}, {what.n:,} random images of {what.size} × {what.size} a domain",
        "not augmented" if what.augmentation == "none" else f"augmented ({what.augmentation})",
        what.algorithm,
        f"M = {what.horizon}, {what.blocks} blocks",
        "float32" if pick_precision("auto", device) is None else "bfloat16",
    ]
    said += ["channels last"] if pick_channels_last(None, device) else []
    said += ["fused Adam, cuDNN's fastest algorithms"] if device.type == "cuda" else []
    return ", ".join([*said, *(["compiled"] if what.compile else [])])


class Workshop:
    """The images and the network of all trainings on one device."""

    def __init__(self, device: torch.device, what: Training) -> None:
        self.device, self.what = device, what
        self.source, self.target = (images(name, what.n, what.size, device) for name in ("source", "target"))
        self.model = build_model(what.model, CLASSES, weights="random", seed=0).to(device)
        self._start = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.channels_last = pick_channels_last(None, device)
        if what.compile:
            self.model.featurizer.compile()  # once: a second network would have to be compiled again
        self.images = Images(
            device,
            Normalisation(self.model.mean, self.model.std),  # type: ignore[arg-type]
            what.augmentation,
            self.channels_last,
        )

    def learner(self) -> Algorithm:
        """The algorithm over the network as it was at first."""
        self.model.load_state_dict(self._start)
        settings = {"gammas": "median"} if self.what.algorithm == "mmd" else {}
        learner = algorithm_type(self.what.algorithm)(
            self.model,
            make_settings(self.what.algorithm, **settings),
            seed=0,
            amp=pick_precision("auto", self.device),
        ).to(self.device)
        if self.channels_last:
            learner.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return learner

    def loader(self, learner: Algorithm, k: int, name: str) -> orda.AdaptationLoader:
        """Minibatches of the sampler ``name``, planned for what the learner minimises."""
        assert learner.discrepancy is not None
        loader = orda.AdaptationLoader(
            self.source,
            self.target,
            sampler=SAMPLERS[name.removesuffix(OVERLAP)](learner.discrepancy),
            batch_size=k,
            horizon=self.what.horizon,
            featurizer=learner.features,
            transform=self.images,
            device=self.device,
            feature_batch=pick_feature_batch(None, self.device),
            overlap=name.endswith(OVERLAP),
            on_plan=lambda _, features: learner.resolve(loader.sizes, features),
        )
        if learner.wants_features:
            learner.resolve(loader.sizes, loader.extract())
        return loader

    def accuracy(self, learner: Algorithm) -> float:
        """Of all images of both domains."""
        size, right = pick_feature_batch(None, self.device), []
        for domain in (self.source, self.target):
            for start in range(0, len(domain), size):
                pictures, labels = domain.gather(slice(start, start + size))
                right.append((learner.predict(self.images(pictures)).argmax(1) == labels).sum())
        return int(torch.stack(right).sum()) / (len(self.source) + len(self.target))


class Course:
    """A training that goes on for as many steps as it is asked to."""

    def __init__(self, shop: Workshop, k: int, name: str) -> None:
        self.learner = shop.learner()
        self.loader = shop.loader(self.learner, k, name)
        self._batches: Iterator[Batch] = iter(self.loader)
        self._step = 0

    def go(self, steps: int) -> None:
        for batch in itertools.islice(self._batches, steps):
            self.learner.update(batch, self._step)
            self._step += 1

    def end(self) -> None:
        """Nothing of it goes on: a plan in the making is waited for."""
        if self.loader.overlap:
            self.loader.make_plan(None)


@contextmanager
def at_speed(device: torch.device) -> Iterator[None]:
    """The fastest algorithms; and random weights need not make sense to a kernel."""
    with deterministic(False, device), warnings.catch_warnings():
        warnings.simplefilter("ignore", KernelWarning)
        yield
