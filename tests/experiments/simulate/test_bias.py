"""The study ``bias``: which estimates it compares, what training does in it, and what it claims."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from orda.discrepancies import MMD
from orda.experiments.simulate.bias import Bias, estimated, of_spread_one
from orda.experiments.simulate.domains import labelled
from orda.experiments.simulate.featuriser import Schedule, spread, train
from orda.experiments.simulate.study import Row
from orda.samplers import Uniform


def test_every_sampler_has_every_estimate_that_it_can_draw_for() -> None:
    found = {
        (series, estimate): (d.estimator, getattr(s, "draws", None)) for series, estimate, d, s in estimated(MMD())
    }
    assert len(found) == 11
    assert ("uniform", "plug-in, two draws") not in found
    for series in ("stratified", "greedy", "assignment"):
        assert found[series, "plug-in"] == ("plug-in", 1)
        assert found[series, "plug-in, two draws"] == ("plug-in", 2)
        assert found[series, "unbiased"] == ("unbiased", 2)


def test_training_follows_from_its_seed_and_lowers_the_discrepancy() -> None:
    data = labelled(np.random.default_rng(0), 120, 100, 8, clusters=4, shift=0.5, skew=0.0)
    schedule, mmd = Schedule(steps=60, batch_size=8, horizon=10), MMD(gammas="median", estimator="unbiased")
    a, b, other = (train(data, mmd, Uniform(), 1.0, schedule, seed) for seed in (1, 1, 2))
    assert torch.equal(a.features.source, b.features.source)
    assert not torch.equal(a.features.source, other.features.source)
    alone = train(data, mmd, Uniform(), 0.0, schedule, 1)
    assert torch.equal(a.before.source, alone.before.source)
    assert alone.accuracy > 0.5 > 1 / 4  # four clusters: it has learnt something from the source
    assert mmd.reference(of_spread_one(a)) < mmd.reference(of_spread_one(alone))
    assert spread(of_spread_one(a)) == pytest.approx(1)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    study = Bias(batch_sizes=(16,), dimensions=(), penalties=(100.0,), steps=100, repeats=4)
    cells = [cell for cell in study.cells() if cell.config["discrepancy"] == "mmd"]
    return [row for cell in cells for row in study.compute(cell.config, study.seed_of(cell, 0))]


def mean(rows: list[Row], column: str, **equal: str) -> float:
    return float(np.mean([float(row[column]) for row in rows if all(row[k] == v for k, v in equal.items())]))


SERIES = ("uniform", "stratified", "greedy", "assignment")


@pytest.mark.slow
@pytest.mark.parametrize("series", SERIES)
def test_plug_in_estimates_are_mostly_bias_and_unbiased_ones_have_next_to_none(rows: list[Row], series: str) -> None:
    of = {"axis": "k", "series": series}
    plug_in = mean(rows, "error", estimate="plug-in", **of)
    unbiased = mean(rows, "error", estimate="unbiased", **of)
    assert plug_in > 0.3 * mean(rows, "d0", estimate="plug-in", **of)
    assert abs(unbiased) < 0.1 * plug_in


@pytest.mark.slow
@pytest.mark.parametrize("series", SERIES)
def test_large_penalties_on_plug_in_estimates_make_features_collapse(rows: list[Row], series: str) -> None:
    of = {"axis": "lambda", "series": series}
    for plug_in in ("plug-in", "plug-in, two draws")[: 1 if series == "uniform" else 2]:
        assert (
            mean(rows, "log_spread", estimate="unbiased", **of) > mean(rows, "log_spread", estimate=plug_in, **of) + 3
        )
        assert mean(rows, "accuracy", estimate="unbiased", **of) > mean(rows, "accuracy", estimate=plug_in, **of) + 0.2


@pytest.mark.slow
def test_a_low_error_of_the_value_is_no_low_error_of_the_gradient(rows: list[Row]) -> None:
    """What the figure shows against the unbiased orderings: D̂ by orders of magnitude, its gradient hardly."""
    of = {"axis": "k", "estimate": "unbiased"}
    assert mean(rows, "within", series="assignment", **of) < 1e-3 * mean(rows, "within", series="stratified", **of)
    ratio = mean(rows, "gradient_error", series="assignment", **of) / mean(
        rows, "gradient_error", series="stratified", **of
    )
    assert 0.5 < ratio < 2
    plan = {name: mean(rows, "plan_gradient_error", series=name, **of) for name in ("assignment", "stratified")}
    assert plan["assignment"] < plan["stratified"]  # over a whole plan it is the lower one


def test_settings_travel_into_the_config() -> None:
    assert replace(Bias.quick(), repeats=5).settings()["penalties"] == (1.0, 100.0)
