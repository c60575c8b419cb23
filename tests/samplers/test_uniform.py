"""Uniform minibatches: independent draws, or epochs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from orda.errors import SettingError
from orda.records import Features
from orda.samplers.uniform import Uniform, epochs

ALARM = 1e-5  # the false-alarm rate of every statistical test here


def counts(index: np.ndarray, n: int) -> np.ndarray:
    return np.bincount(index.ravel(), minlength=n)


def test_with_replacement_all_draws_are_independent_and_uniform() -> None:
    features = Features(torch.zeros(5, 2), torch.zeros(7, 2))
    plan = Uniform().plan(features, 3, 20_000, np.random.default_rng(0))
    for index, n in ((plan.source.index.numpy(), 5), (plan.target.index.numpy(), 7)):
        pairs = counts(index[:, 0] * n + index[:, 2], n * n)  # two slots of a minibatch: every pair alike, i = i too
        assert stats.chisquare(pairs).pvalue > ALARM
        follow = counts(index[:-1, 1] * n + index[1:, 1], n * n)  # one slot in two minibatches that follow
        assert stats.chisquare(follow).pvalue > ALARM


@given(n=st.integers(1, 30), k=st.integers(1, 30), horizon=st.integers(1, 12), seed=st.integers(0, 2**32))
def test_an_epoch_shows_every_example_once(n: int, k: int, horizon: int, seed: int) -> None:
    k = min(n, k)
    index = epochs(n, k, horizon, np.random.default_rng(seed))
    assert index.shape == (horizon, k)
    assert all(len(set(row)) == k for row in index.tolist())  # distinct in a minibatch
    seen = np.zeros(n, dtype=int)
    for example in index.ravel():
        seen[example] += 1
        assert seen.max() - seen.min() <= 1  # at any moment as often as any other, or once more


@pytest.mark.parametrize(("n", "k"), [(5, 3), (4, 3), (3, 3)])  # epochs that end inside a minibatch, and not
def test_every_example_is_equally_likely_in_every_slot(n: int, k: int) -> None:
    rng = np.random.default_rng(1)
    index = np.stack([epochs(n, k, 4, rng) for _ in range(6_000)])
    for m in range(4):
        for slot in range(k):
            assert stats.chisquare(counts(index[:, m, slot], n)).pvalue > ALARM / (4 * k)


def test_minibatches_across_an_epochs_end_are_uniform_subsets() -> None:
    rng = np.random.default_rng(2)
    second = np.sort(np.stack([epochs(5, 3, 2, rng)[1] for _ in range(10_000)]), axis=1)  # 2 of epoch 1, 1 of epoch 2
    assert stats.chisquare(np.unique(second, axis=0, return_counts=True)[1]).pvalue > ALARM
    assert len(np.unique(second, axis=0)) == 10


def test_without_replacement_is_epochs() -> None:
    features = Features(torch.zeros(12, 2), torch.zeros(9, 2))
    plan = Uniform(replacement=False).plan(features, 3, 4, np.random.default_rng(0))
    assert counts(plan.source.index.numpy(), 12).tolist() == [1] * 12
    assert sorted(counts(plan.target.index.numpy(), 9).tolist()) == [1] * 6 + [2] * 3


def test_replacement_must_be_a_bool() -> None:
    with pytest.raises(SettingError, match="replacement must be True or False; got 'no'"):
        Uniform(replacement="no")  # type: ignore[arg-type]
