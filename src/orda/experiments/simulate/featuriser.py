"""A small network trained with alignment, to see what the estimate of the discrepancy makes of its features.

    features z = V relu(U x),  logits = H z,      loss = Σ_i w_i CE(H z_s,i, y_i) + λ D̂(z_s, z_t)

The loop is that of training: plans of M minibatches from features without gradient, the next one after M steps,
starting from the last one's strata; γ and n/(n − 1) are fixed on the features at the start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import Linear, ReLU, Sequential
from torch.nn.functional import cross_entropy

from orda.discrepancies import Discrepancy
from orda.experiments.simulate.domains import Labelled
from orda.planning import rows_of
from orda.records import Features
from orda.samplers import Sampler
from orda.seeds import generator, torch_stream


@dataclass(frozen=True, slots=True)
class Trained:
    """What training has made of the domains."""

    before: Features
    features: Features  # in float64
    accuracy: float  # on the target, whose labels took no part

    @property
    def spread(self) -> float:
        """The mean squared distance from the own domain's mean, in parts of what it was before training."""
        return spread(self.features) / spread(self.before)


@dataclass(frozen=True, slots=True)
class Schedule:
    steps: int
    batch_size: int
    horizon: int
    hidden: int = 32
    width: int = 16  # of the features
    rate: float = 0.01


def train(
    data: Labelled, discrepancy: Discrepancy, sampler: Sampler, penalty: float, schedule: Schedule, seed: int
) -> Trained:
    """Train a featuriser and a head with λ = ``penalty``; ``seed`` decides the weights at the start and the plans."""
    x = Features(data.features.source.float(), data.features.target.float())
    labels_s, labels_t = torch.from_numpy(data.source), torch.from_numpy(data.target)
    with torch_stream(seed, "weights"):
        f = Sequential(
            Linear(x.source.shape[1], schedule.hidden), ReLU(), Linear(schedule.hidden, schedule.width, bias=False)
        )
        head = Linear(schedule.width, int(labels_s.max()) + 1)
    optimiser = torch.optim.Adam([*f.parameters(), *head.parameters()], lr=schedule.rate)
    before = embedded(f, x)
    fixed, plan = discrepancy.resolved(before), None
    for step in range(schedule.steps):
        m = step % schedule.horizon
        if m == 0:
            stream = generator(seed, "plan", step)
            plan = sampler.plan(embedded(f, x), schedule.batch_size, schedule.horizon, stream, plan)
        assert plan is not None
        here = slice(m, m + 1)
        (xs, of_source), (xt, of_target) = rows_of(plan.source, x.source, here), rows_of(plan.target, x.target, here)
        zs, zt = f(xs), f(xt)
        each = cross_entropy(head(zs[0]), labels_s[plan.source.index[m]], reduction="none")
        loss = (of_source.weight[0] * each).sum() + penalty * fixed(zs, zt, of_source, of_target)[0]
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    with torch.no_grad():
        right = head(f(x.target)).argmax(1) == labels_t
    return Trained(before, embedded(f, x), float(right.double().mean()))


def embedded(f: Sequential, x: Features) -> Features:
    with torch.no_grad():
        return Features(f(x.source).double(), f(x.target).double())


def spread(features: Features) -> float:
    return float(np.mean([within(z) for z in (features.source, features.target)]))


def within(z: Tensor) -> float:
    return float((z - z.mean(0)).square().sum(1).mean())
