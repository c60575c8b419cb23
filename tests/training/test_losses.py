from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from orda.training.losses import LossWindow, NotFinite, check_weights


def losses(**values: float) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(value) for name, value in values.items()}


def test_means_are_over_the_steps_that_had_the_loss() -> None:
    window = LossWindow()
    window.add(1, losses(loss=1.0, task=2.0))
    window.add(2, losses(loss=3.0, domain=0.5))
    window.add(3, losses(loss=5.0, task=4.0))
    assert window.first == 1
    assert window.close() == {"loss": 3.0, "task": 3.0, "domain": 0.5}
    assert len(window) == 0
    assert window.first is None
    assert window.close() == {}


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_the_first_bad_step_is_named_with_its_losses(bad: float) -> None:
    window = LossWindow()
    window.add(7, losses(loss=1.0, task=1.0))
    window.look()
    window.add(8, losses(loss=2.0, task=bad))
    window.add(9, losses(loss=math.nan, task=math.nan))
    for look in (window.look, window.close):
        with pytest.raises(NotFinite) as caught:
            look()
        assert caught.value.step == 8
        assert caught.value.what == f"loss 2, task {bad:.4g}"


def test_the_state_of_a_window_is_the_window() -> None:
    window, again = LossWindow(), LossWindow()
    for step in range(1, 6):
        window.add(step, losses(loss=0.1 * step, **({"task": step / 3} if step % 2 else {})))
    again.load(window.state())
    again.add(6, losses(loss=1.0))
    window.add(6, losses(loss=1.0))
    assert again.close() == window.close()


def test_weights_that_are_not_finite() -> None:
    network = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    check_weights(network, 3)
    with torch.no_grad():
        network[1].bias[0] = math.inf
    with pytest.raises(NotFinite, match=r"weights in 1\.bias"):
        check_weights(network, 3)
