"""Errors of estimates in units of D0², against the literal ones; and what the page says of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from experiments.report.reading import read
from hypothesis import given
from hypothesis import strategies as st
from references import report as literal

from orda.experiments.report import Chapter
from orda.experiments.report.sections.estimates import assessed_rows, estimates_section, relative_errors
from orda.experiments.report.sections.summary import error_ratios
from orda.planning import Assessment

VALUES = st.lists(st.lists(st.floats(0.1, 10), min_size=3, max_size=3), min_size=1, max_size=4)


@given(VALUES, st.floats(0.1, 10))
def test_errors_are_those_of_the_estimates(values: list[list[float]], d0: float) -> None:
    lines = [{key: getattr(Assessment(d0, np.array(v)), key) for key in ("d0", "bias", "variance")} for v in values]
    run: Any = SimpleNamespace(assessments=lines)
    found = relative_errors([run])
    assert found is not None
    assert (found.bias_squared, found.variance) == pytest.approx(
        literal.relative_errors([d0] * len(values), values), rel=1e-9, abs=1e-12
    )


def test_ratios_are_those_that_were_recorded(chapter: Chapter) -> None:
    # D̂ of uniform is off by 0.1 D0 with twice that deviation, D̂ of ordered by 0.001 D0
    assert assessed_rows(chapter) == ["CORAL", "CORAL + ORDERED"]
    ((first, last, ratio),) = error_ratios(chapter)
    assert (first, last) == ("CORAL", "CORAL + ORDERED")
    assert ratio == pytest.approx(1e-4)


def test_without_records_the_remedy_is_told() -> None:
    config = SimpleNamespace(algorithm=SimpleNamespace(name="coral"))
    run = SimpleNamespace(row="CORAL", config=config, assessments=[])
    bare: Any = SimpleNamespace(rows=["CORAL"], of=lambda row: [run], results=None, tasks={})
    assert "assess: true" in read(estimates_section(bare, "")).text
