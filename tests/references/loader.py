"""The loader written out: no readers, no counters, one list after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from orda import seeds
from orda.records import Features, Plan
from orda.samplers import Sampler


def batches(
    source: Any,
    target: Any,
    sampler: Sampler,
    batch_size: int,
    horizon: int,
    features: Callable[[Tensor], Tensor],
    seed: int,
) -> Iterator[dict[str, Tensor]]:
    """x_s, y_s, w_s, i_s, x_t, w_t, i_t of every minibatch, without end; source items are (x, y), target items x."""
    previous: Plan | None = None
    number = 0
    while True:
        with torch.no_grad():
            zs = features(torch.stack([source[i][0] for i in range(len(source))]))
            zt = features(torch.stack([target[j] for j in range(len(target))]))
        rng = seeds.generator(seed, "plan", number)
        plan = sampler.plan(Features(zs, zt), batch_size, horizon, rng, previous)
        for m in range(horizon):
            i, j = plan.source.index[m].tolist(), plan.target.index[m].tolist()
            yield {
                "x_s": torch.stack([source[a][0] for a in i]),
                "y_s": torch.tensor([int(source[a][1]) for a in i]),
                "w_s": plan.source.weight[m],
                "i_s": torch.tensor(i),
                "x_t": torch.stack([target[b] for b in j]),
                "w_t": plan.target.weight[m],
                "i_t": torch.tensor(j),
            }
        previous, number = plan, number + 1
