"""Axes: order is kept, ends are ends, ticks are round and on the axis."""

from __future__ import annotations

from itertools import pairwise
from math import log10

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orda.experiments.report.draw import Scale

FINITE = st.floats(-1e6, 1e6, allow_nan=False).map(lambda v: round(v, 6))
POSITIVE = st.floats(1e-9, 1e9)


@given(st.lists(FINITE, min_size=1, max_size=6), st.booleans())
def test_a_linear_axis_holds_its_values_in_order(values: list[float], zero: bool) -> None:
    scale = Scale.over(values, zero=zero)
    places = [scale(v) for v in sorted(values)]
    assert all(0 <= place <= 1 for place in places)
    assert places == sorted(places)
    assert (scale(scale.low), scale(scale.high)) == (0, 1)
    assert not zero or scale.low <= 0 <= scale.high


@given(st.lists(POSITIVE, min_size=1, max_size=6))
def test_a_logarithmic_axis_keeps_ratios(values: list[float]) -> None:
    scale = Scale.over(values, log=True)
    length = log10(scale.high) - log10(scale.low)
    for value in values:
        assert scale(value) == pytest.approx((log10(value) - log10(scale.low)) / length, abs=1e-9)


@given(st.lists(FINITE, min_size=2, max_size=5), st.booleans())
def test_ticks_are_on_the_axis_and_evenly_apart(values: list[float], zero: bool) -> None:
    scale = Scale.over(values, zero=zero)
    ticks = [value for value, _ in scale.ticks()]
    slack = 1e-6 * (scale.high - scale.low) + 1e-12
    assert 2 <= len(ticks) <= 7
    assert all(scale.low - slack <= tick <= scale.high + slack for tick in ticks)
    steps = [b - a for a, b in pairwise(ticks)]
    assert max(steps) == pytest.approx(min(steps), rel=1e-3, abs=1e-9)


@given(POSITIVE, st.floats(1.5, 1e8))
def test_ticks_of_a_logarithmic_axis_are_on_it(low: float, ratio: float) -> None:
    scale = Scale(low, low * ratio, log=True)
    assert all(low <= value <= low * ratio for value, _ in scale.ticks())
    assert ratio < 1e2 or scale.ticks()


@pytest.mark.parametrize(
    ("scale", "value", "text"),
    [
        (Scale(0, 1), 0.25, "0.25"),
        (Scale(0, 1), 0.0, "0"),
        (Scale(-1, 1), -0.5, "−0.5"),
        (Scale(0, 1, numbers="percent"), 0.125, "12.5 %"),
        (Scale(-9, 9, numbers="signed"), 5.0, "+5"),
        (Scale(-9, 9, numbers="signed"), -5.0, "−5"),
        (Scale(-9, 9, numbers="signed"), 0.0, "0"),
        (Scale(1e-9, 1, log=True), 1e-5, "10⁻⁵"),
        (Scale(1e-9, 1, log=True), 3e-5, "3·10⁻⁵"),
        (Scale(0, 1e-3), 0.00015, "1.5·10⁻⁴"),
        (Scale(0, 1e5), 20000.0, "20,000"),
        (Scale(1, 1e9, log=True), 1e6, "10⁶"),
    ],
)
def test_numbers_are_written_as_people_write_them(scale: Scale, value: float, text: str) -> None:
    assert scale.text(value) == text


def test_what_is_not_finite_or_not_positive_takes_no_part() -> None:
    assert Scale.over([1.0, 2.0, float("nan"), float("inf")], margin=0).high == 2.0
    assert Scale.over([-1.0, 0.0, 1.0, 100.0], log=True, margin=0).low == 1.0
    assert Scale.over([]).ticks()
