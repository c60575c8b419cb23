"""ResNets are the published ones: names, shapes, counts, and the forward pass."""

from __future__ import annotations

import pytest
import torch
from references.models import RESNET18, RESNET50, resnet_features

from orda.models import ResNet, resnet18, resnet50

KINDS = {"resnet18": (resnet18, RESNET18, 11_689_512), "resnet50": (resnet50, RESNET50, 25_557_032)}


def shaken(network: ResNet) -> ResNet:
    """Running statistics and affine weights away from 0 and 1, where mistakes would not show."""
    generator = torch.Generator().manual_seed(0)
    for layer in network.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            for tensor, low, high in (
                (layer.running_mean, -0.1, 0.1),
                (layer.running_var, 0.5, 1.5),
                (layer.weight.data, 0.5, 1.5),
                (layer.bias.data, -0.1, 0.1),
            ):
                assert tensor is not None
                tensor.uniform_(low, high, generator=generator)
    return network


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_shapes_are_the_published_ones(kind: str) -> None:
    make, published, count = KINDS[kind]
    network = make()
    ours = {name: tuple(p.shape) for name, p in network.named_parameters()}
    head = {name: published[name] for name in ("fc.weight", "fc.bias")}
    assert list((ours | head).items()) == list(published.items())
    assert sum(p.numel() for p in network.parameters()) + 1000 * (network.feature_size + 1) == count


@pytest.mark.parametrize("kind", KINDS)
def test_buffers_are_those_of_batch_normalisation(kind: str) -> None:
    make, published, _ = KINDS[kind]
    norms = {name.rsplit(".", 1)[0] for name in published if name.endswith(".bias") and not name.startswith("fc")}
    parts = ("running_mean", "running_var", "num_batches_tracked")
    assert {name for name, _ in make().named_buffers()} == {f"{norm}.{part}" for norm in norms for part in parts}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [64, 71])
def test_forward_is_the_literal_one(kind: str, size: int) -> None:
    network = shaken(KINDS[kind][0]()).double().eval()
    x = torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    with torch.no_grad():
        torch.testing.assert_close(network(x), resnet_features(network.state_dict(), x), rtol=1e-10, atol=1e-10)


def test_memory_layout_changes_nothing_but_rounding() -> None:
    network = shaken(resnet18()).eval()
    x = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        plain = network(x)
        last = network.to(memory_format=torch.channels_last)(x.contiguous(memory_format=torch.channels_last))
    torch.testing.assert_close(last, plain, rtol=1e-4, atol=1e-5)


def test_half_precision_is_close() -> None:
    network = shaken(resnet18()).eval()
    x = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        exact = network(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            half = network(x)
    assert half.dtype == torch.bfloat16
    assert float((half.float() - exact).norm() / exact.norm()) < 0.05
