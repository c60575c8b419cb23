"""``stratify`` as a scikit-learn clusterer."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from orda.discrepancies.mmd import make_kernel
from orda.errors import SettingError
from orda.kernels import Kernel, Linear, RBFMixture, SquaredInner, slices
from orda.records import FloatArray, IntArray
from orda.seeds import as_generator
from orda.stratification.kernel_kmeans import stratify
from orda.stratification.moves import stratum_costs
from orda.stratification.sums import one_hot, to_numpy
from orda.threads import TILE, in_pieces


class SizeConstrainedKernelKMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel k-means with a minimum cluster size, for the objective Σ_h n_h SSE_h: large clusters should be tight.

    ``n_clusters``    how many
    ``min_size``      the smallest size allowed; lowered to ⌊n/k⌋, with a warning, where n is less than k times it
    ``kernel``        "linear", "rbf-mixture", "squared-inner" (about the mean of the data), or an orda.kernels.Kernel
    ``gammas``        of "rbf-mixture": numbers, or "median" (the default) to take the scale from the data
    ``max_iter``      sweeps at most
    ``random_state``  an int, a NumPy Generator or RandomState, or None for a fresh start each time

    Fitted: ``labels_`` (n,), ``cluster_sizes_`` (k,), ``inertia_`` the objective Σ_h n_h SSE_h (*not* Σ_h SSE_h),
    ``n_iter_`` sweeps, ``min_size_`` as used, ``n_features_in_``.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        min_size: int = 1,
        kernel: str | Kernel = "linear",
        gammas: tuple[float, ...] | Literal["median"] | None = None,
        max_iter: int = 30,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.min_size = min_size
        self.kernel = kernel
        self.gammas = gammas
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Cluster the rows of X. ``y`` is there for scikit-learn's sake and must say nothing."""
        del y
        points = self._points(X, reset=True)
        if isinstance(self.n_clusters, int) and len(points) < self.n_clusters:
            raise SettingError(
                "there must be at least as many samples as clusters",
                f"n_samples={len(points)}, n_clusters={self.n_clusters}",
                "Lower n_clusters, or pass more samples",
            )
        median = self.kernel == "rbf-mixture" and self.gammas is None
        kernel = make_kernel(self.kernel, "median" if median else self.gammas)
        about_mean = isinstance(kernel, (Linear, RBFMixture, SquaredInner))  # to the first two it is all the same
        self._centre = points.mean(0) if about_mean else points.new_zeros(points.shape[1])
        self._fitted = points - self._centre
        self._kernel = kernel.resolved(self._fitted)
        found = stratify(
            self._fitted,
            self._kernel,
            self.n_clusters,
            min_size=self.min_size,
            rng=_generator(self.random_state),
            max_sweeps=self.max_iter,
        )
        self.labels_ = found.strata.labels
        self.cluster_sizes_ = found.strata.sizes
        self.inertia_ = found.objective
        self.n_iter_ = found.sweeps
        self.min_size_ = found.min_size
        return self

    def predict(self, X: npt.ArrayLike) -> IntArray:
        """For each row the cluster whose n_h SSE_h it would raise least: argmin_h n_h ‖φ(x) − μ_h‖² + SSE_h.

        Rows are looked at one by one, and no size is minded. Of the fitted rows themselves it gives ``labels_``, except
        where the minimum size holds a row back, or a fit stopped early.
        """
        check_is_fitted(self)
        points = (self._points(X, reset=False).to(self._centre.dtype) - self._centre).double()
        fitted, members = self._fitted.double(), one_hot(torch.from_numpy(self.labels_), len(self.cluster_sizes_))
        traces = to_numpy(members @ self._kernel.diagonal(fitted))

        def costs(rows: slice) -> FloatArray:
            some = points[rows]
            sums = torch.zeros(len(members), len(some), dtype=torch.float64)
            for columns in slices(len(fitted), TILE):
                sums += members[:, columns] @ self._kernel.gram(fitted[columns], some)
            return stratum_costs(sums.numpy(), to_numpy(self._kernel.diagonal(some)), self.cluster_sizes_, traces)

        found = [cost.argmin(0) for cost in in_pieces(costs, slices(len(points), TILE))]
        return np.concatenate(found).astype(np.int64)

    def _points(self, X: npt.ArrayLike, reset: bool) -> Tensor:
        array = validate_data(self, X, reset=reset, dtype=(np.float64, np.float32))
        return torch.from_numpy(np.array(array, order="C"))


def _generator(state: Any) -> np.random.Generator:
    if state is None:
        return np.random.default_rng()
    if isinstance(state, np.random.RandomState):
        return np.random.default_rng(state.randint(2**31, size=4))
    return as_generator(state, "stratify")
