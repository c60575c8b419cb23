from __future__ import annotations

import io
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from references import loader as literal
from torch import Tensor
from torch.utils.data import TensorDataset

import orda
from orda.data import ArrayDomain, to_float
from orda.errors import FeatureError, InputError, SettingError
from orda.loader import AdaptationLoader
from orda.records import Batch, Features, Plan
from orda.samplers import Ordered, Sampler, Stratified, Uniform

K, M = 5, 4


def make(source: Any, target: Any, **changes: Any) -> AdaptationLoader:
    settings: dict[str, Any] = {"sampler": Stratified(), "batch_size": K, "horizon": M, "seed": 3}
    return AdaptationLoader(source, target, **(settings | changes))


def fields(batch: Batch) -> dict[str, Tensor]:
    assert batch.source.y is not None
    return {
        "x_s": batch.source.x,
        "y_s": batch.source.y,
        "w_s": batch.source.weight,
        "i_s": batch.source.index,
        "x_t": batch.target.x,
        "w_t": batch.target.weight,
        "i_t": batch.target.index,
    }


def equal(a: Batch, b: Batch) -> bool:
    return all(torch.equal(x, y) for x, y in zip(fields(a).values(), fields(b).values(), strict=True))


@pytest.mark.parametrize("sampler", [Uniform(), Stratified(), Ordered(orda.CORAL())])
def test_batches_are_those_of_the_loader_written_out(sampler: Sampler, source: Any, target: Any, net: Any) -> None:
    net.eval()
    loader = make(source, target, sampler=sampler, featurizer=net.features, feature_batch=100)
    expected = literal.batches(source, target, sampler, K, M, net.features, 3)
    for mine, its in islice(zip(loader, expected, strict=False), 3 * M + 1):
        for name, value in fields(mine).items():
            assert value.dtype == its[name].dtype
            torch.testing.assert_close(value, its[name], rtol=0, atol=0, msg=name)


def test_each_plan_is_made_with_the_features_of_its_time(source: Any, target: Any, net: Any) -> None:
    seen: list[Features] = []
    loader = make(source, target, featurizer=net.features, on_plan=lambda plan, z: seen.append(z))
    for step, _ in enumerate(islice(loader, 2 * M + 1)):
        with torch.no_grad():
            net.body[0].weight.add_(0.1 * step)
    assert len(seen) == 3
    assert loader.plans_made == 3
    assert not torch.equal(seen[0].source, seen[1].source)
    assert not torch.equal(seen[1].target, seen[2].target)


def test_the_design_s_example_trains_in_somebody_s_own_loop(source: Any, target: Any, net: Any) -> None:
    loader = AdaptationLoader(
        source, target, sampler=orda.Ordered(orda.CORAL()), batch_size=K, horizon=M, featurizer=net.features, seed=0
    )
    coral, optimiser = orda.CORAL(scale="mean"), torch.optim.Adam(net.parameters(), 1e-2)
    losses = []
    for batch in islice(loader, 60):
        zs, zt = net.features(batch.source.x), net.features(batch.target.x)
        task = (batch.source.weight * F.cross_entropy(net.head(zs), batch.source.y, reduction="none")).sum()
        loss = task + 0.1 * coral(zs, zt, batch.source.weight, batch.target.weight)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert loader.plans_made == 15
    assert np.mean(losses[-10:]) < 0.8 * np.mean(losses[:10])


def test_the_labels_of_the_target_are_never_touched(source: Any, target: Any) -> None:
    class Untouchable(tuple):  # type: ignore[type-arg]
        def __getitem__(self, place: Any) -> Any:
            assert place == 0, "somebody looked at a label of the target"
            return super().__getitem__(place)

        def __iter__(self) -> Any:
            raise AssertionError("somebody looked at all of a target's item")

    trap = [Untouchable((x, 1)) for x in target.x]
    batch = next(iter(make(source, trap, sampler=Uniform())))
    assert batch.target.y is None
    assert torch.equal(batch.target.x, target.x[batch.target.index])


def test_a_sampler_that_needs_no_features_gets_none(source: Any, target: Any) -> None:
    def never(x: Tensor) -> Tensor:
        raise AssertionError("features were extracted for nothing")

    assert len(list(islice(make(source, target, sampler="uniform", featurizer=never), 2 * M))) == 2 * M


def test_without_a_featuriser_a_sampler_that_needs_one_says_so(source: Any, target: Any) -> None:
    with pytest.raises(SettingError, match=r"'stratified' plans from features.*featurizer=net\.features"):
        next(iter(make(source, target)))


