"""Kernels against their formulas point by point, their blocked sums, their scale, and the warning for blind ones."""

from __future__ import annotations

import itertools
import math
import re
import statistics
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from references import discrepancies as literal
from torch import Tensor

import orda
from orda.errors import KernelWarning, SettingError, UnknownName
from orda.kernels import (
    BLIND,
    PAPER_GAMMAS,
    Kernel,
    Linear,
    RBFMixture,
    SquaredInner,
    block_rows,
    gram_matrix,
    mean_kernel,
    median_squared_distance,
    slices,
    squared_distances,
    tile_size,
    unfilled,
    warn_if_blind,
)
from orda.threads import TILE

GAMMAS = (0.05, 0.5, 3.0)
PAIRS = {
    "linear": (Linear(), literal.linear),
    "squared": (SquaredInner(), literal.squared_inner),
    "rbf": (RBFMixture(), literal.rbf_mixture),
    "rbf, others": (RBFMixture(GAMMAS), lambda x, y: literal.rbf_mixture(x, y, GAMMAS)),
}
every_pair = pytest.mark.parametrize(("kernel", "point_by_point"), PAIRS.values(), ids=PAIRS)
every_kernel = pytest.mark.parametrize("kernel", [kernel for kernel, _ in PAIRS.values()], ids=PAIRS)
seeds = st.integers(0, 10**9)


def points(n: int, d: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, d))).to(dtype)


# ── values ──


@every_pair
@given(seed=seeds, n=st.integers(1, 6), m=st.integers(1, 6), d=st.integers(1, 5))
def test_a_gram_matrix_holds_the_kernel_of_every_pair(kernel, point_by_point, seed, n, m, d) -> None:  # type: ignore[no-untyped-def]
    x, y = points(n, d, seed), points(m, d, seed + 1)
    expected = [[point_by_point(a, b) for b in y.tolist()] for a in x.tolist()]
    np.testing.assert_allclose(kernel.gram(x, y).numpy(), expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(x), [point_by_point(a, a) for a in x.tolist()], rtol=1e-11)


@every_kernel
def test_leading_dimensions_are_minibatches(kernel: Kernel) -> None:
    x, y = points(24, 3).view(2, 3, 4, 3), points(30, 3, 1).view(2, 3, 5, 3)
    gram, diagonal = kernel.gram(x, y), kernel.diagonal(x)
    for a, b in itertools.product(range(2), range(3)):
        torch.testing.assert_close(gram[a, b], kernel.gram(x[a, b], y[a, b]), rtol=1e-12, atol=1e-13)
        torch.testing.assert_close(diagonal[a, b], kernel.diagonal(x[a, b]), rtol=1e-12, atol=0)


@every_kernel
@given(seed=seeds)
@settings(max_examples=10)
def test_kernels_are_positive_semidefinite(kernel: Kernel, seed: int) -> None:
    x = points(12, 3, seed)
    gram = kernel.gram(x, x)
    torch.testing.assert_close(gram, gram.mT, rtol=1e-12, atol=1e-12)
    assert float(torch.linalg.eigvalsh(gram)[0]) >= -1e-10 * float(gram.abs().max())


@every_kernel
def test_where_the_map_is_known_its_inner_products_are_the_kernel(kernel: Kernel) -> None:
    x = points(7, 3)
    phi = kernel.explicit(x)
    assert (phi is None) == (not isinstance(kernel, Linear))
    if phi is not None:
        torch.testing.assert_close(phi @ phi.mT, kernel.gram(x, x))


@every_kernel
def test_gradients_are_right_and_finite_where_points_coincide(kernel: Kernel) -> None:
    x, y = points(4, 3).requires_grad_(), points(5, 3, 1).requires_grad_()
    assert torch.autograd.gradcheck(kernel.gram, (x, y))
    assert torch.autograd.gradcheck(lambda z: kernel.gram(z, z), (x,))
    same = torch.ones(4, 3, dtype=torch.float64, requires_grad=True)
    kernel.gram(same, same.clone()).sum().backward()
    assert same.grad is not None
    assert torch.isfinite(same.grad).all()


