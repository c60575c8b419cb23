"""The primitive S, in its three ways, against kernel values point by point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import references.stratification as literal
import torch
from references.card import CARD, Ledger, card
from torch import Tensor

from orda.kernels import Kernel, Linear, RBFMixture, SquaredInner, gram_matrix
from orda.stratification.explicit import ExplicitSums
from orda.stratification.kernel_kmeans import Centroids, stratum_sums
from orda.stratification.products import share_by_products
from orda.stratification.stripes import GramSums, Workspace, gram_bytes
from orda.stratification.sums import StratumSums, one_hot

GAMMAS = (0.02, 0.2, 2.0)
PAIRS = [
    (Linear(), literal.linear),
    (SquaredInner(), literal.squared_inner),
    (RBFMixture(GAMMAS), literal.rbf_mixture(GAMMAS)),
]
BUDGETS = {"gram": 2**30, "blocks": 0}


class Inexplicit(Linear):
    """The linear kernel, as if φ were not known."""

    def explicit(self, x: Tensor) -> Tensor | None:
        return None


def normal(n: int, d: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, d))).to(dtype)


def random_labels(n: int, k: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([np.arange(k), rng.integers(0, k, n - k)])[rng.permutation(n)]


def ways(points: Tensor, kernel: Kernel, k: int) -> dict[str, StratumSums]:
    """Every way to S that there is for the kernel, and the GPU's way on the CPU."""
    found = {name: stratum_sums(points, kernel, k, budget) for name, budget in BUDGETS.items()}
    for name in BUDGETS:
        inexplicit = Inexplicit() if kernel == Linear() else kernel
        workspace = Workspace() if name == "gram" else None
        found[name + ", as on a GPU"] = GramSums(points, inexplicit, k, workspace, additions=False)
    return found


