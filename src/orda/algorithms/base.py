"""The contract of an algorithm: a minibatch in, one training step done, its losses out.

    algorithm = build_algorithm("coral", model, seed=0)
    for step, batch in enumerate(itertools.islice(loader, 3000)):
        losses = algorithm.update(batch, step)          # one step; detached, on the device, nothing waits for it
    logits = algorithm.predict(x)                       # evaluation mode, no gradient, float32

All that a step draws at random (dropout) comes from the stream of (seed, step), so an algorithm keeps no state of a
random generator: its ``state_dict`` (networks, optimisers, what was fixed from data) is all that a resumed run needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from orda import seeds
from orda.algorithms.settings import Settings
from orda.algorithms.space import Choice, LogUniform, PowerOfTwo, Space
from orda.errors import InputError, SettingError
from orda.models import Model
from orda.records import Batch, DomainBatch, Features

if TYPE_CHECKING:
    from orda.discrepancies.base import Discrepancy

Losses = dict[str, Tensor]

ADAM_SPACE: Space = {"lr": LogUniform(-5, -3.5), "weight_decay": LogUniform(-6, -2)}
"""DomainBed's search for what every algorithm has."""

RUN_SPACE: Space = {"batch_size": PowerOfTwo(3, 7), "dropout": Choice((0.0, 0.1, 0.5))}
"""The search for what the run and the model are given: k as in the paper (DomainBed: ⌊2^U(3, 5.5)⌋), dropout before
the head as in DomainBed."""


