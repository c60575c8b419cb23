"""Maps: principal components by another way, whatever the sign."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from references import report as literal

from orda.experiments.report.sections.maps import principal_plane
from orda.records import Features
from orda.seeds import generator


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 7))
def test_the_plane_is_that_of_the_first_eigenvectors(seed: int, d: int) -> None:
    rng = generator(seed, "maps")
    z = rng.normal(size=(20, d)) * rng.uniform(0.1, 5, d) + rng.normal(size=d)
    source, target, share = principal_plane(Features(torch.from_numpy(z[:12]), torch.from_numpy(z[12:])))
    expected, expected_share = literal.principal_plane(z)
    found = np.concatenate([source, target])
    for column in range(2):
        sign = np.sign((found[:, column] * expected[:, column]).sum())
        assert np.allclose(found[:, column], sign * expected[:, column], atol=1e-6)
    assert share == pytest.approx(expected_share)


def test_a_plane_of_one_feature_or_of_one_point() -> None:
    flat = principal_plane(Features(torch.arange(4.0)[:, None], torch.arange(3.0)[:, None]))
    assert flat[0].shape == (4, 2)
    assert flat[2] == 1.0
    still = principal_plane(Features(torch.ones(2, 3), torch.ones(2, 3)))
    assert np.allclose(still[0], 0)