def direct(gram: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    return np.stack([gram[labels == h].sum(0) for h in range(k)])


@pytest.mark.parametrize(("kernel", "function"), PAIRS)
def test_distances_and_objective_are_the_papers(kernel: Kernel, function: literal.KernelFunction) -> None:
    points, labels = normal(23, 3), random_labels(23, 4, 1)
    gram = literal.gram(function, points.numpy())
    for sums in ways(points, kernel, 4).values():
        centroids = Centroids.of(sums, labels)
        np.testing.assert_allclose(centroids.distances(), literal.distances(gram, labels, 4), rtol=1e-9, atol=1e-9)
        assert centroids.objective == pytest.approx(literal.objective(gram, labels, 4), rel=1e-10)
        assert sums.mean_kernel() == pytest.approx(gram.mean(), rel=1e-10)


@pytest.mark.parametrize("kernel", [Inexplicit(), RBFMixture(GAMMAS)])
@pytest.mark.parametrize("n", [383, 384, 385, 1000])
def test_s_over_several_stripes(kernel: Kernel, n: int) -> None:
    points, labels = normal(n, 4), random_labels(n, 6, n)
    expected = direct(kernel.gram(points, points).numpy(), labels, 6)
    for sums in ways(points, kernel, 6).values():
        np.testing.assert_allclose(sums.at(labels), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kernel", [Linear(), RBFMixture(GAMMAS)])
def test_s_after_moves_is_s_from_nothing(kernel: Kernel) -> None:
    n, k = 900, 5
    points, labels = normal(n, 3), random_labels(n, k, 0)
    chains = ways(points, kernel, k)
    for count in (1, 7, 200, 0, 600, 899):  # from one point to more than an update is worth
        rng = np.random.default_rng(count)
        labels = labels.copy()
        labels[rng.choice(n, count, replace=False)] = rng.integers(0, k, count)
        for name, sums in chains.items():
            fresh = stratum_sums(points, Inexplicit() if "GPU" in name and kernel == Linear() else kernel, k, 2**30)
            np.testing.assert_allclose(sums.at(labels), fresh.at(labels), rtol=1e-9, atol=1e-10, err_msg=name)


def test_few_moves_do_not_touch_the_whole_gram(monkeypatch: pytest.MonkeyPatch) -> None:
    points, labels = normal(900, 3), random_labels(900, 5, 0)
    sums = stratum_sums(points, RBFMixture(GAMMAS), 5, 2**30)
    sums.at(labels)
    monkeypatch.setattr(GramSums, "_compute", lambda *_: pytest.fail("computed from nothing"))
    moved = labels.copy()
    moved[:100] = (moved[:100] + 1) % 5
    sums.at(moved)


def test_columns_and_values_among_some_points() -> None:
    points = normal(800, 3)
    gram = RBFMixture(GAMMAS).gram(points, points).numpy()
    some = np.array([3, 799, 400, 383, 384])
    for sums in ways(points, RBFMixture(GAMMAS), 3).values():
        for index in some:
            np.testing.assert_allclose(sums.column(int(index)), gram[index], rtol=1e-11)
        np.testing.assert_allclose(sums.among(some), gram[np.ix_(some, some)], rtol=1e-11)
        np.testing.assert_allclose(sums.diagonal, np.diag(gram), rtol=1e-11)


def test_explicit_features_are_about_their_mean_and_distances_as_before() -> None:
    points = normal(700, 5) + 1000
    sums = ExplicitSums(points, 3)
    for index in (0, 511, 512, 699):
        squared = sums.diagonal + sums.diagonal[index] - 2 * sums.column(index)
        np.testing.assert_allclose(squared, (points - points[index]).square().sum(1).numpy(), rtol=1e-9, atol=1e-9)
    assert sums.mean_kernel() == pytest.approx(float(points.mean(0).square().sum()), rel=1e-12)


def test_explicit_features_keep_their_digits_far_from_the_origin() -> None:
    """float32 points about (1000, …): through uncentred products their distances would be lost altogether."""
    points = (normal(300, 4) * 0.01 + 1000).float()
    labels = random_labels(300, 4, 0)
    exact = points.double().numpy()
    centres = np.stack([exact[labels == h].mean(0) for h in range(4)])
    expected = ((exact[:, None] - centres[None]) ** 2).sum(-1)
    found = Centroids.of(stratum_sums(points, Linear(), 4, 0), labels).distances()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_gpus_share_of_a_stripe_is_the_sum_over_its_pairs() -> None:
    points, labels = normal(40, 2), random_labels(40, 3, 0)
    gram = gram_matrix(RBFMixture(GAMMAS), points)
    height = 12
    share = share_by_products(gram[:height], one_hot(torch.from_numpy(labels), 3)).numpy()
    expected = np.zeros((3, 40))
    for i in range(height):
        for j in range(40):
            expected[labels[j], i] += gram[i, j]
            if j >= height:
                expected[labels[i], j] += gram[i, j]
    np.testing.assert_allclose(share, expected, rtol=1e-12)


def test_float32_kernel_values_are_added_up_in_float64() -> None:
    points, labels = normal(2000, 2, dtype=torch.float32), random_labels(2000, 2, 0)
    gram = gram_matrix(RBFMixture((1e-3,)), points).double().numpy()  # values near 1: a float32 sum would lose digits
    sums = stratum_sums(points, RBFMixture((1e-3,)), 2, 2**30)
    np.testing.assert_allclose(sums.at(labels), direct(gram, labels, 2), rtol=1e-12)


def test_the_way_is_the_first_that_is_open() -> None:
    points = normal(1000, 3)
    need = gram_bytes(points)
    assert stratum_sums(points, Linear(), 3, 0).method == "explicit"
    assert stratum_sums(points, RBFMixture(GAMMAS), 3, need).method == "gram"
    assert stratum_sums(points, RBFMixture(GAMMAS), 3, need - 1).method == "blocks"
    assert 0.5 * 1000**2 * 8 < need < 0.75 * 1000**2 * 8  # half the matrix, and half the diagonal blocks


def test_blocks_are_never_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workspace, "take", lambda *_: pytest.fail("took memory"))
    stratum_sums(normal(500, 2), RBFMixture(GAMMAS), 3, 0).at(random_labels(500, 3, 0))


def test_a_workspace_lies_where_it_lay() -> None:
    workspace, like = Workspace(), torch.zeros(1)
    first = workspace.take(1000, like)
    assert workspace.take(700, like).data_ptr() == first.data_ptr()
    assert len(workspace.take(700, like)) == 700
    assert len(workspace.take(2000, like)) == 2000  # grows
    assert workspace.take(10, like.double()).dtype == torch.float64


# ---- on a GPU --------------------------------------------------------------------------------------------------------

REQUESTS: dict[str, Callable[[StratumSums, np.ndarray], np.ndarray]] = {
    "from nothing": lambda sums, labels: sums.at(labels),
    "after moves": lambda sums, labels: sums.at(np.where(np.arange(len(labels)) < 40, 0, labels)),
    "a column": lambda sums, labels: sums.column(2500),
    "among some": lambda sums, labels: sums.among(np.arange(0, len(labels), 7)),
    "V": lambda sums, labels: sums.within(labels),
    "distances": lambda sums, labels: sums.distances(labels, np.bincount(labels, minlength=5), np.zeros(5)),
}


def to_host(ledger: Ledger) -> int:
    return sum(not copy.to_card for copy in ledger.copies)


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_what_is_asked_of_a_gpu_comes_over_at_once(budget: int) -> None:
    """And is what the same products are on the CPU. The points make three stripes."""
    points, k = normal(3000, 4, dtype=torch.float32), 5
    labels = random_labels(3000, k, 0)
    with card() as ledger:
        there = stratum_sums(points.to(CARD), RBFMixture(GAMMAS), k, budget)
        found = {}
        for name, request in REQUESTS.items():
            ledger.clear()
            found[name] = request(there, labels).copy()
            assert to_host(ledger) == 1, name
    here = stratum_sums(points, RBFMixture(GAMMAS), k, budget)
    for name, request in REQUESTS.items():
        np.testing.assert_allclose(found[name], request(here, labels), rtol=1e-5, atol=1e-5, err_msg=name)


def test_explicit_features_come_over_once_however_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orda.stratification.explicit.DEVICE_PIECE", 256)
    points, labels = normal(1000, 4), random_labels(1000, 5, 0)
    with card() as ledger:
        there = stratum_sums(points.to(CARD), Linear(), 5, 0)
        ledger.clear()
        column = there.column(700)
        assert to_host(ledger) == 1
        distances = Centroids.of(there, labels).distances()
    here = stratum_sums(points, Linear(), 5, 0)
    np.testing.assert_allclose(column, here.column(700), rtol=1e-12)
    np.testing.assert_allclose(distances, Centroids.of(here, labels).distances(), rtol=1e-9)
