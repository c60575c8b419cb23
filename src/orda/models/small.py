"""A small convolutional network for images of a few pixels (the embedded 8×8 digits)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


class SmallCNN(nn.Module):
    """Three 3×3 convolutions, 32, 64 (stride 2) and 128 wide, then the mean over the image: 128 features.

    Normalised in groups of channels, not over the minibatch: a feature depends on its own image alone, in training
    as in evaluation, so there are no statistics to freeze.
    """

    feature_size = 128

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 3, padding=1, bias=False)
        self.norm1 = nn.GroupNorm(8, 32)
        self.conv2 = nn.Conv2d(32, 64, 3, stride=2, padding=1, bias=False)
        self.norm2 = nn.GroupNorm(8, 64)
        self.conv3 = nn.Conv2d(64, 128, 3, padding=1, bias=False)
        self.norm3 = nn.GroupNorm(8, 128)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.relu(self.norm2(self.conv2(x)))
        x = F.relu(self.norm3(self.conv3(x)))
        return x.mean((-2, -1))
