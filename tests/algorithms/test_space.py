"""Random search: the distributions, and draws that do not move one another."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest

from orda.algorithms import ALGORITHMS, RUN_SPACE, DANNSettings, draw_settings, draw_values, make_settings
from orda.algorithms.space import Choice, Distribution, LogUniform, PowerOfTwo, Uniform
from orda.errors import SettingError

N = 20_000


def draws(distribution: Distribution) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.array([distribution.draw(rng) for _ in range(N)])


def assert_uniform(x: np.ndarray, low: float, high: float) -> None:
    """Kolmogorov–Smirnov distance below its 1e-6 quantile."""
    x = np.sort(x)
    distance = np.abs((x - low) / (high - low) - (np.arange(N) + 0.5) / N).max()
    assert low <= x[0]
    assert x[-1] <= high
    assert distance < math.sqrt(-math.log(5e-7) / 2 / N)


def test_uniform_and_its_powers() -> None:
    assert_uniform(draws(Uniform(1.5, 3.5)), 1.5, 3.5)
    assert_uniform(np.log10(draws(LogUniform(-5, -3.5))), -5, -3.5)


def test_powers_of_two_are_rounded_down() -> None:
    x = draws(PowerOfTwo(0, 3))
    assert x.dtype.kind == "i"
    for value in range(1, 8):  # P(⌊2^U⌋ = v) = log2((v + 1)/v) / 3
        expected = math.log2((value + 1) / value) / 3
        assert np.mean(x == value) == pytest.approx(expected, abs=5 * math.sqrt(expected / N))


def test_choices_are_equally_likely() -> None:
    x = draws(Choice((0.0, 0.1, 0.5)))
    assert all(np.mean(x == value) == pytest.approx(1 / 3, abs=0.02) for value in (0.0, 0.1, 0.5))


def test_a_new_name_moves_no_other() -> None:
    small = {"lr": LogUniform(-5, -3.5), "rho": Uniform(0, 1)}
    large = {"alpha": Uniform(0, 1), **small, "zeta": Choice((1, 2))}
    for number in range(1, 6):
        values = draw_values(large, 3, number)
        assert {name: values[name] for name in small} == draw_values(small, 3, number)
    reversed_order = draw_values(dict(reversed(small.items())), 3, 1)
    assert reversed_order == draw_values(small, 3, 1)


def test_seeds_numbers_and_names_give_different_streams() -> None:
    space = {"a": Uniform(0, 1), "b": Uniform(0, 1)}
    values = [draw_values(space, seed, number)[name] for seed in (0, 1) for number in (1, 2) for name in space]
    assert len(set(values)) == len(values)


def test_draw_zero_is_the_defaults() -> None:
    assert draw_values({"a": Uniform(0, 1)}, 0, 0) == {}
    for name in ALGORITHMS:
        assert draw_settings(name, 5, 0) == make_settings(name)
    with pytest.raises(SettingError, match="at least 0"):
        draw_values({}, 0, -1)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_name_of_a_space_is_a_setting_and_every_draw_is_in_range(name: str) -> None:
    kind = ALGORITHMS[name]
    assert set(kind.space) <= {field.name for field in fields(kind.settings_type)}
    drawn = [draw_settings(name, 1, number) for number in range(1, 60)]  # out of range would raise
    for setting in kind.space:
        assert len({getattr(settings, setting) for settings in drawn}) > 1, setting


def test_what_is_fixed_stays_and_moves_no_other() -> None:
    free, fixed = draw_settings("cdan-els", 1, 4), draw_settings("cdan-els", 1, 4, eps=0.05)
    assert fixed.eps == 0.05  # type: ignore[attr-defined]
    assert (fixed.lr, fixed.weight_decay) == (free.lr, free.weight_decay)


def test_the_alternating_form_of_dann_searches_its_own_settings() -> None:
    drawn = [draw_settings("dann", 0, number, form="alternating") for number in range(1, 30)]
    assert all(isinstance(settings, DANNSettings) and settings.form == "alternating" for settings in drawn)
    assert {settings.d_steps for settings in drawn} <= set(range(1, 8))  # type: ignore[attr-defined]
    assert len({settings.d_steps for settings in drawn}) > 2  # type: ignore[attr-defined]
    reversal = draw_settings("dann", 0, 1)
    assert (reversal.d_steps, reversal.grad_penalty) == (1, 0.0)  # type: ignore[attr-defined]
    assert reversal.lr == drawn[0].lr


def test_published_ranges() -> None:
    assert dict(RUN_SPACE) == {"batch_size": PowerOfTwo(3, 7), "dropout": Choice((0.0, 0.1, 0.5))}
    for name, kind in ALGORITHMS.items():
        assert kind.space["lr"] == LogUniform(-5, -3.5)
        assert kind.space["weight_decay"] == LogUniform(-6, -2)
        if name in ("coral", "mmd"):
            assert kind.space["penalty"] == LogUniform(-1, 1)
        if name.startswith(("dann", "cdan")):
            assert kind.space["penalty"] == LogUniform(-2, 2)
            assert kind.space["mlp_width"] == PowerOfTwo(6, 10)
