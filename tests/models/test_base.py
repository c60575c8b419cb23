"""The contract of a model."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from orda.errors import SettingError
from orda.models import Model, build_model


def model(**settings: object) -> Model:
    featurizer = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return Model(featurizer, nn.Linear(4, 2), feature_size=4, n_classes=2, **settings)  # type: ignore[arg-type]


IMAGES = torch.randn(5, 3, 8, 8, generator=torch.Generator().manual_seed(0))


def test_forward_is_head_after_featurizer() -> None:
    net = model().eval()
    assert torch.equal(net(IMAGES), net.head(net.featurizer(IMAGES)))
    assert torch.equal(net.features(IMAGES), net.featurizer(IMAGES))


def test_frozen_batch_norm_keeps_its_statistics_and_learns_its_scale() -> None:
    net = model(freeze_bn=True).train()
    norm = net.featurizer[1]
    before = {name: buffer.clone() for name, buffer in norm.named_buffers()}
    assert net.training
    assert not norm.training
    net(IMAGES).square().sum().backward()
    assert all(torch.equal(before[name], buffer) for name, buffer in norm.named_buffers())
    assert norm.weight.grad is not None
    assert float(norm.weight.grad.abs().min()) > 0
    assert torch.equal(net(IMAGES), net.eval()(IMAGES))


def test_free_batch_norm_moves_its_statistics() -> None:
    net = model().train()
    net(IMAGES)
    assert int(net.featurizer[1].num_batches_tracked) == 1
    net.eval()(IMAGES)
    assert int(net.featurizer[1].num_batches_tracked) == 1


def test_dropout_acts_on_the_way_into_the_head_only() -> None:
    net = model(dropout=0.5).train()
    net.featurizer.eval()
    assert torch.equal(net.features(IMAGES), net.features(IMAGES))
    z = torch.ones(2000, 4)
    net.head = nn.Identity()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        dropped = net.classify(z)
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert float((dropped == 0).float().mean()) == pytest.approx(0.5, abs=0.03)
    assert torch.equal(net.eval().classify(z), z)


@pytest.mark.parametrize("dropout", [-0.1, 1.0, float("nan")])
def test_dropout_outside_its_range_is_refused(dropout: float) -> None:
    with pytest.raises(SettingError, match="dropout must be at least 0 and below 1"):
        model(dropout=dropout)


@pytest.mark.parametrize(
    ("name", "byte", "expected"),
    [("efficientnet-lite0", 255, (255 - 127) / 128), ("efficientnet-lite0", 0, -127 / 128), ("small-cnn", 255, 1.0)],
)
def test_every_model_normalises_as_it_was_trained(name: str, byte: int, expected: float) -> None:
    if name == "efficientnet-lite0":
        pytest.importorskip("efficientnet_lite_pytorch")
    pixels = torch.full((1, 3, 4, 4), byte) / 255
    normalised = build_model(name, 2, weights="random").normalize(pixels)
    torch.testing.assert_close(normalised, torch.full_like(pixels, expected))


def test_imagenet_normalisation_is_per_channel() -> None:
    net = model()
    pixels = torch.tensor([0.485, 0.456 + 0.224, 0.406 - 2 * 0.225]).view(1, 3, 1, 1)
    torch.testing.assert_close(net.normalize(pixels).flatten(), torch.tensor([0.0, 1.0, -2.0]))


def test_a_new_model_is_frozen_before_anyone_calls_train() -> None:
    net = model(freeze_bn=True)
    assert net.training
    assert not net.featurizer[1].training
