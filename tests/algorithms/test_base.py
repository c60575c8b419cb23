"""What all algorithms are built with: a stream of their own for torch, full precision, the optimisers' state."""

from __future__ import annotations

import io

import pytest
import torch
from references.card import CARD, card
from references.tiny import conv_model, minibatch, smooth_model

from orda.algorithms import ALGORITHMS, Algorithm, build_algorithm
from orda.algorithms.base import full
from orda.errors import SettingError
from orda.records import Batch, DomainBatch
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


# ---- one kernel for all parameters -------------------------------------------------------------------------------


def adapting(monkeypatch: pytest.MonkeyPatch, fused: bool) -> Algorithm:
    """An algorithm with two optimisers, of the kind that a GPU has or of the CPU's."""
    monkeypatch.setattr("orda.algorithms.base.fusible", lambda _: fused)
    return build_algorithm("dann", conv_model(), seed=0, lr=1e-2, lr_d=1e-2, weight_decay=1e-3, mlp_width=16)


def train(algorithm: Algorithm, first: int, last: int) -> Algorithm:
    for step in range(first, last):
        algorithm.update(minibatch(step), step)
    return algorithm


def is_fused(algorithm: Algorithm) -> list[bool]:
    return [bool(group["fused"]) for optimiser in algorithm.optimisers for group in optimiser.param_groups]


def agree(one: Algorithm, other: Algorithm) -> None:
    """Within what rounding makes of 20 steps of Adam."""
    for p, q in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-4, atol=1e-5)


def test_on_a_cpu_adam_is_what_it_was() -> None:
    algorithm = build_algorithm("dann", conv_model(), seed=0)
    assert [group["fused"] for optimiser in algorithm.optimisers for group in optimiser.param_groups] == [None, None]


def test_fused_or_not_it_is_the_same_step(monkeypatch: pytest.MonkeyPatch) -> None:
    fused, plain = (train(adapting(monkeypatch, way), 0, 20) for way in (True, False))
    assert is_fused(fused) == [True, True]
    assert is_fused(plain) == [False, False]
    agree(fused, plain)


@pytest.mark.parametrize("fused", [True, False])
def test_the_state_of_one_kind_loads_into_the_other(fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(adapting(monkeypatch, not fused), 0, 20)
    file = io.BytesIO()
    torch.save(train(adapting(monkeypatch, not fused), 0, 10).state_dict(), file)
    file.seek(0)
    resumed = adapting(monkeypatch, fused)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    assert is_fused(resumed) == [fused, fused]
    agree(train(resumed, 10, 20), whole)


def test_a_state_takes_the_layout_of_its_parameters() -> None:
    """A fused kernel refuses another, and a run may go on where images are laid out otherwise."""
    first, other = (build_algorithm("erm", conv_model(), seed=0) for _ in range(2))
    train(first, 0, 2)
    other.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    other.load_state_dict(first.state_dict())
    found = [(p, state) for optimiser in other.optimisers for p, state in optimiser.state.items() if p.ndim == 4]
    assert found
    for (p, state), before in zip(found, [p for p in first.parameters() if p.ndim == 4], strict=True):
        memory = first.optimisers[0].state[before]["exp_avg"]
        assert state["exp_avg"].stride() == p.stride() != memory.stride()
        assert torch.equal(state["exp_avg"], memory)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_on_a_gpu_every_optimiser_is_fused_and_remembers_there(name: str) -> None:
    with card() as ledger:
        algorithm = build_algorithm(name, conv_model().to(CARD), seed=0)
        places = {p.device for p in algorithm.parameters()} | {b.device for b in algorithm.buffers()}
        here = minibatch(0)
        halves = [
            DomainBatch(*(None if x is None else x.to(CARD) for x in (h.x, h.y, h.weight, h.stratum, h.index)))
            for h in (here.source, here.target)
        ]
        algorithm.update(Batch(*halves), 0)
        memories = [state for optimiser in algorithm.optimisers for state in optimiser.state.values()]
        assert {value.device for state in memories for value in state.values()} == places == {CARD}
    assert is_fused(algorithm) == [True] * len(algorithm.optimisers)
    assert ledger.launched.count("aten._fused_adam_.default") == len(algorithm.optimisers)
