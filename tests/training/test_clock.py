from __future__ import annotations

import time

import pytest
import torch

from orda.training import clock as clock_module
from orda.training.clock import Clock

CPU = torch.device("cpu")


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Time that passes when a test says so."""
    at = [100.0]
    monkeypatch.setattr(clock_module.time, "perf_counter", lambda: at[0])
    return at


def test_every_moment_belongs_to_the_innermost_part(now: list[float]) -> None:
    clock = Clock(CPU)
    now[0] += 1
    with clock.part("outer"):
        now[0] += 2
        with clock.part("inner"):
            now[0] += 4
        now[0] += 8
    now[0] += 16
    assert clock.total == 31
    assert clock.seconds == {"rest": 17, "outer": 10, "inner": 4}


def test_getting_items_is_charged_and_using_them_is_not(now: list[float]) -> None:
    clock = Clock(CPU)

    def items() -> object:
        for i in range(3):
            now[0] += 1
            yield i

    for _ in clock.each("load", items()):
        now[0] += 10
    assert clock.snapshot() == {"rest": 30, "load": 3}


def fail(now: list[float]) -> None:
    now[0] += 1
    raise ZeroDivisionError


def test_an_error_ends_its_part(now: list[float]) -> None:
    clock = Clock(CPU)
    with pytest.raises(ZeroDivisionError), clock.part("a"):
        fail(now)
    now[0] += 1
    assert clock.snapshot() == {"rest": 1, "a": 1}


def test_seconds_of_an_earlier_process_are_kept(now: list[float]) -> None:
    clock = Clock(CPU, {"step": 5.0})
    with clock.part("step"):
        now[0] += 1
    clock.move(2, "step", "order")
    assert clock.snapshot() == {"rest": 0, "step": 4, "order": 2}


def test_it_measures_real_time() -> None:
    clock = Clock(CPU)
    with clock.part("sleep"):
        time.sleep(0.02)
    assert clock.seconds["sleep"] >= 0.02