class Algorithm(nn.Module, ABC):
    """One way to train a model on a labelled source and an unlabelled target.

    ``seed`` is the run's, ``amp`` the dtype of the networks' forward passes (``torch.bfloat16`` or ``None``); losses
    are always computed in full precision. The model belongs to the algorithm from then on.
    """

    settings: Settings
    name: ClassVar[str]
    settings_type: ClassVar[type[Settings]] = Settings
    space: ClassVar[Space] = ADAM_SPACE
    run_space: ClassVar[Space] = RUN_SPACE
    uses_target: ClassVar[bool] = True
    alignment: ClassVar[str | None] = None
    """The loss, by its name among the losses, through which the target acts on the featuriser."""
    smallest_batch: ClassVar[int] = 1
    """The fewest examples a domain may have in a minibatch."""

    def __init__(
        self, model: Model, settings: Settings | None = None, *, seed: int, amp: torch.dtype | None = None
    ) -> None:
        super().__init__()
        settings = self.settings_type() if settings is None else settings
        if type(settings) is not self.settings_type:
            raise SettingError(
                f"{self.name} takes {self.settings_type.__name__}",
                type(settings).__name__,
                f"Pass {self.settings_type.__name__}(...), or use build_algorithm with the settings' names",
            )
        if amp not in (None, torch.bfloat16):
            raise SettingError("amp must be torch.bfloat16 or None", amp, "float16 would need its losses scaled")
        self.model, self.seed, self.amp = model, seed, amp
        self.settings = settings
        with seeds.torch_stream(seed, "networks"):
            self.build()
        places = {p.device for p in model.parameters()}
        if len(places) == 1:
            self.to(places.pop())  # the networks just made: optimisers look at where their parameters are
        self.optimisers = self.build_optimisers()
        self._check_optimisers()

    # ---- what the training loop calls -------------------------------------------------------------------------

    def update(self, batch: Batch, step: int) -> Losses:
        """One training step; ``step`` counts from 0. "loss" is always among the losses, which are detached."""
        self._check(batch)
        if not self.training:
            self.train()
        with seeds.torch_stream(self.seed, "update", step, device=batch.source.x.device):
            losses = self.train_step(batch, step)
        return {name: value.detach() for name, value in losses.items()}

    @torch.no_grad()
    def predict(self, x: Tensor) -> Tensor:
        """Logits (n, n_classes) in evaluation mode, in full precision."""
        with self._evaluating():
            return self.classify(self.embed(self.prepare(x)))

    @torch.no_grad()
    def features(self, x: Tensor) -> Tensor:
        """Features (n, feature_size) in evaluation mode, in full precision: what plans are made from."""
        with self._evaluating():
            return self.embed(self.prepare(x))

    @classmethod
    def search_space(cls, settings: Settings) -> Space:
        """The space of a random search in which ``settings`` says what is not drawn."""
        del settings
        return cls.space

    @property
    def predict_group(self) -> int:
        """Predictions of ``predict_group`` consecutive examples depend on one another (1: on none but itself).

        Where it is not 1, evaluate in a fixed shuffled order and in batches of a multiple of it.
        """
        return 1

    @property
    def discrepancy(self) -> Discrepancy | None:
        """The discrepancy that is minimised and that a sampler should plan for; ``None`` where there is none."""
        return None

    @property
    def wants_features(self) -> bool:
        """Whether ``resolve`` must be given features, even where the sampler needs none."""
        return False

    def resolve(self, sizes: tuple[int, int], features: Features | None = None) -> None:
        """Fix what depends on the whole data: the domains' sizes and, from a plan's features, the scale of a kernel.

        Called before the first step and after every plan.
        """
        del sizes, features

    def set_source_domains(self, domains: Tensor) -> None:
        """Say which domain every source example (n_s,) comes from, where the source is a union of several."""
        del domains

    # ---- what an algorithm defines ----------------------------------------------------------------------------

    def build(self) -> None:
        """Make the networks besides the model; torch's stream is seeded here."""

    def build_optimisers(self) -> tuple[torch.optim.Optimizer, ...]:
        """Make the optimisers, after all networks. By default one Adam over everything that learns."""
        return (self.adam(self.parameters()),)

    @abstractmethod
    def losses(self, batch: Batch, step: int) -> Losses:
        """The losses of a minibatch; "loss" is what is minimised."""

    def train_step(self, batch: Batch, step: int) -> Losses:
        """Compute the losses and take one step down "loss"."""
        losses = self.losses(batch, step)
        self.descend(losses["loss"])
        return losses

    def prepare(self, x: Tensor) -> Tensor:
        """What the featuriser takes for the images x."""
        return x

    # ---- parts that algorithms are written with ---------------------------------------------------------------

    def adam(self, parameters: Iterable[nn.Parameter], **changes: Any) -> torch.optim.Adam:
        """Adam over those of the parameters that learn; on a GPU one kernel moves all of them."""
        learning = [p for p in parameters if p.requires_grad]
        settings = {"lr": self.settings.lr, "weight_decay": self.settings.weight_decay} | changes
        return torch.optim.Adam(learning, fused=fusible(learning) or None, **settings)

    def descend(self, loss: Tensor) -> None:
        """One step of every optimiser down ``loss``."""
        self.backward(loss)
        self.step_optimisers()

    def backward(self, loss: Tensor) -> None:
        """Gradients of ``loss``, in place of those that were there."""
        for optimiser in self.optimisers:
            optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]

    def step_optimisers(self) -> None:
        for optimiser in self.optimisers:
            optimiser.step()

    def embed(self, x: Tensor) -> Tensor:
        """z = f(x), for what ``prepare`` gives."""
        return self.in_precision(self.model.features, x)

    def classify(self, z: Tensor) -> Tensor:
        """The logits g(z)."""
        return self.in_precision(self.model.classify, z)

    def in_precision(self, network: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """network(x), computed in ``amp`` and returned in full precision."""
        with nullcontext() if self.amp is None else torch.autocast(x.device.type, dtype=self.amp):
            out = network(x)
        return full(out)

    def embed_both(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """z_s and z_t by one pass over both domains, so that batch normalisation that learns sees them together."""
        z = self.embed(self.prepare(torch.cat([batch.source.x, batch.target.x])))
        return z[: len(batch.source.x)], z[len(batch.source.x) :]

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        was_training = self.training
        if was_training:
            self.eval()
        try:
            yield
        finally:
            if was_training:
                self.train()

    # ---- state and checks -------------------------------------------------------------------------------------

    def get_extra_state(self) -> dict[str, Any]:
        """What ``state_dict`` holds besides the networks."""
        optimisers = [optimiser.state_dict() for optimiser in self.optimisers]
        return {"algorithm": self.name, "optimisers": optimisers, "fixed": self.fixed_state()}

    def set_extra_state(self, state: Any) -> None:
        if state["algorithm"] != self.name:
            raise SettingError(
                f"a state for {self.name} must have been saved by it",
                f"one of {state['algorithm']}",
                f"Build {state['algorithm']} with the settings it was saved with",
            )
        for optimiser, saved in zip(self.optimisers, state["optimisers"], strict=True):
            load_optimiser(optimiser, saved)
        self.load_fixed_state(state["fixed"])

    def fixed_state(self) -> dict[str, Any]:
        """What ``resolve`` has fixed, as plain values."""
        return {}

    def load_fixed_state(self, state: Mapping[str, Any]) -> None:
        del state

    def _check_optimisers(self) -> None:
        """Every parameter that learns is in exactly one optimiser; a network made too late would never learn."""
        held = [id(p) for optimiser in self.optimisers for group in optimiser.param_groups for p in group["params"]]
        names = [name for name, p in self.named_parameters() if p.requires_grad and held.count(id(p)) != 1]
        if names:
            raise SettingError(
                "every parameter that learns must be in exactly one optimiser",
                ", ".join(names),
                "Make networks in build() and give all of them to build_optimisers()",
            )

    def _check(self, batch: Batch) -> None:
        if batch.source.y is None:
            raise InputError("the source of a minibatch must have labels", "y=None")
        if batch.target.y is not None:
            raise InputError("no algorithm may see labels of the target", "target labels", "Pass y=None")
        for domain, half in (("source", batch.source), ("target", batch.target)):
            if len(half.x) < self.smallest_batch:
                raise SettingError(
                    f"{self.name} needs at least {self.smallest_batch} examples of a domain in a minibatch",
                    f"{len(half.x)} of the {domain}",
                    "Raise batch_size",
                )


def fusible(parameters: Sequence[nn.Parameter]) -> bool:
    """Whether all are on a GPU. On a CPU the fused kernel would be another rounding of the same step."""
    return all(p.is_cuda for p in parameters)


def load_optimiser(optimiser: torch.optim.Optimizer, saved: Mapping[str, Any]) -> None:
    """What the optimiser remembers of its parameters. How it computes a step, and in which layout, stays its own: the
    state may come from another device."""
    ways = ("foreach", "fused")
    pairs = zip(optimiser.param_groups, saved["param_groups"], strict=True)
    groups = [{**its, **{way: own[way] for way in ways if way in own}} for own, its in pairs]
    optimiser.load_state_dict({**saved, "param_groups": groups})
    for p, state in optimiser.state.items():
        for name, value in state.items():
            if isinstance(value, Tensor) and value.shape == p.shape and value.stride() != p.stride():
                state[name] = torch.empty_like(p).copy_(value)


def full(x: Tensor) -> Tensor:
    """x in float32, or as it is where it is more precise."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def task_loss(logits: Tensor, source: DomainBatch) -> Tensor:
    """Σ_i w_i CE(logits_i, y_i): the cross-entropy weighted by the plan, whose weights sum to 1 (D6)."""
    assert source.y is not None
    return (source.weight.to(logits.dtype) * F.cross_entropy(logits, source.y, reduction="none")).sum()
