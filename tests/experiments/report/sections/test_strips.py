"""Strips: strata matched as brute force matches them, means by hand, images as they were."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from references import report as literal

from orda.experiments.report.sections.strips import data_uri, matched, means
from orda.records import Strata
from orda.seeds import generator


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_strata_are_matched_at_the_least_sum(seed: int, k: int) -> None:
    rng = generator(seed, "matched")
    source, target = (torch.from_numpy(rng.normal(size=(k, 3))) for _ in range(2))
    cost = torch.cdist(source, target).numpy()
    pairs = matched(source, target)
    assert sorted(i for i, _ in pairs) == sorted(j for _, j in pairs) == list(range(k))
    assert sum(cost[i, j] for i, j in pairs) == pytest.approx(literal.best_matching(cost))


def test_means_of_strata() -> None:
    z = torch.tensor([[1.0, 0.0], [3.0, 0.0], [5.0, 7.0]])
    strata = Strata(np.array([1, 1, 0]), np.array([1, 2]))
    assert means(z, strata).tolist() == [[5.0, 7.0], [2.0, 0.0]]


def test_small_images_are_kept_as_they_are() -> None:
    pixels = generator(0, "pixels").integers(0, 256, (8, 8, 3)).astype(np.uint8)
    kind, _, data = data_uri(pixels, lossless=True).partition(";base64,")
    assert kind == "data:image/png"
    assert (np.asarray(Image.open(io.BytesIO(base64.b64decode(data)))) == pixels).all()


def test_photographs_become_small() -> None:
    pixels = generator(0, "photograph").integers(0, 256, (224, 224, 3)).astype(np.uint8)
    uri = data_uri(pixels, lossless=False)
    assert uri.startswith("data:image/jpeg;base64,")
    assert len(uri) < 20_000
