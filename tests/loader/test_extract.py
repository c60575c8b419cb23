from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from orda.loader.extract import evaluating, extract_features, modules_behind

X = torch.arange(20.0).view(4, 5)


class Holder:
    """An object that is no module and holds one."""

    def __init__(self, net: Any) -> None:
        self.net, self.name = net, "holder"

    def embed(self, x: Tensor) -> Tensor:
        z: Tensor = self.net.features(x)
        return z

    def __call__(self, x: Tensor) -> Tensor:
        return self.embed(x)


def ways(net: Any) -> dict[str, Callable[[Tensor], Tensor]]:
    return {
        "module": net.body,
        "method": net.features,
        "lambda": lambda x: net.features(x),
        "partial": functools.partial(nn.Module.__call__, net.body),
        "method of a holder": Holder(net).embed,
        "callable holder": Holder(net),
    }


@pytest.mark.parametrize("way", ["module", "method", "lambda", "partial", "method of a holder", "callable holder"])
def test_the_network_is_found_evaluated_and_left_as_it_was(net: Any, way: str) -> None:
    net.train()
    net.body[1].eval()  # a frozen layer in a network that trains
    before = {name: value.clone() for name, value in net.state_dict().items()}
    modes = [part.training for part in net.modules()]
    with torch.inference_mode():
        net_out = functools.reduce(lambda z, layer: layer(z), (net.body[0], net.body[1], net.body[3]), X)
    z = extract_features(ways(net)[way], [X[:3], X[3:]], 4)
    torch.testing.assert_close(z, net_out)
    assert [part.training for part in net.modules()] == modes
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert not z.requires_grad


def test_half_precision_becomes_single() -> None:
    assert extract_features(lambda x: x.bfloat16(), [X], 4).dtype == torch.float32
    assert extract_features(lambda x: x.double(), [X], 4).dtype == torch.float64


def test_the_modes_come_back_after_an_error(net: Any) -> None:
    net.train()
    with pytest.raises(RuntimeError):
        extract_features(net.features, [torch.zeros(2, 3)], 2)
    assert all(part.training for part in net.modules())


def test_nested_evaluation_of_one_module(net: Any) -> None:
    net.train()
    with evaluating([net]), evaluating([net.body]):
        assert not net.training
    assert all(part.training for part in net.modules())


def test_functions_without_a_network() -> None:
    assert modules_behind(torch.flatten) == []
    assert modules_behind(lambda x: x.flatten(1)) == []
