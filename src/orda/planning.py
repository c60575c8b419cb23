"""``orda.plan``: features in, the next M minibatches out; and ``orda.assess``: how good they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orda.discrepancies import Discrepancy
from orda.discrepancies.draws import Draws
from orda.errors import FeatureError, SettingError
from orda.features import check_features, check_sizes
from orda.records import DomainPlan, Features, FloatArray, Plan
from orda.samplers import Ordered, Sampler, make_sampler
from orda.seeds import SeedLike, as_generator


def plan(
    source: Any,
    target: Any,
    *,
    sampler: Sampler | str | None = None,
    batch_size: int = 32,
    horizon: int = 100,
    seed: SeedLike = 0,
    previous: Plan | None = None,
) -> Plan:
    """Choose which examples meet in the next ``horizon`` minibatches of ``batch_size`` examples a domain.

    source, target   features (n_s, d) and (n_t, d): NumPy arrays or torch tensors of any floating dtype, on any device
    sampler          a ``Sampler`` or its name; by default ``Ordered(MMD(gammas="median"))``
    seed             an int, or a ``numpy.random.Generator``; the same seed gives the same plan
    previous         the last plan over the same examples: stratification starts from its strata

    >>> import numpy as np, orda
    >>> rng = np.random.default_rng(0)
    >>> p = orda.plan(rng.normal(size=(400, 8)), rng.normal(size=(300, 8)), batch_size=8, horizon=20)
    >>> p.source.index.shape, p.target.weight.shape
    (torch.Size([20, 8]), torch.Size([20, 8]))
    """
    rng = as_generator(seed, "plan")
    features = check_features(source, target)
    check_sizes(features, batch_size, horizon)
    if sampler is None:
        sampler = Ordered()
    elif isinstance(sampler, str):
        sampler = make_sampler(sampler)
    elif not isinstance(sampler, Sampler):
        raise SettingError("sampler must be a Sampler or its name", type(sampler).__name__, 'E.g. sampler="ordered"')
    return sampler.plan(features, int(batch_size), int(horizon), rng, previous)


@dataclass(frozen=True, slots=True)
class Assessment:
    """D̂ of every minibatch of a plan against D0."""

    d0: float
    values: FloatArray  # (M,)

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def bias(self) -> float:
        """mean D̂ − D0."""
        return self.mean - self.d0

    @property
    def variance(self) -> float:
        return float(self.values.var())

    @property
    def mean_squared_error(self) -> float:
        """mean (D̂ − D0)² = bias² + variance."""
        return float(np.square(self.values - self.d0).mean())


def assess(plan: Plan, source: Any, target: Any, discrepancy: Discrepancy, *, d0: float | None = None) -> Assessment:
    """How well a plan's minibatches estimate the discrepancy of features: those it was made on, or later ones.

    ``d0`` saves the reference over all data where it is known.
    """
    features = check_features(source, target)
    for domain, part, z in (("source", plan.source, features.source), ("target", plan.target, features.target)):
        if int(part.index.max()) >= len(z):
            raise FeatureError(
                f"the plan speaks of {domain} example {int(part.index.max())}",
                f"{len(z)} rows",
                "Pass the same examples",
            )
    resolved = discrepancy.resolved(features)
    d0 = resolved.reference(features) if d0 is None else d0
    return Assessment(d0, estimates(plan, features, resolved))


def estimates(plan: Plan, features: Features, discrepancy: Discrepancy) -> FloatArray:
    """D̂ of every minibatch, some at a time."""
    d, k = features.source.shape[1], plan.batch_size
    size = max(1, int(2**28 // (8 * (2 * k * d + 12 * k * k))))
    parts = []
    for start in range(0, plan.horizon, size):
        rows = slice(start, start + size)
        zs, ws = rows_of(plan.source, features.source, rows)
        zt, wt = rows_of(plan.target, features.target, rows)
        parts.append(discrepancy(zs, zt, ws, wt).double().cpu().numpy())
    return np.concatenate(parts)


def rows_of(part: DomainPlan, z: Tensor, rows: slice) -> tuple[Tensor, Draws]:
    """Features (m, k, d) and draws (m, k) of some minibatches, in full precision where strata give the weights."""
    weight, stratum = part.weight[rows].double(), part.stratum[rows]
    own = torch.zeros_like(weight) if part.own is None else part.own[rows].double()
    if part.strata is not None:
        weight = torch.from_numpy(part.strata.weights())[stratum]
        own = torch.where(own > 0, torch.from_numpy(1 / part.strata.sizes)[stratum], own)
    weight = weight / weight.sum(-1, keepdim=True)
    weight, own = (t.to(device=z.device, dtype=z.dtype) for t in (weight, own))
    return z[part.index[rows].to(z.device)], Draws(weight, stratum.to(z.device), own, part.centre, part.draws)
