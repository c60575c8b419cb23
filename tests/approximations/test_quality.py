"""What a sample says of a map: exact where it holds all points, unbiased where it does not."""

from __future__ import annotations

import numpy as np
import pytest
import references.approximations as literal
import torch

from orda.approximations import Approximate, nystroem_map, quality
from orda.approximations.quality import Quality, Side
from orda.kernels import RBFMixture
from orda.records import Strata

RBF = RBFMixture((0.05, 0.5, 5.0))


def points(n: int, seed: int, shift: float = 0.0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, 3))) + shift


def sides(n: int = 40, rank: int = 6, seed: int = 0) -> tuple[Side, Side]:
    x, y = points(n, 1), points(n - 7, 2, 0.5)
    found = nystroem_map(RBF, torch.cat([x, y]), rank, np.random.default_rng(seed))
    made = []
    for z in (x, y):
        kernel, labels = Approximate(RBF, found), np.arange(len(z)) % 3
        made.append(Side(z, kernel, kernel.explicit(z).mean(0), Strata(labels, np.bincount(labels))))
    return made[0], made[1]


def check(sample: int, seed: int = 0, **settings: int) -> Quality:
    return quality(*sides(**settings), np.random.default_rng(seed), sample)


def test_with_all_points_in_the_sample_everything_is_exact() -> None:
    found, (source, target) = check(1000), sides()
    gram = RBF.gram(torch.cat([source.points, target.points]), torch.cat([source.points, target.points])).numpy()
    ss, tt, st = literal.mean_within(gram[:40, :40]), literal.mean_within(gram[40:, 40:]), gram[:40, 40:].mean()
    assert found.within == pytest.approx((ss, tt), rel=1e-10)
    assert found.between == pytest.approx(st, rel=1e-10)
    assert found.d0 == pytest.approx(ss + tt - 2 * st, rel=1e-8)
    difference = source.mean - target.mean
    assert found.d0_of_map == pytest.approx(float(difference @ difference))
    assert found.d0_of_map != pytest.approx(found.d0, rel=0.01)  # the map alone is off
    psi = torch.cat([side.kernel.explicit(side.points) for side in (source, target)])
    mapped = (psi @ psi.mT).numpy()
    off = ~np.eye(len(gram), dtype=bool)
    assert found.kernel_error == pytest.approx(np.linalg.norm((mapped - gram)[off]) / np.linalg.norm(gram[off]))
    for side, part, error in zip((source, target), (slice(0, 40), slice(40, None)), found.objective_error, strict=True):
        exact, approximate = gram[part, part], mapped[part, part].copy()
        np.fill_diagonal(approximate, 3.0)

        def apart(k: np.ndarray, i: int, j: int) -> float:
            return float(k[i, i] + k[j, j] - 2 * k[i, j])

        labels = side.strata.labels.tolist()
        ratio = literal.objective(lambda i, j, k=approximate: apart(k, i, j), labels) / literal.objective(
            lambda i, j, k=exact: apart(k, i, j), labels
        )
        assert error == pytest.approx(ratio - 1, rel=1e-9)


def test_d0_by_a_sample_is_unbiased_and_off_by_what_it_says() -> None:
    exact = check(1000, n=120).d0
    found = [check(25, seed, n=120) for seed in range(300)]
    errors, said = np.array([q.d0 - exact for q in found]), np.array([q.d0_error for q in found])
    assert abs(errors.mean()) < 4 * errors.std() / 300**0.5
    # the sample is a fifth of the points, without replacement: less error than of independent draws
    assert 0.6 < errors.std() / np.sqrt((said**2).mean()) < 1.1


def test_more_rank_less_error() -> None:
    found = [check(1000, rank=rank, n=80) for rank in (4, 16, 64)]
    for name in ("kernel_error", "centred_error"):
        values = [getattr(q, name) for q in found]
        assert values[0] > 1.5 * values[1] > 2 * values[2]


def test_strata_of_which_the_sample_has_no_pair_have_no_error() -> None:
    source, target = sides()
    labels = np.arange(40)
    alone = Side(source.points, source.kernel, source.mean, Strata(labels, np.ones(40, np.int64)))
    found = quality(alone, target, np.random.default_rng(0))
    assert found.objective_error[0] is None
    assert found.objective_error[1] is not None
    assert found.diagnostics()["objective_error"]["source"] is None
