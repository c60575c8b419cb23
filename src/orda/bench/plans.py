"""Plans from given features: seconds by part, for every k and sampler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

import orda
from orda.bench.clock import timed
from orda.bench.data import clustered, drifted
from orda.records import Features

Row = dict[str, Any]
ORDERED: dict[str, Callable[[], orda.Sampler]] = {
    "mmd, assignment": lambda: orda.Ordered(orda.MMD(gammas="median")),
    "mmd, greedy": lambda: orda.Ordered(orda.MMD(gammas="median"), optimiser="greedy"),
    "coral, assignment": lambda: orda.Ordered(orda.CORAL()),
    "coral, greedy": lambda: orda.Ordered(orda.CORAL(), optimiser="greedy"),
}
OTHERS: dict[str, Callable[[], orda.Sampler]] = {
    "uniform": orda.Uniform,
    "k-means++": orda.KMeansPlusPlus,
    "k-DPP": orda.DPP,
    "anticlustering": orda.Anticlustering,
    "mmd, stratified": lambda: orda.Stratified(orda.MMD(gammas="median")),
}
PARTS = ("stratify", "prepare", "order")


def plans(device: torch.device, n: int, d: int, sizes: tuple[int, ...], horizon: int, quick: bool) -> Iterator[Row]:
    """One row a case: a first plan by parts, and the next one, which starts from its strata."""
    features = clustered(n, d, device)
    later = drifted(features)
    small = Features(features.source[:300, :8].contiguous(), features.target[:300, :8].contiguous())
    for k in sizes:
        cases = ORDERED if k != 32 or quick else ORDERED | OTHERS
        for name, make in cases.items():
            sampler = make()
            plan(small, sampler, 8, 5)  # compiled code and the device's libraries are loaded here
            yield {"k": k, "sampler": name} | measure(features, later, sampler, k, horizon)


def measure(features: Features, later: Features, sampler: orda.Sampler, k: int, horizon: int) -> Row:
    device = features.source.device
    first, made = timed(lambda: plan(features, sampler, k, horizon), device)
    again, _ = timed(lambda: plan(later, sampler, k, horizon, made), device)
    seconds = made.diagnostics.get("seconds")
    parts = {part: seconds[part] for part in PARTS} if isinstance(seconds, dict) else {}
    return {"first": first, **parts, "next": again}


def plan(
    features: Features, sampler: orda.Sampler, k: int, horizon: int, previous: orda.Plan | None = None
) -> orda.Plan:
    return orda.plan(
        features.source, features.target, sampler=sampler, batch_size=k, horizon=horizon, previous=previous
    )
