"""Models by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from orda import seeds
from orda.errors import SettingError, UnknownName
from orda.models import weights as weight_files
from orda.models.base import IMAGENET_MEAN, IMAGENET_STD, Model
from orda.models.efficientnet import LITE_MEAN, LITE_STD, EfficientNetLite0, packaged_weights
from orda.models.resnet import resnet18, resnet50
from orda.models.small import SmallCNN

HUB = "https://download.pytorch.org/models/"


@dataclass(frozen=True)
class Architecture:
    """How a featuriser is made, and where its ImageNet weights are."""

    make: Callable[[], Any]
    imagenet: Callable[[], weight_files.StateDict] | None = None
    trunk: str = ""  # the part of the featuriser that the weights name
    classifier: str = "fc"  # the layer of the published network that is left out
    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD


ARCHITECTURES: dict[str, Architecture] = {
    "resnet18": Architecture(resnet18, lambda: weight_files.download(HUB + "resnet18-f37072fd.pth")),
    "resnet50": Architecture(resnet50, lambda: weight_files.download(HUB + "resnet50-0676ba61.pth")),
    "efficientnet-lite0": Architecture(
        EfficientNetLite0,
        lambda: weight_files.read(packaged_weights()),
        trunk="network",
        classifier="_fc",
        mean=LITE_MEAN,
        std=LITE_STD,
    ),
    "small-cnn": Architecture(SmallCNN, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5)),
}


def build_model(
    name: str,
    n_classes: int,
    *,
    weights: str | Path | None = None,
    freeze_bn: bool | None = None,
    dropout: float = 0.0,
    channels: int = 3,
    seed: int = 0,
) -> Model:
    """The model ``name`` with a linear head, its random starts from ``seed`` alone.

    ``weights``: "imagenet", "random", or the path of a state dict; ``None`` is ImageNet where there are such weights
    (all but small-cnn). ``freeze_bn``: whether batch normalisation keeps its running statistics; ``None`` freezes it
    where weights were loaded. ``channels`` other than 3 repeat the first convolution's filters cyclically.
    """
    if name not in ARCHITECTURES:
        raise UnknownName("model", name, ARCHITECTURES)
    architecture = ARCHITECTURES[name]
    if weights is None:
        weights = "random" if architecture.imagenet is None else "imagenet"
    _check(name, architecture, n_classes, weights, freeze_bn, channels)
    with seeds.torch_stream(seed, "featurizer"):
        featurizer = architecture.make()
    if weights != "random":
        _load(featurizer, architecture, weights)
    with seeds.torch_stream(seed, "head"):
        head = nn.Linear(featurizer.feature_size, n_classes)
    set_input_channels(featurizer, channels)
    return Model(
        featurizer,
        head,
        feature_size=featurizer.feature_size,
        n_classes=n_classes,
        freeze_bn=weights != "random" if freeze_bn is None else freeze_bn,
        dropout=dropout,
        mean=tuple(architecture.mean[i % 3] for i in range(channels)),
        std=tuple(architecture.std[i % 3] for i in range(channels)),
    )


def set_input_channels(featurizer: nn.Module, channels: int) -> None:
    """Give the first convolution ``channels`` inputs, its filters repeated cyclically: input i takes filter i mod c."""
    first = next((module for module in featurizer.modules() if isinstance(module, nn.Conv2d)), None)
    if first is None:
        raise SettingError(
            "only a featuriser that begins with a convolution can take other channels",
            type(featurizer).__name__,
            "Use a convolutional network",
        )
    if first.in_channels != channels:
        repeated = first.weight.detach()[:, torch.arange(channels, device=first.weight.device) % first.in_channels]
        first.weight = nn.Parameter(repeated.clone())
        first.in_channels = channels


def _load(featurizer: nn.Module, architecture: Architecture, weights: str | Path) -> None:
    if weights == "imagenet":
        assert architecture.imagenet is not None
        state, origin = architecture.imagenet(), "of ImageNet"
    else:
        state, origin = weight_files.read(Path(weights)), str(weights)
    weight_files.load_into(featurizer.get_submodule(architecture.trunk), state, origin, architecture.classifier)


def _check(
    name: str, architecture: Architecture, n_classes: int, weights: str | Path, freeze_bn: bool | None, channels: int
) -> None:
    faults = []
    if n_classes < 2:
        faults.append(f"n_classes must be at least 2, not {n_classes}")
    if channels < 1:
        faults.append(f"channels must be at least 1, not {channels}")
    if weights == "imagenet" and architecture.imagenet is None:
        faults.append(f"{name} has no ImageNet weights: use weights='random' or a path")
    elif weights not in ("imagenet", "random") and not Path(weights).is_file():
        faults.append(f"weights must be 'imagenet', 'random' or a file, not {str(weights)!r}")
    if weights == "random" and freeze_bn and architecture.make is not SmallCNN:
        faults.append("freeze_bn=True fixes statistics that random weights never had: use freeze_bn=False")
    if faults:
        raise SettingError(f"the model {name} cannot be built", "; ".join(faults), "Correct these")
