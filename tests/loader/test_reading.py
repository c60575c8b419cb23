"""Reading item by item, in this process and in others."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
import torch
from torch import Tensor

from orda.loader import AdaptationLoader


class Noisy:
    """Items that draw from torch's stream, as random transforms of images do."""

    def __init__(self, x: Tensor, labelled: bool) -> None:
        self.x, self.labelled = x, labelled

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> Any:
        x = self.x[i] + torch.randn(self.x.shape[1])
        return (x, i % 3) if self.labelled else x


def loader(source: Any, target: Any, workers: int) -> AdaptationLoader:
    return AdaptationLoader(
        Noisy(source.x, True),
        Noisy(target.x, False),
        planning_source=source,
        planning_target=target,
        sampler="stratified",
        featurizer=features,
        batch_size=4,
        horizon=3,
        workers=workers,
    )


def features(x: Tensor) -> Tensor:
    return x


def values(batches: Any) -> list[Tensor]:
    return [torch.cat([b.source.x, b.target.x]) for b in batches]


def test_chance_in_a_data_set_does_not_depend_on_workers_nor_on_resuming(source: Any, target: Any) -> None:
    whole = values(islice(loader(source, target, 0), 8))
    in_two = loader(source, target, 2)
    parts = values([*islice(in_two, 2), *islice(in_two, 3)])  # leaves a plan in its middle, with items under way
    assert in_two.extract().source.shape == (37, 5)  # and so does this
    parts += values(islice(in_two, 3))
    for a, b in zip(whole, parts, strict=True):
        assert torch.equal(a, b)
    resumed = loader(source, target, 0)
    state = loader(source, target, 0)
    list(islice(state, 5))
    resumed.load_state_dict(state.state_dict())
    for a, b in zip(whole[5:], values(islice(resumed, 3)), strict=True):
        assert torch.equal(a, b)


def test_every_item_of_every_batch_has_its_own_chance(source: Any, target: Any) -> None:
    batches = list(islice(loader(source, target, 0), 6))
    noise = torch.cat(
        [half.x - data.x[half.index] for b in batches for half, data in ((b.source, source), (b.target, target))]
    )
    assert len(torch.unique((noise * 1e4).round(), dim=0)) == len(noise)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_collate_of_one_s_own(source: Any, target: Any, workers: int) -> None:
    made = AdaptationLoader(source, target, sampler="uniform", batch_size=4, horizon=3, collate=twice, workers=workers)
    batch = next(iter(made))
    assert torch.equal(batch.source.x, 2 * source.x[batch.source.index])
    assert torch.equal(batch.target.x, 2 * target.x[batch.target.index])


def twice(xs: list[Any]) -> Tensor:
    return 2 * torch.stack(xs)