def test_arrays_items_and_tensors_give_the_same_batches(array_domain: Any) -> None:
    source, target = array_domain("s", 30), array_domain("t", 20)

    def features(x: Tensor) -> Tensor:
        return x.flatten(1)

    def as_items(domain: ArrayDomain) -> list[Any]:
        images, labels = domain.gather(slice(None))
        return [(x, int(y)) for x, y in zip(to_float(images, "none"), labels, strict=True)]

    items = as_items(source), as_items(target)
    tensors = [
        TensorDataset(torch.stack([x for x, _ in part]), torch.tensor([y for _, y in part], dtype=torch.int32))
        for part in items
    ]
    mixed = source, items[1]
    pairs = [(source, target), items, tensors, mixed, (source.on("cpu"), target.on("cpu"))]
    streams = [islice(make(*pair, featurizer=features), 2 * M + 1) for pair in pairs]
    for batches in zip(*streams, strict=True):
        assert all(equal(batches[0], other) for other in batches[1:])


def test_a_transform_gets_a_seed_for_training_and_none_for_planning(source: Any, target: Any) -> None:
    calls: list[int | None] = []

    def transform(x: Tensor, seed: int | None) -> Tensor:
        calls.append(seed)
        return x + 1

    loader = make(source, target, featurizer=lambda x: x, transform=transform, feature_batch=100)
    batches = list(islice(loader, M + 1))
    assert calls[:2] == [None, None]
    drawn = [seed for seed in calls if seed is not None]
    assert calls.count(None) == 4
    assert len(set(drawn)) == len(drawn) == 2 * (M + 1)  # another for each domain of each batch
    assert torch.equal(batches[0].source.x, source.x[batches[0].source.index] + 1)
    again: list[int | None] = []
    list(islice(make(source, target, sampler="uniform", transform=lambda x, s: (again.append(s), x)[1]), M + 1))
    assert again == drawn  # whatever the sampler: the seed is of the step


def test_source_and_target_may_be_transformed_apart(source: Any, target: Any) -> None:
    loader = make(source, target, sampler="uniform", transform=lambda x, s: x + 1, target_transform=lambda x, s: x - 1)
    batch = next(iter(loader))
    assert torch.equal(batch.source.x, source.x[batch.source.index] + 1)
    assert torch.equal(batch.target.x, target.x[batch.target.index] - 1)


def test_planning_sets_replace_augmented_ones(source: Any, target: Any) -> None:
    seen: list[Features] = []
    noisy_source = [(x + 100, y) for x, y in (source[i] for i in range(len(source)))]
    noisy_target = [x + 100 for x in target.x]
    loader = make(
        noisy_source,
        noisy_target,
        featurizer=lambda x: x,
        planning_source=source,
        planning_target=target,
        on_plan=lambda plan, z: seen.append(z),
    )
    batch = next(iter(loader))
    assert torch.equal(seen[0].source, source.x)
    assert torch.equal(seen[0].target, target.x)
    assert float(batch.source.x.min()) > 50
    assert float(batch.target.x.min()) > 50


def test_iterating_again_goes_on(source: Any, target: Any) -> None:
    whole = list(islice(make(source, target, sampler="uniform"), 11))
    loader = make(source, target, sampler="uniform")
    parts = [batch for size in (1, 3, 5, 2) for batch in islice(loader, size)]
    assert all(equal(a, b) for a, b in zip(whole, parts, strict=True))


def test_two_iterators_share_one_stream(source: Any, target: Any) -> None:
    whole = list(islice(make(source, target, sampler="uniform"), 12))
    loader = make(source, target, sampler="uniform")
    a, b = iter(loader), iter(loader)
    mixed = [next(a), next(b), next(b), next(a), next(a), next(b), *islice(a, 3), *islice(b, 3)]
    assert all(equal(x, y) for x, y in zip(whole, mixed, strict=True))


@pytest.mark.parametrize("sampler", [Uniform(), Ordered(orda.CORAL())])
def test_a_state_gives_the_same_batches_from_any_place(sampler: Sampler, source: Any, target: Any, net: Any) -> None:
    def fresh() -> AdaptationLoader:
        return make(source, target, sampler=sampler, featurizer=net.features, transform=lambda x, s: x + (s or 0) % 97)

    whole = list(islice(fresh(), 3 * M))
    for place in range(2 * M + 2):
        loader = fresh()
        list(islice(loader, place))
        file = io.BytesIO()
        torch.save(loader.state_dict(), file)
        file.seek(0)
        resumed = fresh()
        resumed.load_state_dict(torch.load(file, weights_only=True))
        assert resumed.plans_made == loader.plans_made
        rest = list(islice(resumed, 3 * M - place))
        assert all(equal(a, b) for a, b in zip(whole[place:], rest, strict=True)), place


