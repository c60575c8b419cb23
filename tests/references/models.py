"""ResNets, literally: every parameter of the published networks by name and shape, and the forward pass written out."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def parameters(text: str) -> dict[str, tuple[int, ...]]:
    """Names and shapes from "name=AxBxC" words."""
    pairs = (word.split("=") for word in text.split())
    return {name: tuple(int(size) for size in shape.split("x")) for name, shape in pairs}


def resnet_features(state: dict[str, Tensor], x: Tensor) -> Tensor:
    """Features of images x (n, 3, h, w) by the state dict alone, in evaluation mode."""

    def conv(x: Tensor, name: str, stride: int, padding: int) -> Tensor:
        return F.conv2d(x, state[name + ".weight"], stride=stride, padding=padding)

    def norm(x: Tensor, name: str) -> Tensor:
        mean, var, scale, shift = (
            state[f"{name}.{part}"].view(1, -1, 1, 1) for part in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / torch.sqrt(var + 1e-5) * scale + shift

    x = F.max_pool2d(norm(conv(x, "conv1", 2, 3), "bn1").clamp(min=0), 3, 2, 1)
    for stage in (1, 2, 3, 4):
        block = 0
        while f"layer{stage}.{block}.conv1.weight" in state:
            at = f"layer{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            if f"{at}.conv3.weight" in state:
                y = norm(conv(x, f"{at}.conv1", 1, 0), f"{at}.bn1").clamp(min=0)
                y = norm(conv(y, f"{at}.conv2", stride, 1), f"{at}.bn2").clamp(min=0)
                y = norm(conv(y, f"{at}.conv3", 1, 0), f"{at}.bn3")
            else:
                y = norm(conv(x, f"{at}.conv1", stride, 1), f"{at}.bn1").clamp(min=0)
                y = norm(conv(y, f"{at}.conv2", 1, 1), f"{at}.bn2")
            if f"{at}.downsample.0.weight" in state:
                x = norm(conv(x, f"{at}.downsample.0", stride, 0), f"{at}.downsample.1")
            x = (x + y).clamp(min=0)
            block += 1
    return x.flatten(2).mean(2)


RESNET18 = parameters("""
conv1.weight=64x3x7x7 bn1.weight=64 bn1.bias=64 layer1.0.conv1.weight=64x64x3x3 layer1.0.bn1.weight=64
layer1.0.bn1.bias=64 layer1.0.conv2.weight=64x64x3x3 layer1.0.bn2.weight=64 layer1.0.bn2.bias=64
layer1.1.conv1.weight=64x64x3x3 layer1.1.bn1.weight=64 layer1.1.bn1.bias=64 layer1.1.conv2.weight=64x64x3x3
layer1.1.bn2.weight=64 layer1.1.bn2.bias=64 layer2.0.conv1.weight=128x64x3x3 layer2.0.bn1.weight=128
layer2.0.bn1.bias=128 layer2.0.conv2.weight=128x128x3x3 layer2.0.bn2.weight=128 layer2.0.bn2.bias=128
layer2.0.downsample.0.weight=128x64x1x1 layer2.0.downsample.1.weight=128 layer2.0.downsample.1.bias=128
layer2.1.conv1.weight=128x128x3x3 layer2.1.bn1.weight=128 layer2.1.bn1.bias=128 layer2.1.conv2.weight=128x128x3x3
layer2.1.bn2.weight=128 layer2.1.bn2.bias=128 layer3.0.conv1.weight=256x128x3x3 layer3.0.bn1.weight=256
layer3.0.bn1.bias=256 layer3.0.conv2.weight=256x256x3x3 layer3.0.bn2.weight=256 layer3.0.bn2.bias=256
layer3.0.downsample.0.weight=256x128x1x1 layer3.0.downsample.1.weight=256 layer3.0.downsample.1.bias=256
layer3.1.conv1.weight=256x256x3x3 layer3.1.bn1.weight=256 layer3.1.bn1.bias=256 layer3.1.conv2.weight=256x256x3x3
layer3.1.bn2.weight=256 layer3.1.bn2.bias=256 layer4.0.conv1.weight=512x256x3x3 layer4.0.bn1.weight=512
layer4.0.bn1.bias=512 layer4.0.conv2.weight=512x512x3x3 layer4.0.bn2.weight=512 layer4.0.bn2.bias=512
layer4.0.downsample.0.weight=512x256x1x1 layer4.0.downsample.1.weight=512 layer4.0.downsample.1.bias=512
layer4.1.conv1.weight=512x512x3x3 layer4.1.bn1.weight=512 layer4.1.bn1.bias=512 layer4.1.conv2.weight=512x512x3x3
layer4.1.bn2.weight=512 layer4.1.bn2.bias=512 fc.weight=1000x512 fc.bias=1000
""")

RESNET50 = parameters("""
conv1.weight=64x3x7x7 bn1.weight=64 bn1.bias=64 layer1.0.conv1.weight=64x64x1x1 layer1.0.bn1.weight=64
layer1.0.bn1.bias=64 layer1.0.conv2.weight=64x64x3x3 layer1.0.bn2.weight=64 layer1.0.bn2.bias=64
layer1.0.conv3.weight=256x64x1x1 layer1.0.bn3.weight=256 layer1.0.bn3.bias=256 layer1.0.downsample.0.weight=256x64x1x1
layer1.0.downsample.1.weight=256 layer1.0.downsample.1.bias=256 layer1.1.conv1.weight=64x256x1x1
layer1.1.bn1.weight=64 layer1.1.bn1.bias=64 layer1.1.conv2.weight=64x64x3x3 layer1.1.bn2.weight=64
layer1.1.bn2.bias=64 layer1.1.conv3.weight=256x64x1x1 layer1.1.bn3.weight=256 layer1.1.bn3.bias=256
layer1.2.conv1.weight=64x256x1x1 layer1.2.bn1.weight=64 layer1.2.bn1.bias=64 layer1.2.conv2.weight=64x64x3x3
layer1.2.bn2.weight=64 layer1.2.bn2.bias=64 layer1.2.conv3.weight=256x64x1x1 layer1.2.bn3.weight=256
layer1.2.bn3.bias=256 layer2.0.conv1.weight=128x256x1x1 layer2.0.bn1.weight=128 layer2.0.bn1.bias=128
layer2.0.conv2.weight=128x128x3x3 layer2.0.bn2.weight=128 layer2.0.bn2.bias=128 layer2.0.conv3.weight=512x128x1x1
layer2.0.bn3.weight=512 layer2.0.bn3.bias=512 layer2.0.downsample.0.weight=512x256x1x1
layer2.0.downsample.1.weight=512 layer2.0.downsample.1.bias=512 layer2.1.conv1.weight=128x512x1x1
layer2.1.bn1.weight=128 layer2.1.bn1.bias=128 layer2.1.conv2.weight=128x128x3x3 layer2.1.bn2.weight=128
layer2.1.bn2.bias=128 layer2.1.conv3.weight=512x128x1x1 layer2.1.bn3.weight=512 layer2.1.bn3.bias=512
layer2.2.conv1.weight=128x512x1x1 layer2.2.bn1.weight=128 layer2.2.bn1.bias=128 layer2.2.conv2.weight=128x128x3x3
layer2.2.bn2.weight=128 layer2.2.bn2.bias=128 layer2.2.conv3.weight=512x128x1x1 layer2.2.bn3.weight=512
layer2.2.bn3.bias=512 layer2.3.conv1.weight=128x512x1x1 layer2.3.bn1.weight=128 layer2.3.bn1.bias=128
layer2.3.conv2.weight=128x128x3x3 layer2.3.bn2.weight=128 layer2.3.bn2.bias=128 layer2.3.conv3.weight=512x128x1x1
layer2.3.bn3.weight=512 layer2.3.bn3.bias=512 layer3.0.conv1.weight=256x512x1x1 layer3.0.bn1.weight=256
layer3.0.bn1.bias=256 layer3.0.conv2.weight=256x256x3x3 layer3.0.bn2.weight=256 layer3.0.bn2.bias=256
layer3.0.conv3.weight=1024x256x1x1 layer3.0.bn3.weight=1024 layer3.0.bn3.bias=1024
layer3.0.downsample.0.weight=1024x512x1x1 layer3.0.downsample.1.weight=1024 layer3.0.downsample.1.bias=1024
layer3.1.conv1.weight=256x1024x1x1 layer3.1.bn1.weight=256 layer3.1.bn1.bias=256 layer3.1.conv2.weight=256x256x3x3
layer3.1.bn2.weight=256 layer3.1.bn2.bias=256 layer3.1.conv3.weight=1024x256x1x1 layer3.1.bn3.weight=1024
layer3.1.bn3.bias=1024 layer3.2.conv1.weight=256x1024x1x1 layer3.2.bn1.weight=256 layer3.2.bn1.bias=256
layer3.2.conv2.weight=256x256x3x3 layer3.2.bn2.weight=256 layer3.2.bn2.bias=256 layer3.2.conv3.weight=1024x256x1x1
layer3.2.bn3.weight=1024 layer3.2.bn3.bias=1024 layer3.3.conv1.weight=256x1024x1x1 layer3.3.bn1.weight=256
layer3.3.bn1.bias=256 layer3.3.conv2.weight=256x256x3x3 layer3.3.bn2.weight=256 layer3.3.bn2.bias=256
layer3.3.conv3.weight=1024x256x1x1 layer3.3.bn3.weight=1024 layer3.3.bn3.bias=1024 layer3.4.conv1.weight=256x1024x1x1
layer3.4.bn1.weight=256 layer3.4.bn1.bias=256 layer3.4.conv2.weight=256x256x3x3 layer3.4.bn2.weight=256
layer3.4.bn2.bias=256 layer3.4.conv3.weight=1024x256x1x1 layer3.4.bn3.weight=1024 layer3.4.bn3.bias=1024
layer3.5.conv1.weight=256x1024x1x1 layer3.5.bn1.weight=256 layer3.5.bn1.bias=256 layer3.5.conv2.weight=256x256x3x3
layer3.5.bn2.weight=256 layer3.5.bn2.bias=256 layer3.5.conv3.weight=1024x256x1x1 layer3.5.bn3.weight=1024
layer3.5.bn3.bias=1024 layer4.0.conv1.weight=512x1024x1x1 layer4.0.bn1.weight=512 layer4.0.bn1.bias=512
layer4.0.conv2.weight=512x512x3x3 layer4.0.bn2.weight=512 layer4.0.bn2.bias=512 layer4.0.conv3.weight=2048x512x1x1
layer4.0.bn3.weight=2048 layer4.0.bn3.bias=2048 layer4.0.downsample.0.weight=2048x1024x1x1
layer4.0.downsample.1.weight=2048 layer4.0.downsample.1.bias=2048 layer4.1.conv1.weight=512x2048x1x1
layer4.1.bn1.weight=512 layer4.1.bn1.bias=512 layer4.1.conv2.weight=512x512x3x3 layer4.1.bn2.weight=512
layer4.1.bn2.bias=512 layer4.1.conv3.weight=2048x512x1x1 layer4.1.bn3.weight=2048 layer4.1.bn3.bias=2048
layer4.2.conv1.weight=512x2048x1x1 layer4.2.bn1.weight=512 layer4.2.bn1.bias=512 layer4.2.conv2.weight=512x512x3x3
layer4.2.bn2.weight=512 layer4.2.bn2.bias=512 layer4.2.conv3.weight=2048x512x1x1 layer4.2.bn3.weight=2048
layer4.2.bn3.bias=2048 fc.weight=1000x2048 fc.bias=1000
""")
