"""The contract of a model h = g ∘ f: a featuriser f and a head g, apart always."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor, nn

from orda.errors import SettingError

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


class Model(nn.Module):
    """h(x) = g(f(x)): ``featurizer`` f gives (n, feature_size), ``head`` g gives logits (n, n_classes).

    A network takes images normalised by its own ``mean`` and ``std`` (per channel, of pixels between 0 and 1);
    ``normalize`` does it. With ``freeze_bn`` the batch normalisation of the featuriser stays in evaluation mode even
    in training: its running statistics are fixed, its scale and shift still learn. ``dropout`` acts on the features
    on their way into the head, so that the features themselves, which are aligned and planned with, stay exact.
    """

    _mean: Tensor
    _std: Tensor

    def __init__(
        self,
        featurizer: nn.Module,
        head: nn.Module,
        *,
        feature_size: int,
        n_classes: int,
        freeze_bn: bool = False,
        dropout: float = 0.0,
        mean: tuple[float, ...] = IMAGENET_MEAN,
        std: tuple[float, ...] = IMAGENET_STD,
    ) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise SettingError("dropout must be at least 0 and below 1", dropout, "Pass e.g. dropout=0.1")
        self.featurizer, self.head = featurizer, head
        self.feature_size, self.n_classes = feature_size, n_classes
        self.freeze_bn = freeze_bn
        self.dropout = nn.Dropout(dropout)
        self.mean, self.std = tuple(mean), tuple(std)
        self.register_buffer("_mean", torch.tensor(self.mean), persistent=False)
        self.register_buffer("_std", torch.tensor(self.std), persistent=False)
        self.train()  # a module is born in training mode without anyone saying so: freeze from the first step

    def features(self, x: Tensor) -> Tensor:
        """z = f(x): (n, feature_size)."""
        z: Tensor = self.featurizer(x)
        return z

    def classify(self, z: Tensor) -> Tensor:
        """g(z): logits (n, n_classes), with dropout on z in training."""
        logits: Tensor = self.head(self.dropout(z))
        return logits

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(x))

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        if self.freeze_bn:
            for layer in self.featurizer.modules():
                if isinstance(layer, nn.modules.batchnorm._BatchNorm):
                    layer.eval()
        return self

    def normalize(self, pixels: Tensor) -> Tensor:
        """(pixels − mean) / std for pixels (n, channels, ...) between 0 and 1."""
        shape = (1, -1, *([1] * (pixels.ndim - 2)))
        return (pixels - self._mean.to(pixels).view(shape)) / self._std.to(pixels).view(shape)