@pytest.mark.parametrize("gammas", [PAPER_GAMMAS, (0.3, 3.0, 30.0, 300.0, 3000.0), (0.2, 0.5), (7.0,)])
@pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 2e-5), (torch.float64, 1e-13)])
def test_powers_that_stand_in_for_exponentials_keep_the_digits(
    gammas: tuple[float, ...], dtype: torch.dtype, close: float
) -> None:
    squared = torch.cat([torch.zeros(1), torch.logspace(-5, 2, 200)]).to(dtype)
    found = RBFMixture(gammas[::-1]).of_distances(squared, squared[:, None])
    expected = [math.fsum(math.exp(-gamma * s) for gamma in gammas) for s in squared.tolist()]
    np.testing.assert_allclose(found, expected, rtol=0, atol=close)


# ── distances and their median ──


@given(seed=seeds, shift=st.sampled_from([0.0, 1e3, -1e6]))
def test_squared_distances_keep_their_digits_far_from_the_origin(seed: int, shift: float) -> None:
    x, y = points(5, 3, seed) + shift, points(4, 3, seed + 1) + shift
    for a, b in ((x, y), (x, x)):
        found = squared_distances(a, b)
        expected = [
            [math.fsum((p - q) ** 2 for p, q in zip(r, s, strict=True)) for s in b.tolist()] for r in a.tolist()
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13)
        assert float(found.min()) >= 0
    assert (squared_distances(x, x).diagonal() == 0).all()


@given(seed=seeds, n=st.integers(2, 12), sets=st.integers(1, 3))
def test_the_median_is_that_of_all_pairs_in_each_set_of_points(seed: int, n: int, sets: int) -> None:
    x = points(sets * n, 3, seed).view(sets, n, 3)
    expected = [
        statistics.median_low([math.dist(a, b) ** 2 for a, b in itertools.combinations(one, 2)]) for one in x.tolist()
    ]
    np.testing.assert_allclose(median_squared_distance(x), expected, rtol=1e-9)
    assert float(median_squared_distance(x[0])) == pytest.approx(expected[0])


def test_of_many_points_the_median_takes_some_from_all_over() -> None:
    x = torch.arange(5000, dtype=torch.float64)[:, None]  # |i − j| has the median (1 − 1/√2) n
    assert float(median_squared_distance(x, limit=200)) == pytest.approx((5000 * (1 - 0.5**0.5)) ** 2, rel=0.03)


def test_the_median_of_nothing_to_see_is_one() -> None:
    assert float(median_squared_distance(torch.ones(1, 3))) == 1
    assert float(median_squared_distance(torch.ones(9, 3))) == 1
    assert median_squared_distance(torch.ones(2, 9, 3)).tolist() == [1, 1]


def test_median_gammas_are_fixed_once_and_constant_to_gradients() -> None:
    x = points(9, 3).requires_grad_()
    kernel = RBFMixture("median")
    fixed = kernel.resolved(x)
    assert fixed.gammas == pytest.approx([gamma / float(median_squared_distance(x)) for gamma in PAPER_GAMMAS])
    assert fixed.resolved(100 * x) is fixed
    torch.testing.assert_close(kernel.gram(x, x), fixed.gram(x, x), rtol=1e-12, atol=0)
    weights = points(9, 9, 1)
    open_, closed = (torch.autograd.grad((weights * k.gram(x, x)).sum(), x)[0] for k in (kernel, fixed))
    torch.testing.assert_close(open_, closed, rtol=1e-9, atol=1e-12)


