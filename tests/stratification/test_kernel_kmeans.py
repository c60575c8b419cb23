"""Kernel k-means with a minimum size: against its literal twin, its laws, and inputs that are awkward."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import references.stratification as literal
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor

from orda.errors import FeatureError, InputError, SettingError, StratumWarning
from orda.kernels import Kernel, Linear, RBFMixture, SquaredInner
from orda.records import Strata
from orda.stratification import Stratification, Workspace, draw_independent, stratify
from orda.stratification.kernel_kmeans import plus_plus, stratum_sums

GAMMAS = (0.02, 0.2, 2.0)
PAIRS = [
    (Linear(), literal.linear),
    (SquaredInner(), literal.squared_inner),
    (RBFMixture(GAMMAS), literal.rbf_mixture(GAMMAS)),
]
KERNELS = [kernel for kernel, _ in PAIRS]


class Inexplicit(Linear):
    """The linear kernel, as if φ were not known."""

    def explicit(self, x: Tensor) -> Tensor | None:
        return None


def normal(n: int, d: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, d))).to(dtype)


def clusters(n: int, d: int, count: int, seed: int = 0, spread: float = 0.3) -> Tensor:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((count, d))
    return torch.from_numpy(centres[rng.integers(0, count, n)] + spread * rng.standard_normal((n, d)))


def run(points: Tensor, kernel: Kernel, k: int, seed: int = 0, **settings: object) -> Stratification:
    return stratify(points, kernel, k, rng=np.random.default_rng(seed), **settings)  # type: ignore[arg-type]


def sound(found: Stratification, n: int, k: int) -> bool:
    """Labels and sizes agree, and no stratum is short."""
    labels, sizes = found.strata.labels, found.strata.sizes
    counted = np.array_equal(np.bincount(labels, minlength=k), sizes) and len(sizes) == k and len(labels) == n
    return counted and sizes.min() >= max(found.min_size, 1) and labels.dtype == np.int64


def same(one: Stratification, other: Stratification) -> bool:
    """Bit for bit, in everything but the seconds."""
    fields = ("objective", "objectives", "sweeps", "moves", "min_size", "mean_kernel", "method")
    alike = all(getattr(one, name) == getattr(other, name) for name in fields)
    return alike and np.array_equal(one.strata.labels, other.strata.labels)


# ── against the literal twin ──


@pytest.mark.parametrize(("kernel", "function"), PAIRS)
@pytest.mark.parametrize("budget", [2**30, 0])
def test_the_objective_is_the_sum_over_pairs(kernel: Kernel, function: literal.KernelFunction, budget: int) -> None:
    points = clusters(60, 3, 5)
    gram = literal.gram(function, points.numpy())
    for moves in (False, True):
        found = run(points, kernel, 4, min_size=7, moves=moves, memory_budget=budget)
        assert found.objective == pytest.approx(literal.objective(gram, found.strata.labels, 4), rel=1e-8)
        assert found.mean_kernel == pytest.approx(gram.mean(), rel=1e-8)


@pytest.mark.parametrize(("kernel", "function"), PAIRS)
@pytest.mark.parametrize("seed", range(3))
def test_the_sweeps_are_the_papers(kernel: Kernel, function: literal.KernelFunction, seed: int) -> None:
    """From given labels and with the same orders, the same labels and objectives, sweep by sweep."""
    n, k, n_min, count = 45, 4, 8, 5
    points = clusters(n, 2, 6, seed)
    start = np.random.default_rng(seed).permutation(np.arange(n) % k)
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(n).tolist() for _ in range(count)]
    found = run(points, kernel, k, seed, min_size=n_min, start=start, max_sweeps=count, patience=count, moves=False)
    gram = literal.gram(function, points.numpy())
    best, objectives = literal.sweeps(gram, start.tolist(), k, n_min, orders[: found.sweeps])
    np.testing.assert_allclose(found.objectives, objectives, rtol=1e-9)
    assert found.sweeps == count or objectives[-1] == pytest.approx(objectives[-2], rel=1e-12)  # labels stayed
    np.testing.assert_array_equal(found.strata.labels, best)
    assert found.objective == min(found.objectives)


def test_the_centres_are_drawn_in_proportion_to_their_squared_distance() -> None:
    """Of six points on a line: the first uniformly, the second ∝ D² to it."""
    line = torch.tensor([[0.0], [1.0], [3.0], [7.0], [8.0], [20.0]], dtype=torch.float64)
    torch.set_num_threads(1)  # no workers to start for six points
    sums, rng, draws = stratum_sums(line, Linear(), 3, 0), np.random.default_rng(0), 4000
    x = line[:, 0].numpy()
    counts, expected = np.zeros((6, 6)), np.empty((6, 6))
    for _ in range(draws):
        p = plus_plus(sums, rng)
        first, second, _ = (int(column.argmin()) for column in p.T)
        counts[first, second] += 1
        np.testing.assert_allclose(p[:, 0], (x - x[first]) ** 2, atol=1e-9)
    for first in range(6):
        squared = (x - x[first]) ** 2
        expected[first] = draws / 6 * squared / squared.sum()
    off = ~np.eye(6, dtype=bool)
    assert (counts[~off] == 0).all()
    assert chisquare(counts[off], expected[off]).pvalue > 1e-4


def test_enumeration_finds_nothing_better_and_some_start_finds_as_good() -> None:
    points = clusters(9, 2, 3, 5)
    gram = literal.gram(literal.rbf_mixture(GAMMAS), points.numpy())
    for k, n_min in ((2, 1), (2, 4), (3, 1), (3, 3)):
        least = literal.least_objective(gram, k, n_min)
        found = [run(points, RBFMixture(GAMMAS), k, seed, min_size=n_min).objective for seed in range(20)]
        assert min(found) >= least - 1e-9
        if n_min * k < 9:  # with sizes all fixed no single move is open
            assert min(found) == pytest.approx(least, rel=1e-9)


# ── laws ──


@pytest.mark.parametrize("seed", range(3))
def test_explicit_gram_and_blocks_give_the_same(seed: int) -> None:
    points = clusters(900, 6, 12, seed)
    explicit = run(points, Linear(), 8, seed, min_size=40)
    gram = run(points, Inexplicit(), 8, seed, min_size=40)
    blocks = run(points, Inexplicit(), 8, seed, min_size=40, memory_budget=0)
    assert [explicit.method, gram.method, blocks.method] == ["explicit", "gram", "blocks"]
    for other in (gram, blocks):
        np.testing.assert_array_equal(other.strata.labels, explicit.strata.labels)
        np.testing.assert_allclose(other.objectives, explicit.objectives, rtol=1e-8)
        assert other.mean_kernel == pytest.approx(explicit.mean_kernel, rel=1e-8)


@pytest.mark.parametrize("kernel", [RBFMixture(GAMMAS), SquaredInner()])
def test_gram_and_blocks_give_the_same(kernel: Kernel) -> None:
    points = clusters(900, 6, 12)
    gram, blocks = run(points, kernel, 8, min_size=40), run(points, kernel, 8, min_size=40, memory_budget=0)
    np.testing.assert_array_equal(blocks.strata.labels, gram.strata.labels)
    np.testing.assert_allclose(blocks.objectives, gram.objectives, rtol=1e-8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kernel", [Linear(), RBFMixture("median"), SquaredInner()])
@pytest.mark.parametrize("budget", [2**30, 0])
def test_the_number_of_threads_changes_nothing(kernel: Kernel, dtype: torch.dtype, budget: int) -> None:
    n = 3000 if budget else 1500
    points, found = clusters(n, 48, 40).to(dtype), []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(run(points, kernel, 16, min_size=50, memory_budget=budget))
        assert torch.get_num_threads() == threads
    assert same(found[0], found[1])
    assert same(found[0], found[2])


def test_the_same_generator_gives_the_same_and_another_gives_another() -> None:
    points = clusters(400, 4, 9)
    one, again, other = (run(points, RBFMixture(GAMMAS), 8, seed) for seed in (3, 3, 4))
    assert same(one, again)
    assert not np.array_equal(one.strata.labels, other.strata.labels)


@pytest.mark.parametrize("kernel", [Linear(), RBFMixture(GAMMAS)])
def test_moving_and_turning_all_points_changes_nothing(kernel: Kernel) -> None:
    points = clusters(300, 3, 8)
    turn = torch.linalg.qr(normal(3, 3, 9))[0]
    here, there = run(points, kernel, 6, min_size=20), run(points @ turn + 5.0, kernel, 6, min_size=20)
    np.testing.assert_array_equal(here.strata.labels, there.strata.labels)
    np.testing.assert_allclose(here.objectives, there.objectives, rtol=1e-8)


def test_the_objective_of_a_linear_kernel_is_quadratic_in_the_scale() -> None:
    points = clusters(300, 3, 8)
    one, ten = run(points, Linear(), 6, min_size=20), run(points * 10, Linear(), 6, min_size=20)
    np.testing.assert_array_equal(one.strata.labels, ten.strata.labels)
    np.testing.assert_allclose(ten.objectives, 100 * np.array(one.objectives), rtol=1e-9)


def test_a_start_with_other_numbers_gives_the_same_strata_with_other_numbers() -> None:
    points, renumber = clusters(300, 3, 8), np.array([3, 0, 5, 1, 4, 2])
    start = np.random.default_rng(0).integers(0, 6, 300)
    one = run(points, RBFMixture(GAMMAS), 6, start=start)
    other = run(points, RBFMixture(GAMMAS), 6, start=renumber[start])
    np.testing.assert_array_equal(renumber[one.strata.labels], other.strata.labels)


def test_far_clusters_are_the_strata() -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(400) % 8
    points = torch.from_numpy(100 * np.eye(8)[truth] + rng.standard_normal((400, 8)))
    for kernel in (Linear(), RBFMixture("median")):
        found = min((run(points, kernel, 8, seed) for seed in range(3)), key=lambda f: f.objective)
        pairs = found.strata.labels[:, None] == found.strata.labels
        np.testing.assert_array_equal(pairs, truth[:, None] == truth)


def test_the_objective_over_n_squared_is_the_variance_of_the_stratified_mean() -> None:
    """Var Σ_h (n_h/n) z_h = (1/n²) Σ_h n_h SSE_h for one draw a stratum, in 40,000 draws."""
    points = clusters(300, 2, 5)
    found = run(points, Linear(), 5, min_size=20)
    pool = draw_independent(found.strata, 40_000, np.random.default_rng(1))
    means = np.einsum("h,hmd->md", pool.weight, points.numpy()[pool.index])
    variance = ((means - points.numpy().mean(0)) ** 2).sum(1)
    error = variance.std() / np.sqrt(len(variance))
    assert abs(variance.mean() - found.objective / 300**2) < 4 * error
    assert np.abs(means.mean(0) - points.numpy().mean(0)).max() < 4 * means.std() / np.sqrt(len(means))


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(20, 60), st.booleans())
def test_a_result_is_sound_and_never_worse_than_its_start(seed: int, k: int, n: int, linear: bool) -> None:
    rng = np.random.default_rng(seed)
    points, kernel = clusters(n, 2, 4, seed), Linear() if linear else RBFMixture(GAMMAS)
    n_min = int(rng.integers(1, n // k + 1))
    start = rng.permutation(np.arange(n) % k)
    before = literal.objective(kernel.gram(points, points).numpy(), start, k)
    found = run(points, kernel, k, seed, min_size=n_min, start=start)
    assert sound(found, n, k)
    assert found.min_size == n_min
    assert found.objective <= before * (1 + 1e-9)
    assert found.objectives[0] == pytest.approx(before, rel=1e-9)
    assert found.objective == min(found.objectives)


def test_a_result_is_a_good_start_for_features_that_moved_a_little() -> None:
    points = clusters(600, 8, 20)
    first = run(points, RBFMixture("median"), 10, min_size=30)
    moved = points + 0.02 * normal(600, 8, 1)
    again = run(moved, RBFMixture("median"), 10, 1, min_size=30, start=first.strata.labels)
    cold = run(moved, RBFMixture("median"), 10, 1, min_size=30)
    assert again.objectives[0] < cold.objectives[0]
    assert again.sweeps <= cold.sweeps
    assert np.mean(again.strata.labels == first.strata.labels) > 0.9


def test_a_start_with_short_and_empty_strata_is_filled_first() -> None:
    points = clusters(60, 2, 4)
    for start in (np.zeros(60, dtype=int), np.minimum(np.arange(60), 3)):
        found = run(points, RBFMixture(GAMMAS), 4, start=start, min_size=10, max_sweeps=0, moves=False)
        assert sound(found, 60, 4)
        assert len(found.objectives) == 1


def test_the_start_is_not_written_to() -> None:
    points, start = clusters(60, 2, 4), np.arange(60) % 4
    run(points, RBFMixture(GAMMAS), 4, start=start)
    np.testing.assert_array_equal(start, np.arange(60) % 4)
    result = run(points, RBFMixture(GAMMAS), 4, start=start, max_sweeps=0, moves=False).strata.labels
    assert not np.shares_memory(result, start)


def test_sweeps_end_when_they_bring_nothing_more() -> None:
    points = clusters(500, 4, 30, spread=1.0)
    long = run(points, RBFMixture("median"), 10, patience=100, moves=False)
    short = run(points, RBFMixture("median"), 10, moves=False)
    assert long.sweeps == 30  # labels of overlapping clusters do not settle
    assert 2 <= short.sweeps < 15
    assert short.objectives == long.objectives[: short.sweeps + 1]
    assert short.objective <= 1.02 * long.objective
    assert run(points, RBFMixture("median"), 10, max_sweeps=1, moves=False).sweeps == 1


def test_sweeps_end_when_labels_stay() -> None:
    truth = np.arange(80) % 4
    points = torch.from_numpy(100 * np.eye(4)[truth] + 0.01 * np.random.default_rng(0).standard_normal((80, 4)))
    found = run(points, Linear(), 4, start=truth, patience=50, moves=False)
    assert found.sweeps == 1
    np.testing.assert_array_equal(found.strata.labels, truth)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_minimum_size_is_kept_from_one_to_the_largest(kernel: Kernel) -> None:
    points = clusters(203, 3, 4)
    for min_size in (1, 10, 24, 25):
        found = run(points, kernel, 8, min_size=min_size)
        assert sound(found, 203, 8)
        assert found.strata.sizes.min() >= min_size == found.min_size


def test_strata_of_two_domains_share_a_workspace() -> None:
    workspace = Workspace()
    small, large = clusters(300, 4, 6, 1), clusters(700, 4, 6, 2)
    for points in (small, large, small):
        alone = run(points, RBFMixture(GAMMAS), 5)
        assert same(run(points, RBFMixture(GAMMAS), 5, workspace=workspace), alone)


def test_gradients_are_neither_needed_nor_kept() -> None:
    points = clusters(100, 3, 4).requires_grad_()
    for kernel in KERNELS:
        assert sound(run(points, kernel, 4), 100, 4)
    assert points.grad is None


# ── awkward inputs ──

AWKWARD = {
    "identical": torch.ones(40, 3, dtype=torch.float64),
    "identical, far away": torch.full((40, 3), 1e3, dtype=torch.float64) / 3,
    "many duplicates": normal(4, 3).repeat(10, 1),
    "constant feature": torch.cat([normal(40, 2), torch.ones(40, 1, dtype=torch.float64)], 1),
    "one dimension": normal(40, 1),
    "more dimensions than points": normal(40, 100),
    "one far point": torch.cat([normal(39, 3), torch.full((1, 3), 1e4, dtype=torch.float64)]),
    "zeros": torch.zeros(40, 3, dtype=torch.float64),
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("kernel", [Linear(), SquaredInner(), RBFMixture(GAMMAS), RBFMixture("median")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_awkward_points_simply_work(name: str, kernel: Kernel, dtype: torch.dtype) -> None:
    points = AWKWARD[name].to(dtype)
    for k, min_size in ((1, 1), (5, 1), (5, 8), (7, 3), (40, 1)):
        found = run(points, kernel, k, min_size=min_size)
        assert sound(found, 40, k)
        assert np.isfinite(found.objectives).all()
        assert found.objective >= 0
        if k == 40:  # zero, to the accuracy of κ_ii
            largest = float(kernel.diagonal(points).double().max())
            assert found.objective <= 40 * 16 * torch.finfo(dtype).eps * largest


def test_one_stratum_is_everything() -> None:
    points = normal(50, 3)
    found = run(points, Linear(), 1, min_size=50)
    assert found.strata.sizes.tolist() == [50]
    assert found.objective == pytest.approx(50 * float((points - points.mean(0)).square().sum()), rel=1e-10)


def test_one_point() -> None:
    found = run(normal(1, 3), RBFMixture(GAMMAS), 1)
    assert found.strata.labels.tolist() == [0]


def test_a_minimum_that_the_data_cannot_satisfy_is_lowered_with_one_warning() -> None:
    points = clusters(50, 3, 4)
    with pytest.warns(StratumWarning, match=r"k=8, min_size=10, n=50.*lowered to 6") as caught:
        found = run(points, RBFMixture(GAMMAS), 8, min_size=10)
    assert len(caught) == 1
    assert caught[0].filename == __file__  # it points at who called
    assert found.min_size == 6
    assert sound(found, 50, 8)


def test_a_minimum_that_is_just_feasible_is_no_cause_for_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(run(clusters(48, 3, 4), RBFMixture(GAMMAS), 8, min_size=6).strata.sizes.tolist()) == {6}


# ── errors ──


@pytest.mark.parametrize(
    ("change", "error", "rule"),
    [
        ({"points": np.ones((5, 2))}, FeatureError, "torch tensor; got ndarray"),
        ({"points": torch.ones(5)}, FeatureError, r"\(n, d\).*got \(5,\)"),
        ({"points": torch.ones(0, 3)}, FeatureError, "n, d ≥ 1"),
        ({"points": torch.ones(5, 2, dtype=torch.int64)}, FeatureError, "float32 or float64; got torch.int64"),
        ({"points": torch.ones(5, 2).half()}, FeatureError, "torch.float16"),
        (
            {"points": torch.tensor([[1], [np.nan], [np.inf]])},
            FeatureError,
            r"2 of 3 rows, first \[1, 2\]",
        ),
        ({"kernel": "linear"}, SettingError, "orda.kernels.Kernel; got str"),
        ({"k": 0}, SettingError, "k must be an integer of at least 1; got 0"),
        ({"k": 2.0}, SettingError, "k must be an integer"),
        ({"k": True}, SettingError, "k must be an integer"),
        ({"k": 21}, SettingError, "at most n.*k=21 with n=20"),
        ({"min_size": 0}, SettingError, "min_size must be an integer of at least 1"),
        ({"max_sweeps": -1}, SettingError, "max_sweeps"),
        ({"patience": 0}, SettingError, "patience"),
        ({"rng": 0}, SettingError, "numpy.random.Generator; got int"),
        ({"rng": torch.Generator()}, SettingError, "got Generator"),
        ({"start": np.zeros(19, dtype=int)}, SettingError, r"shape \(n,\).*n=20"),
        ({"start": np.zeros(20)}, SettingError, "integer labels"),
        ({"start": np.arange(20)}, SettingError, r"labels 0\.\.19 with k=3"),
        ({"start": np.arange(20) - 1}, SettingError, "0..k−1"),
    ],
)
def test_what_cannot_be_used_is_an_error(change: dict[str, object], error: type[InputError], rule: str) -> None:
    arguments: dict[str, object] = {
        "points": normal(20, 2),
        "kernel": Linear(),
        "k": 3,
        "rng": np.random.default_rng(0),
        **change,
    }
    with pytest.raises(error, match=rule):
        stratify(**arguments)  # type: ignore[arg-type]


def test_all_faults_are_reported_at_once() -> None:
    with pytest.raises(InputError) as caught:
        stratify(torch.ones(5), Linear(), 0, min_size=0, rng=1, start=np.zeros(2))  # type: ignore[arg-type]
    for rule in ("points must be (n, d)", "k must be", "min_size must be", "rng must be", "start must be"):
        assert rule in str(caught.value)


def test_the_strata_are_a_record() -> None:
    found = run(normal(20, 2), Linear(), 3)
    assert isinstance(found.strata, Strata)
    assert set(found.seconds) == {"gram", "start", "sweeps", "moves"}
    with pytest.raises(AttributeError):
        found.objective = 0.0  # type: ignore[misc]


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", KERNELS)
def test_on_a_gpu_the_strata_are_as_good(kernel: Kernel) -> None:
    points = clusters(3000, 16, 40)
    here, there = run(points, kernel, 16, min_size=50), run(points.cuda(), kernel, 16, min_size=50)
    assert sound(there, 3000, 16)
    assert there.mean_kernel == pytest.approx(here.mean_kernel, rel=1e-9)
    assert there.objective == pytest.approx(here.objective, rel=0.02)
