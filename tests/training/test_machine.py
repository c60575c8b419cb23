from __future__ import annotations

import json

import pytest
import torch

from orda.errors import SettingError
from orda.training.machine import deterministic, environment, pick_device, pick_feature_batch, pick_precision

CPU = torch.device("cpu")


def test_the_device_by_its_name() -> None:
    assert pick_device("cpu") == CPU
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("name", ["gpu", "cuda:99", ""])
def test_a_device_that_is_not_there(name: str) -> None:
    with pytest.raises(SettingError, match=f"the device must be one that torch can use; got '{name}'.*cpu"):
        pick_device(name)


def test_precision() -> None:
    assert pick_precision("auto", CPU) is None
    assert pick_precision("float32", CPU) is None
    assert pick_precision("bfloat16", CPU) is torch.bfloat16


def test_how_many_images_at_once() -> None:
    assert pick_feature_batch(None, CPU) == 64
    assert pick_feature_batch(None, torch.device("cuda")) == 512
    assert pick_feature_batch(7, CPU) == 7


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


def test_the_environment_is_on_record() -> None:
    found = environment(CPU, torch.bfloat16)
    assert json.loads(json.dumps(found)) == found
    assert (found["device"], found["precision"], found["torch"]) == ("cpu", "bfloat16", torch.__version__)
    assert environment(CPU, None)["precision"] == "float32"
