"""The unbiased estimates: against literal twins, and exactly unbiased over all minibatches that a design can draw."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from references import discrepancies as literal
from references import unbiased as twins
from torch import Tensor

import orda
from orda.discrepancies.draws import Draws
from orda.records import Features

SIZES = {"independent": (4, 5), "distinct": (5, 7), "pairs": (6, 7)}  # examples of source and target
KERNELS = {"linear": literal.linear, "rbf-mixture": literal.rbf_mixture, "squared-inner": literal.squared_inner}
seeds = st.integers(0, 10**9)


def domain(seed: int, n: int, d: int = 2) -> Tensor:
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d))


class Design:
    """All minibatches of one domain, equally likely, and how they were drawn."""

    def __init__(self, name: str, n: int, k: int = 4) -> None:
        self.strata = [[0, 1, 2], [3], list(range(4, n))] if name == "pairs" else [list(range(n))]
        outcomes = {
            "independent": lambda: twins.independent(n, k),
            "distinct": lambda: twins.distinct(n, k),
            "pairs": lambda: twins.pairs(self.strata),
        }
        self.index = torch.tensor(outcomes[name]())
        k = self.index.shape[1]
        self.sizes = [None if name == "independent" else len(members) for members in self.strata]
        self.shares = [len(members) / n for members in self.strata]
        r = k // len(self.strata)
        self.stratum = torch.arange(len(self.strata)).repeat_interleave(r)
        self.weight = torch.tensor(self.shares, dtype=torch.float64).repeat_interleave(r) / r
        own = [0.0 if size is None else 1 / size for size in self.sizes]
        self.own = torch.tensor(own, dtype=torch.float64).repeat_interleave(r)
        self.r = r

    def draws(self, centre: Tensor | None = None) -> Draws:
        shape = self.index.shape
        parts = (part.expand(shape) for part in (self.weight, self.stratum, self.own))
        return Draws(*parts, centre, self.r)


def averages(estimate, index_s: Tensor, index_t: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    """The mean of D̂ over all pairs of minibatches of both domains."""
    total = torch.zeros((), dtype=torch.float64)
    for one in index_s:
        total = total + estimate(one.expand_as(index_t), index_t).mean()
    return total / len(index_s)


def check_unbiased(discrepancy: orda.Discrepancy, name: str, k: int = 4) -> None:
    """Value and gradient with respect to all features, against D0 and its own."""
    n_s, n_t = SIZES[name]
    of_source, of_target = Design(name, n_s, k), Design(name, n_t, k)
    zs, zt = domain(1, n_s).requires_grad_(), domain(2, n_t).requires_grad_()
    centres = (zs.detach().mean(0), zt.detach().mean(0)) if name == "pairs" else (None, None)
    source, target = of_source.draws(centres[0]), of_target.draws(centres[1])
    rows = len(of_target.index)

    def estimate(i: Tensor, j: Tensor) -> Tensor:
        first = (part[:1].expand(rows, -1) for part in (source.weight, source.stratum, source.own))
        return discrepancy(zs[i], zt[j], Draws(*first, source.centre, source.draws), target)

    mean = averages(estimate, of_source.index, of_target.index)
    features = Features(zs, zt)
    exact = reference(discrepancy, features)
    assert mean.item() == pytest.approx(discrepancy.reference(Features(zs.detach(), zt.detach())), rel=1e-10)
    found, expected = torch.autograd.grad(mean, [zs, zt]), torch.autograd.grad(exact, [zs, zt])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


def reference(discrepancy: orda.Discrepancy, features: Features) -> Tensor:
    """D0 with its gradient: the plug-in of all the data."""
    zs, zt = features.source, features.target
    if isinstance(discrepancy, orda.CORAL):
        return orda.CORAL(discrepancy.scale)(zs, zt)
    return orda.MMD(discrepancy.kernel)(zs, zt)


DESIGNS = ("independent", "distinct", "pairs")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", DESIGNS)
def test_mmd_is_unbiased_over_all_minibatches(name: str, kernel: str) -> None:
    check_unbiased(orda.MMD(kernel, estimator="unbiased"), name, k=3)


@pytest.mark.parametrize("scale", ["sum", "mean"])
@pytest.mark.parametrize("name", DESIGNS)
def test_coral_is_unbiased_over_all_minibatches(name: str, scale: str) -> None:
    check_unbiased(orda.CORAL(scale, estimator="unbiased", population=SIZES[name]), name)
