"""Two data sets + sampler + featuriser -> weighted minibatches without end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from orda import seeds
from orda.data import ArrayDomain, to_float
from orda.data.progress import progress_bar
from orda.devices import sent
from orda.errors import SettingError
from orda.features import check_features, check_sizes
from orda.loader.ahead import Ahead
from orda.loader.extract import Featurizer, extract_features
from orda.loader.reading import SOURCE, TARGET, ArrayReader, Collate, ItemReader, Reader, Sets, as_rows, check_sets
from orda.loader.state import load_plan, plan_state
from orda.records import Batch, DomainBatch, DomainPlan, Features, Plan
from orda.samplers import Sampler, make_sampler

Transform = Callable[[Tensor, int | None], Tensor]
NAMES = ("source", "target")


class AdaptationLoader:
    """An endless iterator of ``Batch``es; every ``horizon`` batches it extracts features anew and plans again.

    source, target   map-style data sets; items (x, y) or (x, y, …), and x or (x, …): a target's labels are dropped
                     where they are read. ``ArrayDomain``s and ``TensorDataset``s are gathered without Python per item
    sampler          a ``Sampler`` or its name
    featurizer       x of a batch in, features (b, d) out; run in evaluation mode, without gradient, and put back
                     (a sampler that needs no features does without)
    seed             plan number p draws from the stream (seed, "plan", p), whatever came before
    transform        what becomes of a batch of x on the device: ``transform(x, seed)`` with a seed for this batch, from
                     which an augmentation draws, or ``None`` for planning, where there must be no chance.
                     Without one, images of an ``ArrayDomain`` become floats (b, 3, H, W) in [0, 1]; else x stays x
    target_transform the same for the target, if it is another
    planning_source, planning_target
                     the same examples without augmentation, for data sets that augment by themselves
    device           where batches go; ``None``: they stay where they were read
    workers          processes that read items (0: none); arrays need none
    collate          a list of x becomes a batch of x; torch's ``default_collate`` unless given
    overlap          make all plans but the first from the features as they were one block earlier: on a GPU in a
                     thread, while training goes on, so that no step waits for a plan (on a CPU nothing is gained)
    on_plan          called with every plan that comes into use and the features as they are then (``None`` where none
                     were needed)

    Iterating again goes on where the last iteration stopped. ``state_dict`` holds the position, the plan and the
    counters: a loader that loads it, over a network in the same state, gives the same batches bit for bit.
    """

    def __init__(
        self,
        source: Any,
        target: Any,
        *,
        sampler: Sampler | str,
        batch_size: int = 32,
        horizon: int = 100,
        featurizer: Featurizer | None = None,
        seed: int = 0,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        planning_source: Any = None,
        planning_target: Any = None,
        device: str | torch.device | None = None,
        feature_batch: int = 256,
        workers: int = 0,
        collate: Collate | None = None,
        progress: bool = False,
        overlap: bool = False,
        on_plan: Callable[[Plan, Features | None], None] | None = None,
    ) -> None:
        sets = Sets(
            source,
            target,
            source if planning_source is None else planning_source,
            target if planning_target is None else planning_target,
        )
        check_sets(sets, collate)
        self.sampler = make_sampler(sampler) if isinstance(sampler, str) else sampler
        self.sizes = len(source), len(target)
        self.batch_size, self.horizon, self.seed = batch_size, horizon, seed
        self.featurizer, self.feature_batch = featurizer, feature_batch
        self._check_settings(workers)
        self.device = None if device is None else torch.device(device)
        mine = transform or default_transform(source)
        self._transforms = mine, target_transform or transform or default_transform(target)
        self._reader = self._make_reader(sets, workers, collate)
        self._progress, self._on_plan = progress, on_plan
        self.overlap = overlap
        self._plan: Plan | None = None
        self._ahead: Ahead | Plan | None = None  # the plan after it: in the making, or of a loaded state
        self._placed: tuple[DomainPlan, DomainPlan] | None = None  # the plan's two halves on the device
        self._number = 0  # plans made
        self._position = 0  # batches given of the plan
        self._given = 0  # batches given in all
        self._turn = 0  # whom the reader serves

    # ---- extract -> plan -> batches ---------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Batch]:
        while True:
            if self.exhausted:
                self.replan(self.extract() if self.sampler.needs_features else None)
            yield from self.planned()

    @property
    def exhausted(self) -> bool:
        """Whether the next batch needs a new plan."""
        return self._plan is None or self._position >= self._plan.horizon

    @property
    def plan(self) -> Plan | None:
        """The plan in use."""
        return self._plan

    @property
    def plans_made(self) -> int:
        return self._number

    def extract(self) -> Features:
        """The features of all examples of both domains, as the featuriser has them now."""
        if self.featurizer is None:
            raise SettingError(
                f"the sampler {self.sampler.name!r} plans from features",
                "featurizer=None",
                "Pass featurizer=net.features, or lambda x: x.flatten(1) where x are features already",
            )
        source, target = (self._features_of(domain) for domain in (SOURCE, TARGET))
        return check_features(source, target)

    def replan(self, features: Features | None) -> Plan:
        """Make the next plan and use it; without features where the sampler needs none."""
        plan = self.make_plan(features)
        self.adopt(plan, self.plan_ahead(features, plan))
        if self._on_plan is not None:
            self._on_plan(plan, features)
        return plan

    def make_plan(self, features: Features | None) -> Plan:
        """The next plan: the one that was made ahead, or else from ``features``; nothing changes yet."""
        ahead = self._made_ahead()
        if ahead is not None:
            return ahead
        rows = Features(*(torch.zeros(n, 1) for n in self.sizes)) if features is None else features
        return self._plan_from(rows, self._number, self._plan)

    def plan_ahead(self, features: Features | None, plan: Plan) -> Ahead | None:
        """With ``overlap``, the plan after the next one, ``plan``, in the making; nothing changes yet."""
        if not self.overlap or features is None:
            return None
        number = self._number + 1  # as it is now, not when the thread gets to it
        return Ahead(lambda: self._plan_from(features, number, plan), features.source.device)

    def adopt(self, plan: Plan, ahead: Ahead | None = None) -> None:
        """Give the batches of ``plan`` from now on, and then those of the plan made ``ahead``."""
        self._use(plan, self._number + 1, 0)
        self._ahead = ahead

    def _plan_from(self, features: Features, number: int, previous: Plan | None) -> Plan:
        rng = seeds.generator(self.seed, "plan", number)
        return self.sampler.plan(features, self.batch_size, self.horizon, rng, previous)

    def _made_ahead(self) -> Plan | None:
        """The plan after the one in use, if it is being made; waits until it is."""
        return self._ahead.plan() if isinstance(self._ahead, Ahead) else self._ahead

    def planned(self) -> Iterator[Batch]:
        """What is left of the plan, batch by batch."""
        while self._plan is not None and self._position < self._plan.horizon:
            rest = slice(self._position, None)
            turn = self._take_turn()
            rows = self._reader.minibatches(self._plan.source.index[rest], self._plan.target.index[rest], self._given)
            for x_s, y_s, x_t in rows:
                m, step = self._position, self._given
                self._position, self._given = m + 1, step + 1
                source = self._batch(SOURCE, m, self._on_device(x_s, SOURCE, step), self._moved(y_s))
                yield Batch(source, self._batch(TARGET, m, self._on_device(x_t, TARGET, step), None))
                if turn != self._turn:
                    break  # the reader served somebody else meanwhile: ask it again, from here on

    # ---- state ------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Position, plan and counters; plain values and tensors, as torch.load(weights_only=True) reads them."""
        ahead = self._made_ahead()
        return {
            "identity": self._identity(),
            "number": self._number,
            "position": self._position,
            "given": self._given,
            "plan": None if self._plan is None else plan_state(self._plan),
            "ahead": None if ahead is None else plan_state(ahead),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where another loader over the same data, with the same settings, was."""
        own = self._identity()
        other = [
            f"{key} {state['identity'].get(key)}, not {own[key]}"
            for key in own
            if state["identity"].get(key) != own[key]
        ]
        if other:
            raise SettingError("the state is of another loader", "; ".join(other), "Make the loader as that one was")
        plan = None if state["plan"] is None else load_plan(state["plan"])
        self._use(plan, int(state["number"]), int(state["position"]))
        self._given = int(state["given"])
        self._ahead = None if state["ahead"] is None else load_plan(state["ahead"])

    def _identity(self) -> dict[str, Any]:
        return {
            "sizes": list(self.sizes),
            "batch_size": self.batch_size,
            "horizon": self.horizon,
            "seed": self.seed,
            "sampler": self.sampler.name,
            "overlap": self.overlap,
        }

    # ---- parts ------------------------------------------------------------------------------------------------------

    def _use(self, plan: Plan | None, number: int, position: int) -> None:
        self._plan, self._number, self._position = plan, number, position
        self._placed = None if plan is None else (self._place(plan.source, SOURCE), self._place(plan.target, TARGET))

    def _take_turn(self) -> int:
        self._turn += 1
        return self._turn

    def _place(self, part: DomainPlan, domain: int) -> DomainPlan:
        """Where the minibatches are, once for all of them."""
        device = self._reader.devices[domain] if self.device is None else self.device
        index, weight, stratum = (sent(t, device) for t in (part.index, part.weight, part.stratum))
        own, centre = (None if t is None else sent(t, device) for t in (part.own, part.centre))
        return DomainPlan(index, weight, stratum, own=own, centre=centre, draws=part.draws)

    def _batch(self, domain: int, m: int, x: Tensor, y: Tensor | None) -> DomainBatch:
        assert self._placed is not None
        part = self._placed[domain]
        weight, stratum, index = (t[m].to(x.device) for t in (part.weight, part.stratum, part.index))
        own = None if part.own is None else part.own[m].to(x.device)
        centre = None if part.centre is None else part.centre.to(x.device)
        return DomainBatch(x, y, weight, stratum, index, own, centre, part.draws)

    def _features_of(self, domain: int) -> Tensor:
        assert self.featurizer is not None
        n, name = self.sizes[domain], NAMES[domain]
        self._take_turn()
        with progress_bar(f"features of the {name}", n, self._progress) as advance:

            def batches() -> Iterator[Tensor]:
                for x in self._reader.everything(domain, self.feature_batch):
                    yield self._on_device(x, domain, None)
                    advance(len(x))

            return extract_features(self.featurizer, batches(), n)

    def _on_device(self, x: Tensor, domain: int, step: int | None) -> Tensor:
        """x on the device, transformed: with chance for training step ``step``, without for planning."""
        transform = self._transforms[domain]
        x = self._moved(x)
        if transform is None:
            return x
        return transform(x, None if step is None else seeds.child(self.seed, "augment", NAMES[domain], step))

    def _moved(self, x: Tensor) -> Tensor:
        return x if self.device is None else sent(x, self.device)

    def _make_reader(self, sets: Sets, workers: int, collate: Collate | None) -> Reader:
        rows = [as_rows(dataset) for dataset in sets]
        if collate is None and all(part is not None for part in rows):
            return ArrayReader([part for part in rows if part is not None])
        cuda = self.device is not None and self.device.type == "cuda"
        return ItemReader(sets, collate=collate, workers=workers, pin_memory=cuda, seed=self.seed)

    def _check_settings(self, workers: int) -> None:
        if not isinstance(self.sampler, Sampler):
            raise SettingError("sampler must be a Sampler or its name", type(self.sampler).__name__, 'E.g. "ordered"')
        check_sizes(Features(*(torch.empty(n, 0) for n in self.sizes)), self.batch_size, self.horizon)
        faults = [f"seed must be a whole number, not {self.seed!r}"] if type(self.seed) is not int else []
        faults += [f"feature_batch must be at least 1, not {self.feature_batch}"] if self.feature_batch < 1 else []
        faults += [f"workers must be at least 0, not {workers}"] if workers < 0 else []
        if faults:
            raise SettingError("; ".join(faults))


def default_transform(dataset: Any) -> Transform | None:
    """Images of an ``ArrayDomain`` become floats in [0, 1]."""
    return _to_unit if isinstance(dataset, ArrayDomain) else None


def _to_unit(images: Tensor, seed: int | None) -> Tensor:
    del seed
    return to_float(images, "none")
