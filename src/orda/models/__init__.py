"""Models h = g ∘ f: a featuriser f and a head g, apart always."""

from orda.models.base import IMAGENET_MEAN, IMAGENET_STD, Model
from orda.models.build import ARCHITECTURES, build_model, set_input_channels
from orda.models.efficientnet import EfficientNetLite0
from orda.models.resnet import ResNet, resnet18, resnet50
from orda.models.small import SmallCNN

__all__ = [
    "ARCHITECTURES",
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "EfficientNetLite0",
    "Model",
    "ResNet",
    "SmallCNN",
    "build_model",
    "resnet18",
    "resnet50",
    "set_input_channels",
]
