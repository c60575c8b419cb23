"""Where work is done: what is picked, and how values get there."""

from __future__ import annotations

import pytest
import torch
from references.card import CARD, card

from orda.devices import (
    deterministic,
    fetched,
    pick_channels_last,
    pick_device,
    pick_feature_batch,
    pick_precision,
    sent,
)
from orda.errors import SettingError

CPU = torch.device("cpu")


def test_the_device_by_its_name() -> None:
    assert pick_device("cpu") == CPU
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("name", ["gpu", "cuda:99", ""])
def test_a_device_that_is_not_there(name: str) -> None:
    with pytest.raises(SettingError, match=f"the device must be one that torch can use; got '{name}'.*cpu"):
        pick_device(name)


@pytest.mark.parametrize("name", ["gpu", "meta"])
def test_a_device_of_another_kind(name: str) -> None:
    with pytest.raises(SettingError, match=f"the device must be cpu or cuda; got '{name}'. E.g. --device cpu"):
        pick_device(name, ("cpu", "cuda"))
    assert pick_device("cpu", ("cpu", "cuda")) == CPU


def test_precision() -> None:
    assert pick_precision("auto", CPU) is None
    assert pick_precision("float32", CPU) is None
    assert pick_precision("bfloat16", CPU) is torch.bfloat16


def test_how_many_images_at_once() -> None:
    assert pick_feature_batch(None, CPU) == 64
    assert pick_feature_batch(None, torch.device("cuda")) == 512
    assert pick_feature_batch(7, CPU) == 7


def test_the_layout() -> None:
    assert [pick_channels_last(asked, CARD) for asked in (None, True, False)] == [True, True, False]
    assert [pick_channels_last(asked, CPU) for asked in (None, True, False)] == [False, True, False]


def test_nobody_waits_for_what_is_sent() -> None:
    x = torch.arange(3)
    assert sent(x, CPU) is x
    with card() as ledger:
        there = sent(x, CARD)
        assert sent(there, CARD) is there
    assert [(copy.to_card, copy.asynchronous, copy.pinned) for copy in ledger.copies] == [(True, True, True)]


def test_what_is_fetched_is_there_before_it_is_read() -> None:
    """A copy for which nobody waits comes from a GPU into pinned memory; then somebody has to."""
    x = torch.arange(3)
    assert fetched(x) is x
    with card() as ledger:
        there = x.to(CARD)
        ledger.clear()
        assert fetched(there).tolist() == [0, 1, 2]
    assert [(copy.to_card, copy.asynchronous) for copy in ledger.copies] == [(False, True)]
    assert ledger.waits == ["synchronize"]


@pytest.mark.gpu
def test_what_is_fetched_comes_into_pinned_memory() -> None:
    found = fetched(torch.arange(1_000_000).cuda())
    assert found.is_pinned()
    assert torch.equal(found, torch.arange(1_000_000))


@pytest.mark.parametrize("wanted", [True, False])
def test_determinism_is_put_back(wanted: bool) -> None:
    def state() -> tuple[object, ...]:
        cudnn = torch.backends.cudnn
        return torch.get_deterministic_debug_mode(), cudnn.benchmark, cudnn.deterministic

    def fail() -> None:
        assert torch.are_deterministic_algorithms_enabled() == wanted
        assert torch.backends.cudnn.deterministic == wanted
        raise ZeroDivisionError

    before = state()
    with pytest.raises(ZeroDivisionError), deterministic(wanted, CPU):
        fail()
    assert state() == before


def test_inside_an_operation_that_does_not_repeat_itself_is_refused() -> None:
    x = torch.randn(1, 1, 4, 4, requires_grad=True)
    with deterministic(True, CPU), pytest.raises(RuntimeError, match="deterministic"):
        torch.nn.functional.max_unpool2d(x, torch.zeros(1, 1, 4, 4, dtype=torch.int64), 2)
