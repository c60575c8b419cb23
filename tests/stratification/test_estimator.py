"""The scikit-learn face: its contract, and that it is ``stratify`` behind it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import references.stratification as literal
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from orda import stratification
from orda.errors import SettingError, StratumWarning, UnknownName
from orda.kernels import Linear, RBFMixture
from orda.seeds import generator
from orda.stratification import SizeConstrainedKernelKMeans, moves, stratify

KERNELS = ["linear", "rbf-mixture", "squared-inner"]


def clusters(n: int = 120, d: int = 3, count: int = 5, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, d))[rng.integers(0, count, n)] + 0.3 * rng.standard_normal((n, d))


@parametrize_with_checks(
    [SizeConstrainedKernelKMeans(), SizeConstrainedKernelKMeans(3, min_size=3, kernel="rbf-mixture")]
)
def test_scikit_learns_contract(estimator: SizeConstrainedKernelKMeans, check: Any) -> None:
    check(estimator)


def test_it_is_stratify() -> None:
    x = clusters()
    centred = torch.from_numpy(x - x.mean(0))
    for kernel, ours in (("linear", Linear()), ("rbf-mixture", RBFMixture("median"))):
        fitted = SizeConstrainedKernelKMeans(4, min_size=10, kernel=kernel, random_state=3).fit(x)
        found = stratify(centred, ours, 4, min_size=10, rng=generator(3, "stratify"))
        np.testing.assert_array_equal(fitted.labels_, found.strata.labels)
        np.testing.assert_array_equal(fitted.cluster_sizes_, found.strata.sizes)
        assert fitted.inertia_ == pytest.approx(found.objective, rel=1e-9)
        assert (fitted.n_iter_, fitted.min_size_, fitted.n_features_in_) == (found.sweeps, 10, 3)


def test_inertia_is_the_weighted_objective() -> None:
    x = clusters()
    fitted = SizeConstrainedKernelKMeans(4, random_state=0).fit(x)
    assert fitted.inertia_ == pytest.approx(literal.objective(x @ x.T, fitted.labels_, 4), rel=1e-9)
    weighted = sum(
        (fitted.labels_ == h).sum() * ((x[fitted.labels_ == h] - x[fitted.labels_ == h].mean(0)) ** 2).sum()
        for h in range(4)
    )
    assert fitted.inertia_ == pytest.approx(weighted, rel=1e-9)


def test_squared_inner_products_are_about_the_mean() -> None:
    x = clusters()
    one, other = (SizeConstrainedKernelKMeans(4, kernel="squared-inner", random_state=0).fit(x + c) for c in (0, 5))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    gram = ((x - x.mean(0)) @ (x - x.mean(0)).T) ** 2
    assert one.inertia_ == pytest.approx(literal.objective(gram, one.labels_, 4), rel=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_new_point_goes_where_it_raises_the_objective_least(kernel: str) -> None:
    x, new = clusters(60), clusters(15, seed=0) + 0.1
    fitted = SizeConstrainedKernelKMeans(4, kernel=kernel, random_state=0).fit(x)
    both = np.concatenate([x, new]) - x.mean(0)
    gram = fitted._kernel.gram(torch.from_numpy(both), torch.from_numpy(both)).numpy()
    for j, label in enumerate(fitted.predict(new)):
        some = [*range(60), 60 + j]
        rises = [literal.objective(gram[np.ix_(some, some)], [*fitted.labels_, h], 4) for h in range(4)]
        assert label == int(np.argmin(rises))


@pytest.mark.parametrize("kernel", KERNELS)
def test_of_the_fitted_points_predict_gives_the_labels(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "SETTLED", 0.0)
    monkeypatch.setattr(moves, "ROUNDS", 1000)
    x = clusters(900, 3, 8)  # several tiles
    fitted = SizeConstrainedKernelKMeans(5, kernel=kernel, random_state=0).fit(x)
    np.testing.assert_array_equal(fitted.predict(x), fitted.labels_)


def test_predict_takes_other_dtypes_than_fit() -> None:
    x = clusters()
    fitted = SizeConstrainedKernelKMeans(4, random_state=0).fit(x.astype(np.float32))
    np.testing.assert_array_equal(fitted.predict(x), fitted.predict(x.astype(np.float32)))


def test_a_minimum_size_is_kept_and_lowered_with_a_warning() -> None:
    x = clusters(50)
    assert SizeConstrainedKernelKMeans(8, min_size=6, random_state=0).fit(x).cluster_sizes_.min() == 6
    with pytest.warns(StratumWarning, match="lowered to 6"):
        fitted = SizeConstrainedKernelKMeans(8, min_size=20, random_state=0).fit(x)
    assert fitted.min_size_ == 6


@pytest.mark.parametrize("make", [lambda: 0, lambda: np.random.RandomState(0), lambda: np.random.default_rng(0)])
def test_a_random_state_decides(make: Any) -> None:
    x, state = clusters(300, 3, 12), make()
    one, again = (SizeConstrainedKernelKMeans(6, random_state=make()).fit(x).labels_ for _ in range(2))
    np.testing.assert_array_equal(one, again)
    first, second = (SizeConstrainedKernelKMeans(6, random_state=state).fit(x).labels_ for _ in range(2))
    np.testing.assert_array_equal(first, one)
    assert np.array_equal(second, one) == isinstance(state, int)  # a generator goes on from where it is


def test_no_random_state_leaves_the_global_one_alone() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[union-attr] # noqa: NPY002
    SizeConstrainedKernelKMeans(4).fit(clusters())
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_settings_are_read_at_fit_only() -> None:
    estimator = SizeConstrainedKernelKMeans(0, kernel="nonsense")
    assert clone(estimator).kernel == "nonsense"
    with pytest.raises(UnknownName, match="kernel"):
        estimator.fit(clusters())
    with pytest.raises(SettingError, match="k must be"):
        estimator.set_params(kernel="linear").fit(clusters())
    with pytest.raises(SettingError, match="gammas goes with"):
        SizeConstrainedKernelKMeans(gammas=(1.0,)).fit(clusters())
    with pytest.raises(SettingError, match="n_samples=5, n_clusters=8"):
        SizeConstrainedKernelKMeans().fit(clusters(5))
    with pytest.raises(SettingError, match="seed must be"):
        SizeConstrainedKernelKMeans(random_state="x").fit(clusters())  # type: ignore[arg-type]
    with pytest.raises(NotFittedError):
        SizeConstrainedKernelKMeans().predict(clusters())


def test_gammas_and_kernels_of_ones_own() -> None:
    x = clusters()
    named = SizeConstrainedKernelKMeans(4, kernel="rbf-mixture", gammas=(0.1, 1.0), random_state=0).fit(x)
    given = SizeConstrainedKernelKMeans(4, kernel=RBFMixture((0.1, 1.0)), random_state=0).fit(x)
    np.testing.assert_array_equal(named.labels_, given.labels_)
    assert named.inertia_ == given.inertia_


@pytest.mark.slow
def test_the_room_opens_without_scikit_learn_and_fetches_the_estimator_by_name() -> None:
    code = (
        "import sys, orda.stratification as s; before = 'orda.stratification.estimator' in sys.modules; "
        "s.SizeConstrainedKernelKMeans; print(before, 'sklearn.base' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["False", "True"]
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = stratification.Nothing  # type: ignore[attr-defined]
