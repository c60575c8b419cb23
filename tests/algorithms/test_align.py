"""CORAL and MMD as losses: values and gradients by hand, and what is fixed from the data."""

from __future__ import annotations

import pytest
import torch
from references import algorithms as literal
from references.tiny import minibatch, smooth_model

from orda.algorithms import build_algorithm
from orda.errors import SettingError
from orda.kernels import PAPER_GAMMAS, median_squared_distance
from orda.records import Features

B = minibatch(0, 4, 5, torch.float64, weighted=True)
SIZES = (40, 50)


def check(name: str, discrepancy: object, **settings: object) -> None:
    """Loss and gradient are those of task + 0.3 · discrepancy(zs, zt, ws, wt)."""
    algorithm = build_algorithm(name, smooth_model(), seed=0, penalty=0.3, **settings)
    algorithm.resolve(SIZES)
    losses = algorithm.losses(B, 0)
    model = algorithm.model
    zs, zt = model.features(B.source.x), model.features(B.target.x)
    ws, wt = B.source.weight.double(), B.target.weight.double()
    assert B.source.y is not None
    task = literal.weighted_task(model.head(zs), B.source.y, ws)
    expected = task + 0.3 * discrepancy(zs, zt, ws, wt)  # type: ignore[operator]
    assert losses["loss"].item() == pytest.approx(expected.item(), rel=1e-9)
    ours = torch.autograd.grad(losses["loss"], list(model.parameters()))
    for g, h in zip(ours, torch.autograd.grad(expected, list(model.parameters())), strict=True):
        torch.testing.assert_close(g, h, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize(("scale", "factor"), [("sum", 1.0), ("mean", 1 / 16), ("deep", 1 / 64)])
def test_coral_is_the_literal_one_at_every_scale(scale: str, factor: float) -> None:
    check("coral", lambda zs, zt, ws, wt: literal.coral(zs, zt, ws, wt, SIZES, factor), scale=scale)


def test_coral_trains_at_the_mean_scale_by_default() -> None:
    check("coral", lambda zs, zt, ws, wt: literal.coral(zs, zt, ws, wt, SIZES, 1 / 16))


def test_mmd_is_the_literal_one_for_both_kernels() -> None:
    check("mmd", lambda zs, zt, ws, wt: literal.rbf_mmd(zs, zt, ws, wt, (0.001, 0.01, 0.1, 1, 10)))
    check("mmd", literal.linear_mmd, kernel="linear")


def test_median_gammas_are_fixed_by_the_features_of_a_plan_and_again_by_those_of_the_next() -> None:
    algorithm = build_algorithm("mmd", smooth_model(), seed=0, gammas="median")
    assert algorithm.wants_features
    assert not build_algorithm("mmd", smooth_model(), seed=0).wants_features
    generator = torch.Generator().manual_seed(0)
    for scale in (1.0, 30.0):
        features = Features(*(scale * torch.randn(n, 4, generator=generator, dtype=torch.float64) for n in SIZES))
        algorithm.resolve(SIZES, features)
        median = float(median_squared_distance(torch.cat([features.source, features.target])))
        assert algorithm.discrepancy is not None
        assert algorithm.discrepancy.settings()["gammas"] == pytest.approx([gamma / median for gamma in PAPER_GAMMAS])


@pytest.mark.parametrize("name", ["coral", "mmd"])
def test_what_was_fixed_is_part_of_the_state(name: str) -> None:
    settings = {"gammas": "median"} if name == "mmd" else {}
    first, second = (build_algorithm(name, smooth_model(), seed=0, **settings) for _ in range(2))
    generator = torch.Generator().manual_seed(0)
    first.resolve(SIZES, Features(*(torch.randn(n, 4, generator=generator, dtype=torch.float64) for n in SIZES)))
    assert first.discrepancy != second.discrepancy
    second.load_state_dict(first.state_dict())
    assert first.discrepancy == second.discrepancy


def test_one_example_has_no_covariance() -> None:
    algorithm = build_algorithm("coral", smooth_model(), seed=0)
    with pytest.raises(SettingError, match=r"coral needs at least 2 examples.*1 of the target.*Raise batch_size"):
        algorithm.update(minibatch(0, 4, 1, torch.float64), 0)


def test_median_gammas_do_not_go_with_the_linear_kernel() -> None:
    with pytest.raises(SettingError, match="gammas does nothing with kernel='linear'"):
        build_algorithm("mmd", smooth_model(), seed=0, kernel="linear", gammas="median")
