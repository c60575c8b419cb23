"""Tiny models and minibatches on which algorithms are tested."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from orda import seeds
from orda.models import Model
from orda.records import Batch, DomainBatch

SHAPE = (3, 4, 4)
CLASSES = 3


def smooth_model(seed: int = 0, feature_size: int = 4) -> Model:
    """A smooth network in float64: what a literal reference can follow to many digits."""
    with seeds.torch_stream(seed, "tiny"):
        featurizer = nn.Sequential(nn.Flatten(), nn.Linear(48, feature_size), nn.Tanh())
        head = nn.Linear(feature_size, CLASSES)
    return Model(featurizer, head, feature_size=feature_size, n_classes=CLASSES).double()


def conv_model(
    seed: int = 0, freeze_bn: bool = False, dropout: float = 0.0, norm: bool = True, feature_size: int = 8
) -> Model:
    """A convolutional network with batch normalisation, in float32."""
    with seeds.torch_stream(seed, "tiny"):
        featurizer = nn.Sequential(
            nn.Conv2d(3, feature_size, 3, padding=1),
            nn.BatchNorm2d(feature_size) if norm else nn.Identity(),
            nn.Tanh(),
            nn.Conv2d(feature_size, feature_size, 3, padding=1),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        head = nn.Linear(feature_size, CLASSES)
    return Model(featurizer, head, feature_size=feature_size, n_classes=CLASSES, freeze_bn=freeze_bn, dropout=dropout)


def images(generator: torch.Generator, labels: Tensor, shift: float) -> Tensor:
    """Images whose class is the brightest channel, over a background of the domain."""
    x = 0.3 * torch.randn(len(labels), *SHAPE, generator=generator, dtype=torch.float64) + shift
    x[torch.arange(len(labels)), labels] += 1.0
    return x


def half(x: Tensor, y: Tensor | None, weight: Tensor | None = None) -> DomainBatch:
    n = len(x)
    weight = torch.full((n,), 1 / n) if weight is None else weight
    return DomainBatch(x, y, weight.float(), torch.zeros(n, dtype=torch.long), torch.arange(n))


def minibatch(
    seed: int = 0,
    n_s: int = 6,
    n_t: int = 6,
    dtype: torch.dtype = torch.float32,
    shift: float = 0.5,
    target_seed: int | None = None,
    weighted: bool = False,
) -> Batch:
    """A minibatch of two domains; ``target_seed`` changes the target alone, ``weighted`` makes weights unequal."""
    of_source = torch.Generator().manual_seed(seed)
    of_target = torch.Generator().manual_seed(1000 + (seed if target_seed is None else target_seed))
    ys = torch.arange(n_s) % CLASSES
    yt = torch.randint(CLASSES, (n_t,), generator=of_target)
    xs, xt = images(of_source, ys, 0.0).to(dtype), images(of_target, yt, shift).to(dtype)
    ws, wt = (0.2 + torch.rand(n, generator=g) for n, g in ((n_s, of_source), (n_t, of_target)))
    if not weighted:
        return Batch(half(xs, ys), half(xt, None))
    return Batch(half(xs, ys, ws / ws.sum()), half(xt, None, wt / wt.sum()))
