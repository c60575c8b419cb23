"""What all algorithms are built with: a stream of their own for torch, full precision, the optimisers' state."""

from __future__ import annotations

import pytest
import torch
from references.tiny import minibatch, smooth_model

from orda.algorithms import build_algorithm
from orda.algorithms.base import full
from orda.errors import SettingError
from orda.seeds import torch_stream


def draws(*names: str | int) -> torch.Tensor:
    with torch_stream(0, *names):
        return torch.rand(3)


def _draw_and_fail() -> None:
    torch.rand(1)
    raise ZeroDivisionError


def test_a_stream_is_its_names_alone() -> None:
    first = draws("update", 3)
    torch.rand(5)
    assert torch.equal(first, draws("update", 3))
    assert not torch.equal(first, draws("update", 4))
    with torch_stream(1, "update", 3):
        assert not torch.equal(first, torch.rand(3))


def test_a_stream_gives_back_the_one_before_it_even_after_an_error() -> None:
    before = torch.get_rng_state()
    with pytest.raises(ZeroDivisionError), torch_stream(0, "update"):
        _draw_and_fail()
    assert torch.equal(before, torch.get_rng_state())
    with torch_stream(0, "outer"):
        expected = torch.rand(2)
    with torch_stream(0, "outer"):
        first = torch.rand(1)
        draws("inner")
        assert torch.equal(torch.cat([first, torch.rand(1)]), expected)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (torch.bfloat16, torch.float32),
        (torch.float16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_full_precision_is_float32_at_least(given: torch.dtype, expected: torch.dtype) -> None:
    assert full(torch.ones(1, dtype=given)).dtype == expected


def test_a_state_of_another_algorithm_is_refused() -> None:
    dann, erm = (build_algorithm(name, smooth_model(), seed=0) for name in ("dann", "erm"))
    with pytest.raises(SettingError, match="a state for dann must have been saved by it; got one of erm"):
        dann.load_state_dict(erm.state_dict())


def test_weight_decay_and_rate_reach_the_optimisers() -> None:
    algorithm = build_algorithm(
        "cdan", smooth_model(), seed=0, lr=1e-3, weight_decay=0.1, lr_d=2e-3, weight_decay_d=0.2
    )
    groups = [group for optimiser in algorithm.optimisers for group in optimiser.param_groups]
    assert [(group["lr"], group["weight_decay"]) for group in groups] == [(1e-3, 0.1), (2e-3, 0.2)]
    assert all(isinstance(optimiser, torch.optim.Adam) for optimiser in algorithm.optimisers)


def test_the_step_and_not_the_history_decides_what_dropout_drops() -> None:
    """The same step on the same weights gives the same losses, whatever was drawn in between."""
    algorithm = build_algorithm("erm", smooth_model(), seed=0)
    algorithm.model.dropout.p = 0.5
    state = {key: value.clone() for key, value in algorithm.model.state_dict().items()}
    first = algorithm.update(minibatch(0, dtype=torch.float64), 7)["loss"]
    algorithm.model.load_state_dict(state)
    other = algorithm.update(minibatch(0, dtype=torch.float64), 8)["loss"]
    algorithm.model.load_state_dict(state)
    again = algorithm.update(minibatch(0, dtype=torch.float64), 7)["loss"]
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
