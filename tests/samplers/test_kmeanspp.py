"""D² sampling against its literal twin and its enumerated law."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from references import samplers as literal
from scipy import stats

from orda.records import Features
from orda.samplers import kmeanspp
from orda.samplers.baseline import standardised
from orda.samplers.kmeanspp import KMeansPlusPlus, d2_picks

ALARM = 1e-5


@given(
    n=st.integers(1, 25), d=st.integers(1, 6), k=st.integers(1, 8), block=st.integers(1, 30), seed=st.integers(0, 2**32)
)
def test_same_picks_as_the_literal_loop(n: int, d: int, k: int, block: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    z, uniforms = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4), rng.random((4, min(n, k)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kmeanspp, "BLOCK", block)
        picks = d2_picks(torch.from_numpy(z), uniforms)
    assert picks.tolist() == [literal.d2_sampling(z, row) for row in uniforms]


def test_law_of_ordered_minibatches() -> None:
    """Chi-square of all ordered triples of five points, one far off, against the product of D² probabilities."""
    z = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.5, 0.5], [2.5, 2.0]])
    law = literal.d2_law(z, 3)
    features = Features(torch.from_numpy(z), torch.from_numpy(z))
    index = KMeansPlusPlus().plan(features, 3, 30_000, np.random.default_rng(0)).source.index
    drawn = Counter(map(tuple, index.tolist()))
    expected = np.array([law[picks] * 30_000 for picks in law])
    assert expected.min() > 5
    assert stats.chisquare([drawn[picks] for picks in law], expected).pvalue > ALARM
    uniform = np.full(len(law), 30_000 / len(law))  # and the test can fail
    assert stats.chisquare([drawn[picks] for picks in law], uniform).pvalue < ALARM


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_copies_come_last_and_uniformly(offset: float, dtype: torch.dtype) -> None:
    """Three distinct points, of which one has four copies: each is seen once before any copy, the rest is uniform."""
    values = np.array([[0.3, 0.1], [0.7, 0.2], [0.9, 0.8]]) + offset
    z = values[[0, 0, 0, 0, 1, 2]]
    features = Features(torch.tensor(z, dtype=dtype), torch.tensor(z, dtype=dtype))
    index = KMeansPlusPlus().plan(features, 5, 3_000, np.random.default_rng(0)).source.index.numpy()
    place = np.array([0, 0, 0, 0, 1, 2])[index]
    assert all(set(row) == {0, 1, 2} for row in place[:, :3].tolist())
    assert all(len(set(row)) == 5 for row in index.tolist())
    copies = Counter(tuple(sorted(row[3:])) for row in index.tolist())
    assert len(copies) == 6  # every pair of copies is left over
    assert stats.chisquare(list(copies.values())).pvalue > ALARM


def test_identical_points_are_drawn_uniformly_without_replacement() -> None:
    features = Features(torch.full((4, 3), 0.1), torch.full((4, 3), 1e30))
    index = KMeansPlusPlus().plan(features, 4, 4_800, np.random.default_rng(0)).target.index
    drawn = Counter(map(tuple, index.tolist()))
    assert stats.chisquare([drawn[order] for order in permutations(range(4))]).pvalue > ALARM


@pytest.mark.parametrize("factor", [1e-180, 1e180])
def test_any_scale_gives_the_same_plan(factor: float) -> None:
    z = torch.from_numpy(np.random.default_rng(0).normal(size=(40, 5)))
    plans = [KMeansPlusPlus().plan(Features(y, y), 6, 9, np.random.default_rng(1)) for y in (z, z * factor)]
    assert torch.equal(plans[0].source.index, plans[1].source.index)


def test_an_outlier_does_not_hide_the_distances_of_the_others() -> None:
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.normal(size=(30, 4)), [[1e6, 0, 0, 0]]])
    uniforms = rng.random((200, 5))
    picks = d2_picks(standardised(torch.from_numpy(z)), uniforms)
    assert picks.tolist() == [literal.d2_sampling(z, row) for row in uniforms]


def test_minibatches_planned_in_several_pieces_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    z = torch.from_numpy(np.random.default_rng(0).normal(size=(50, 3)))
    whole = KMeansPlusPlus().plan(Features(z, z), 5, 12, np.random.default_rng(3))
    monkeypatch.setattr(kmeanspp, "block_rows", lambda columns, size: 5)
    pieces = KMeansPlusPlus().plan(Features(z, z), 5, 12, np.random.default_rng(3))
    assert torch.equal(whole.source.index, pieces.source.index)


def test_an_aim_past_the_last_sum_takes_the_last_example_with_a_mass() -> None:
    masses = np.array([[0.5, 0.25, 0.0]])
    position, inside = kmeanspp._first_above(masses, np.array([0.75]))
    assert position.tolist() == [1]
    assert inside.tolist() == [0.25]