def test_each_minibatch_has_its_own_median() -> None:
    x = points(8, 3).view(2, 4, 3) * torch.tensor([1.0, 100.0]).double()[:, None, None]
    kernel = RBFMixture("median")
    torch.testing.assert_close(kernel.gram(x, x), torch.stack([kernel.gram(z, z) for z in x]))
    assert kernel.diagonal(x).tolist() == [[5.0] * 4] * 2


# ── in blocks ──


@every_kernel
@pytest.mark.parametrize("n", [1, 2, TILE - 1, TILE, TILE + 1, 2 * TILE + 3])
def test_a_blocked_gram_matrix_is_the_whole_one(kernel: Kernel, n: int) -> None:
    x = points(n, 3).requires_grad_()
    found = gram_matrix(kernel, x)
    assert not found.requires_grad
    torch.testing.assert_close(found, found.mT, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(found, kernel.gram(x, x).detach(), rtol=1e-9, atol=1e-10)
    out = torch.full((n, n), torch.nan, dtype=x.dtype)
    assert gram_matrix(kernel, x, out) is out
    assert torch.equal(out, found)


@every_kernel
@pytest.mark.parametrize(("n", "m"), [(1, 1), (5, TILE + 2), (2 * TILE + 1, 7)])
def test_a_mean_over_pairs_is_that_of_the_matrix(kernel: Kernel, n: int, m: int) -> None:
    x, y = points(n, 3), points(m, 3, 1)
    assert mean_kernel(kernel, x, y) == pytest.approx(float(kernel.gram(x, y).mean()), rel=1e-9, abs=1e-12)
    assert mean_kernel(kernel, x, x) == pytest.approx(float(kernel.gram(x, x).mean()), rel=1e-9, abs=1e-12)
    assert mean_kernel(kernel, x, x.clone()) == pytest.approx(mean_kernel(kernel, x, x), rel=1e-9, abs=1e-12)


@given(st.integers(0, 50), st.integers(1, 60))
def test_slices_cut_everything_once(n: int, size: int) -> None:
    parts = list(slices(n, size))
    assert [i for part in parts for i in range(n)[part]] == list(range(n))
    assert all(1 <= part.stop - part.start <= size for part in parts)


def test_blocks_have_at_least_a_row() -> None:
    assert block_rows(10**12, 8) == block_rows(10**30, 8) == 1
    assert block_rows(0, 4) >= block_rows(1000, 4) > block_rows(1000, 8) > 1
    assert tile_size(torch.ones(1)) == TILE


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_unfilled_is_like_its_model(dtype: torch.dtype) -> None:
    found = unfilled(torch.ones(1, dtype=dtype), 3, 4)
    assert (found.shape, found.dtype, found.is_contiguous()) == ((3, 4), dtype, True)


# ── kernels that do not see the data (D13) ──


def relative_mean(x: Tensor, y: Tensor, gammas: tuple[float, ...]) -> float:
    """The mean value at pairs of different points of both domains, over the largest value."""
    both = torch.cat([x, y]).tolist()
    values = [literal.rbf_mixture(np.array(a), np.array(b), gammas) for a, b in itertools.combinations(both, 2)]
    return math.fsum(values) / len(values) / len(gammas)


@pytest.mark.parametrize("scale", [3e-3, 300.0])
def test_a_blind_kernel_is_named_with_its_numbers_and_the_remedy(scale: float) -> None:
    x, y = scale * points(20, 6), scale * points(15, 6, 1)
    with pytest.warns(KernelWarning) as caught:
        warn_if_blind(RBFMixture(), x, y)
    (warning,) = caught
    text = str(warning.message)
    seen, low, high, median = (
        float(number)
        for number in re.findall(
            r"largest is (\S+) \(want (\S+) to (\S+);.*median squared distance ([\d.e+-]+)\)", text
        )[0]
    )
    assert seen == pytest.approx(relative_mean(x, y, PAPER_GAMMAS), rel=0.01)
    assert not low <= seen <= high
    assert (low, high) == (BLIND, 1 - BLIND)
    assert median == pytest.approx(float(median_squared_distance(torch.cat([x, y]))), rel=0.01)
    assert str(PAPER_GAMMAS) in text
    assert 'RBFMixture(gammas="median")' in text
    with warnings.catch_warnings():  # both remedies do
        warnings.simplefilter("error")
        warn_if_blind(RBFMixture("median").resolved(torch.cat([x, y])), x, y)
        warn_if_blind(RBFMixture((1 / median,)), x, y)


def test_the_line_between_seeing_and_blind() -> None:
    """All off-diagonal values are e^(−γ s) here, s the one distance: 1e-3 is where the line is, and 1 − 1e-3."""
    x = torch.eye(3, dtype=torch.float64)[:2] * 0.5**0.5
    y = torch.eye(3, dtype=torch.float64)[2:] * 0.5**0.5
    for value, blind in ((0.9e-3, True), (1.1e-3, False), (0.5, False), (1 - 1.1e-3, False), (1 - 0.9e-3, True)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warn_if_blind(RBFMixture((-math.log(value),)), x, y)
        assert bool(caught) == blind, value


@pytest.mark.parametrize(
    ("kernel", "x", "y"),
    [
        (Linear(), 1e6 * points(9, 3), points(9, 3)),
        (SquaredInner(), 1e6 * points(9, 3), points(9, 3)),
        (RBFMixture(), torch.ones(9, 3), torch.ones(9, 3)),  # there is nothing to see
        (RBFMixture(), torch.ones(1, 3), torch.ones(9, 3)),
        (RBFMixture("median"), 1e6 * points(9, 3), 1e6 * points(9, 3, 1)),
    ],
)
def test_no_warning_where_there_is_no_reason(kernel: Kernel, x: Tensor, y: Tensor) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_blind(kernel, x, y)


@pytest.mark.parametrize("sampler", [orda.Ordered(orda.MMD(), min_size=1), orda.Stratified(orda.MMD())])
def test_a_plan_says_it_once(sampler: orda.Sampler) -> None:
    x, y = 100 * points(40, 9), 100 * points(30, 9, 1)
    with pytest.warns(KernelWarning) as caught:
        plan = orda.plan(x, y, sampler=sampler, batch_size=3, horizon=4)
    assert len(caught) == 1
    orda.plan(x, y, sampler=sampler, batch_size=3, horizon=4, previous=plan)  # warnings are errors here


# ── settings ──


@pytest.mark.parametrize("gammas", [(), (0.0,), (-1.0, 1.0), (math.nan,), (math.inf,), ("a",), 0.5])
def test_gammas_are_positive_numbers(gammas: object) -> None:
    with pytest.raises(SettingError, match=r'gammas must be one or more positive numbers; got .*gammas="median"'):
        RBFMixture(gammas)  # type: ignore[arg-type]


def test_any_iterable_of_numbers_will_do() -> None:
    for gammas in ([1, 2], np.array([1, 2]), torch.tensor([1.0, 2.0])):
        assert RBFMixture(gammas).gammas == (1.0, 2.0)  # type: ignore[arg-type]


def test_the_only_word_for_gammas_is_median() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'median'"):
        RBFMixture("mean")  # type: ignore[arg-type]


@pytest.mark.gpu
@every_kernel
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_on_a_gpu_the_values_are_the_same(kernel: Kernel, dtype: torch.dtype) -> None:
    x, y = points(700, 16, 0, dtype), points(500, 16, 1, dtype)
    close = 2e-4 if dtype == torch.float32 else 1e-9
    torch.testing.assert_close(gram_matrix(kernel, x.cuda()).cpu(), gram_matrix(kernel, x), rtol=close, atol=close)
    assert mean_kernel(kernel, x.cuda(), y.cuda()) == pytest.approx(mean_kernel(kernel, x, y), rel=1e-5, abs=1e-6)
    assert float(median_squared_distance(x.cuda())) == pytest.approx(float(median_squared_distance(x)), rel=1e-9)