def test_a_plan_survives_in_a_state(source: Any, target: Any, net: Any) -> None:
    loader = make(source, target, sampler=Ordered(orda.CORAL()), featurizer=net.features)
    next(iter(loader))
    other = make(source, target, sampler=Ordered(orda.CORAL()), featurizer=net.features)
    other.load_state_dict(loader.state_dict())
    mine, its = loader.plan, other.plan
    assert isinstance(mine, Plan)
    assert isinstance(its, Plan)
    assert its.diagnostics == mine.diagnostics
    assert mine.source.strata is not None
    assert its.source.strata is not None
    assert np.array_equal(its.source.strata.labels, mine.source.strata.labels)
    assert np.array_equal(its.source.strata.sizes, mine.source.strata.sizes)


def test_a_state_of_another_loader_is_refused(source: Any, target: Any) -> None:
    state = make(source, target, sampler="uniform").state_dict()
    with pytest.raises(SettingError, match=r"batch_size 5, not 6; seed 3, not 4; sampler uniform, not stratified"):
        make(source, target, batch_size=6, seed=4).load_state_dict(state)


def test_torch_s_own_stream_stays_where_it_is(source: Any, target: Any, net: Any) -> None:
    before = torch.get_rng_state()
    list(islice(make(source, target, featurizer=net.features), M + 1))
    assert torch.equal(torch.get_rng_state(), before)


def test_weights_and_strata_are_those_of_the_plan(source: Any, target: Any, net: Any) -> None:
    loader = make(source, target, featurizer=net.features)
    for m, batch in enumerate(islice(loader, M)):
        assert loader.plan is not None
        for half, part in ((batch.source, loader.plan.source), (batch.target, loader.plan.target)):
            assert torch.equal(half.weight, part.weight[m])
            assert torch.equal(half.stratum, part.stratum[m])
            assert float(half.weight.sum()) == pytest.approx(1, abs=1e-6)


class TestErrors:
    def test_all_faults_of_the_data_sets_come_at_once(self, source: Any) -> None:
        unlabelled = list(source.x)
        with pytest.raises(InputError) as caught:
            make(unlabelled, [])
        assert "source items must be (x, y)" in str(caught.value)
        assert "target is empty" in str(caught.value)

    def test_a_stream_is_not_map_style(self, source: Any) -> None:
        with pytest.raises(InputError, match=r"target must be map-style, with len\(\) and \[i\], not generator"):
            make(source, (x for x in source.x))

    def test_a_label_that_is_no_number(self, target: Any) -> None:
        with pytest.raises(InputError, match="labels must be whole numbers, source\\[0\\] has 'cat'"):
            make([(torch.zeros(2), "cat")], target)

    def test_an_x_that_is_no_tensor(self, source: Any) -> None:
        with pytest.raises(InputError, match=r"the x of target\[0\] must become a tensor, not dict"):
            make(source, [{"image": torch.zeros(2)}])

    def test_an_x_that_cannot_be_a_batch(self, source: Any) -> None:
        with pytest.raises(InputError, match=r"target\[0\] cannot be made a batch.*pass collate"):
            make(source, [object()])

    def test_more_than_there_is(self, source: Any, target: Any) -> None:
        with pytest.raises(SettingError, match=r"batch_size must not exceed .* got 24 for 23 in the target"):
            make(source, target, batch_size=24)

    def test_planning_sets_of_another_length(self, source: Any, target: Any) -> None:
        with pytest.raises(InputError, match="planning_source must hold the examples of source, 37 of them, not 36"):
            make(source, target, planning_source=[source[i] for i in range(36)])

    def test_features_of_two_widths(self, source: Any) -> None:
        with pytest.raises(FeatureError, match="same d, got 5 and 2"):
            next(iter(make(source, list(torch.zeros(9, 2)), featurizer=lambda x: x)))

    def test_features_that_are_no_vectors(self, source: Any, target: Any) -> None:
        with pytest.raises(FeatureError, match=r"must give floating-point features .* got \(37, 1, 5\)"):
            next(iter(make(source, target, featurizer=lambda x: x[:, None])))

    @pytest.mark.parametrize(
        "change", [{"sampler": "orderd"}, {"sampler": 3}, {"workers": -1}, {"seed": 0.5}, {"feature_batch": 0}]
    )
    def test_settings(self, source: Any, target: Any, change: dict[str, Any]) -> None:
        with pytest.raises(InputError, match=next(iter(change))):
            make(source, target, **change)
