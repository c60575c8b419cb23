"""Planning while training goes on: the same plans as written out one block late, in checkpoints too."""

from __future__ import annotations

import itertools
import threading
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
import torch
from torch import Tensor

from orda import seeds
from orda.errors import SettingError
from orda.loader import AdaptationLoader
from orda.loader.ahead import Ahead
from orda.records import Batch, Features, Plan
from orda.samplers import Sampler, Stratified, Uniform

K, M = 4, 5


def loader(source: Any, target: Any, featurizer: Any, sampler: Sampler | None = None, **more: Any) -> AdaptationLoader:
    sampler = Stratified() if sampler is None else sampler
    return AdaptationLoader(source, target, sampler=sampler, batch_size=K, horizon=M, featurizer=featurizer, **more)


class Moving:
    """Features that are others after every step, as a network's are."""

    def __init__(self) -> None:
        self.step = 0

    def __call__(self, x: Tensor) -> Tensor:
        turn = torch.linspace(0, 1, x.shape[1]) * self.step
        return torch.sin(x + turn)


def take(made: AdaptationLoader, count: int, moving: Moving | None = None) -> list[Batch]:
    batches = []
    for batch in itertools.islice(made, count):
        batches.append(batch)
        if moving is not None:
            moving.step += 1
    return batches


def same(one: list[Batch], other: list[Batch]) -> bool:
    return all(
        torch.equal(a.source.index, b.source.index) and torch.equal(a.target.index, b.target.index)
        for a, b in zip(one, other, strict=True)
    )


def test_plans_are_made_from_features_one_block_old(source: Any, target: Any) -> None:
    moving = Moving()
    found = take(loader(source, target, moving, overlap=True), 3 * M, moving)

    def features(step: int) -> Features:
        then = Moving()
        then.step = step
        return Features(then(source.x), then(target.x))

    previous: Plan | None = None
    for number, step in enumerate((0, 0, M)):  # the first plan waits for its own features, and lends them to the second
        rng = seeds.generator(0, "plan", number)
        previous = Stratified().plan(features(step), K, M, rng, previous)
        block = found[number * M : (number + 1) * M]
        assert torch.equal(torch.stack([batch.source.index for batch in block]), previous.source.index)
        assert torch.equal(torch.stack([batch.target.weight for batch in block]), previous.target.weight)


def test_where_features_stay_nothing_is_another(source: Any, target: Any) -> None:
    still = Moving()
    assert same(take(loader(source, target, still), 4 * M), take(loader(source, target, still, overlap=True), 4 * M))


@pytest.mark.parametrize("stopped", [0, 3, M, 2 * M + 2])
def test_a_state_goes_on_bit_for_bit(source: Any, target: Any, stopped: int) -> None:
    moving = Moving()
    whole = take(loader(source, target, moving, overlap=True), 4 * M, moving)
    moving.step = 0
    first = loader(source, target, moving, overlap=True)
    before = take(first, stopped, moving)
    second = loader(source, target, moving, overlap=True)
    second.load_state_dict(first.state_dict())
    assert same(whole, before + take(second, 4 * M - stopped, moving))


def test_a_state_without_overlap_is_another_loader_s(source: Any, target: Any) -> None:
    state = loader(source, target, Moving()).state_dict()
    with pytest.raises(SettingError, match="another loader; got overlap False, not True"):
        loader(source, target, Moving(), overlap=True).load_state_dict(state)


class Watched(Stratified):
    """Tells which threads plan, and fails at a certain plan."""

    def __init__(self, fails_at: int | None = None) -> None:
        super().__init__()
        self.threads: list[str] = []
        self.fails_at = fails_at

    def plan(
        self, features: Features, batch_size: int, horizon: int, rng: np.random.Generator, previous: Plan | None = None
    ) -> Plan:
        self.threads.append(threading.current_thread().name)
        if len(self.threads) == self.fails_at:
            raise SettingError("this plan fails")
        return super().plan(features, batch_size, horizon, rng, previous)


def test_on_a_cpu_no_thread_disturbs_training(source: Any, target: Any) -> None:
    """A library's number of threads is that of the process: another thread that plans would change a step's bits."""
    sampler = Watched()
    take(loader(source, target, Moving(), sampler, overlap=True), 2 * M + 1)
    assert sampler.threads == 4 * ["MainThread"]


@pytest.mark.gpu
def test_on_a_gpu_all_plans_but_the_first_are_made_in_a_thread(source: Any, target: Any) -> None:
    sampler = Watched()
    made = loader(source, target, lambda x: x.cuda(), sampler, overlap=True)
    take(made, 2 * M + 1)
    made.state_dict()  # waits for the plan in the making
    assert sampler.threads == ["MainThread"] + 3 * ["orda plan"]


def test_a_plan_in_a_thread_is_waited_for(monkeypatch: pytest.MonkeyPatch, source: Any, target: Any) -> None:
    """The path that a GPU takes, with what belongs to CUDA put aside."""
    for name in ("Stream", "device", "stream", "current_stream"):
        monkeypatch.setattr(torch.cuda, name, MagicMock())
    plan = Stratified().plan(Features(source.x, target.x), K, M, np.random.default_rng(0))
    begun, names = threading.Event(), []

    def make() -> Plan:
        begun.wait(10)
        names.append(threading.current_thread().name)
        return plan

    ahead = Ahead(make, torch.device("cuda"))
    assert names == []
    begun.set()
    assert ahead.plan() is plan
    assert names == ["orda plan"]


def test_what_fails_in_a_thread_is_raised_to_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Stream", "device", "stream", "current_stream"):
        monkeypatch.setattr(torch.cuda, name, MagicMock())

    def make() -> Plan:
        raise SettingError("this plan fails")

    ahead = Ahead(make, torch.device("cuda"))
    with pytest.raises(SettingError, match="this plan fails"):
        ahead.plan()


def test_what_goes_wrong_ahead_is_raised_when_its_plan_is_due(source: Any, target: Any) -> None:
    made = loader(source, target, Moving(), Watched(fails_at=2), overlap=True)
    take(made, M)
    with pytest.raises(SettingError, match="this plan fails"):
        next(iter(made))


def test_callers_are_told_of_every_plan_with_the_features_of_its_first_minibatch(source: Any, target: Any) -> None:
    moving, told = Moving(), []
    made = loader(source, target, moving, overlap=True, on_plan=lambda plan, features: told.append((plan, features)))
    take(made, 2 * M + 1, moving)
    assert [plan is made.plan for plan, _ in told] == [False, False, True]
    then = Moving()
    for (_, features), step in zip(told, (0, M, 2 * M), strict=True):
        then.step = step
        assert torch.equal(features.source, then(source.x))


def test_a_sampler_without_features_has_nothing_to_overlap(source: Any, target: Any) -> None:
    plain = take(loader(source, target, None, Uniform()), 2 * M)
    assert same(plain, take(loader(source, target, None, Uniform(), overlap=True), 2 * M))
