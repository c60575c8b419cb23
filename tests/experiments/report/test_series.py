"""Bundles of curves against the literal mean; repeats without all tasks take no part."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from references import report as literal

from orda.experiments.report.series import bundle, mean_curve

CURVES = st.lists(st.dictionaries(st.integers(0, 9), st.floats(-1e3, 1e3), max_size=8), max_size=4)


@given(CURVES)
def test_the_mean_is_taken_where_all_have_a_value(curves: list[dict[int, float]]) -> None:
    assert mean_curve(curves) == pytest.approx(literal.mean_curve(curves))


def run(task: str, repeat: int, **curve: float) -> Any:
    return SimpleNamespace(task=task, repeat=repeat, curve={int(key[1:]): value for key, value in curve.items()})


def test_a_repeat_without_all_tasks_takes_no_part() -> None:
    runs = [run("a", 0, s1=1.0, s2=2.0), run("b", 0, s1=3.0, s2=6.0), run("a", 1, s1=100.0), run("c", 0, s1=9.0)]
    found = bundle(runs, ["a", "b"], lambda each: each.curve)
    assert found.repeats == {0: {1: 2.0, 2: 4.0}}
    assert found.mean == {1: 2.0, 2: 4.0}
    assert not bundle(runs, ["a", "z"], lambda each: each.curve)
