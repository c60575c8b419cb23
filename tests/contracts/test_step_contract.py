"""What a whole training step promises on a GPU: between two plans the host never waits for it.

Loader, augmentation and an update of every algorithm: on a make-believe GPU (``references/card.py``), and on a real one
by ``make test-gpu``.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from contracts.test_algorithm_contract import CASES
from loader.conftest import domain
from references.card import CARD, CPU, Card, Ledger, card
from references.tiny import conv_model
from torch import Tensor
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.data import TensorDataset

from orda.algorithms import Algorithm, build_algorithm
from orda.data import NORMALISATIONS
from orda.data.augment import Images
from orda.discrepancies import CORAL, MMD, Discrepancy
from orda.loader import AdaptationLoader
from orda.records import Batch
from orda.samplers import make_sampler

FIRST = 2000  # step: the reversal has set in, and the alternating form moves both its players
WARM, STEPS, K = 2, 3, 6
UNBIASED = {
    "mmd-unbiased": ("mmd", {"estimator": "unbiased"}),
    "coral-unbiased": ("coral", {"estimator": "unbiased"}),
}
EVERY = {**CASES, **UNBIASED}
every = pytest.mark.parametrize("case", EVERY)


def assembled(
    case: str, device: torch.device, sampler: str, resident: bool = True, amp: torch.dtype | None = torch.bfloat16
) -> tuple[Algorithm, AdaptationLoader]:
    """An algorithm and its loader on the device, put together as a run does it."""
    name, settings = EVERY[case]
    model = conv_model().to(device)
    algorithm = build_algorithm(name, model, seed=0, amp=amp, **settings).to(device)
    algorithm.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    sets = [domain(part, 40, 16) for part in ("source", "target")]
    source, target = (part.on(device) for part in sets) if resident else sets
    algorithm.set_source_domains(torch.arange(40) // 20)
    loader = AdaptationLoader(
        source,
        target,
        sampler=make_sampler(sampler, algorithm.discrepancy),
        batch_size=K,
        horizon=WARM + STEPS,
        featurizer=algorithm.features,
        transform=Images(device, NORMALISATIONS["imagenet"], "domainbed", channels_last=True),
        device=device,
    )
    loader.replan(loader.extract())
    algorithm.resolve(loader.sizes, loader.extract())
    return algorithm, loader


def block(algorithm: Algorithm, loader: AdaptationLoader, warm: Callable[[], Any]) -> list[dict[str, Tensor]]:
    """The losses of some steps of a block; ``warm`` is called after the first ones, which fetch constants."""
    losses = []
    for step, batch in enumerate(loader.planned()):
        losses.append(algorithm.update(batch, FIRST + step))
        if step + 1 == WARM:
            warm()
    return losses


@every
@pytest.mark.parametrize("resident", [True, False], ids=["resident", "in host memory"])
def test_no_step_waits(case: str, resident: bool) -> None:
    with card() as ledger:
        losses = block(*assembled(case, CARD, "uniform", resident), ledger.clear)
    assert ledger.held_up == []
    copies = 2 if resident else 5  # a step: what augmentations drew; and the images of both domains, and labels
    assert [copy.pinned for copy in ledger.copies] == [True] * copies * STEPS
    assert all(isinstance(value, Card) for step in losses for value in step.values())


def test_no_operation_reads_a_value_back_in_the_midst_of_itself() -> None:
    """As the gradient of a trace does: the card sees what is asked of it, the profiler what torch asks of itself."""
    with card():
        made = {case: assembled(case, CARD, "uniform") for case in EVERY}
        read = {case: list(itertools.islice(loader.planned(), 2)) for case, (_, loader) in made.items()}
        with profile(activities=[ProfilerActivity.CPU]) as seen:
            for case, (algorithm, _) in made.items():
                for step, batch in enumerate(read[case]):
                    with record_function(case):
                        algorithm.update(batch, FIRST + step)
    found = {
        (above[-1], above[0])
        for event in seen.events()
        if event.name in ("aten::_local_scalar_dense", "aten::nonzero")
        for above in [list(parents(event))]
        if above[-1] in EVERY and "aten::_fused_adam_" not in above  # on a CPU it reads how many steps were done
    }
    assert found == set()


def parents(event: Any) -> Iterator[str]:
    while event.cpu_parent is not None:
        event = event.cpu_parent
        yield event.name


@every
def test_a_step_on_the_card_is_the_step_on_the_cpu(case: str) -> None:
    """So what the card computes is the step itself."""
    with card():
        there = block(*assembled(case, CARD, "uniform", amp=None), lambda: None)
        found = [{name: value.item() for name, value in step.items()} for step in there]
    here = block(*assembled(case, CPU, "uniform", amp=None), lambda: None)
    for one, other in zip(found, here, strict=True):
        assert one == pytest.approx({name: value.item() for name, value in other.items()}, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("case", ["coral", "mmd-median", *UNBIASED])
def test_no_step_waits_for_what_a_plan_says_of_its_draws(case: str) -> None:
    with card() as ledger:
        block(*assembled(case, CARD, "ordered"), ledger.clear)
    assert ledger.held_up == []


def tensors(device: torch.device) -> list[TensorDataset]:
    return [TensorDataset(torch.randn(20, 5).to(device), torch.arange(20).to(device) % 3) for _ in range(2)]


def batches(places: torch.device, device: torch.device | None, ledger: Ledger) -> list[Batch]:
    source, target = tensors(places)
    loader = AdaptationLoader(source, target, sampler="uniform", batch_size=4, horizon=4, device=device)
    found = []
    for batch in iter(loader):
        found.append(batch)
        if len(found) == 1:
            ledger.clear()
        if len(found) == 4:
            return found
    raise AssertionError("a loader goes on for ever")


@pytest.mark.parametrize("device", [CARD, None], ids=["to the card", "where they are"])
def test_no_minibatch_of_tensors_is_waited_for(device: torch.device | None) -> None:
    with card() as ledger:
        found = batches(CARD, device, ledger)
        assert ledger.copies == ledger.waits == []
        assert all(batch.source.x.device == CARD for batch in found)


LOSSES = {
    "mmd": MMD(),
    "mmd, median": MMD(gammas="median"),
    "coral": CORAL(),
    "mmd, unbiased": MMD(estimator="unbiased"),
    "coral, unbiased": CORAL(estimator="unbiased"),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_a_loss_in_a_loop_of_one_s_own_waits_for_nothing(loss: Discrepancy) -> None:
    with card() as ledger:
        zs, zt = (torch.randn(8, 4).to(CARD).requires_grad_() for _ in range(2))
        loss(zs, zt).backward()
        ledger.clear()
        loss(zs, zt).backward()
    assert ledger.copies == ledger.waits == []


# ---- that the card sees what it should -------------------------------------------------------------------------------


FAULTS: dict[str, Callable[[Tensor], Any]] = {
    "a value is read": lambda x: x.sum().item(),
    "a decision": lambda x: bool((x > 0).all()),
    "a list": lambda x: x.tolist(),
    "a mask": lambda x: x[x > 0],
    "values at a mask": lambda x: x.__setitem__(x > 0, x[:1].expand(len(x))),
    "where": lambda x: torch.nonzero(x),
    "an index from the host": lambda x: x[torch.tensor([0, 1])],
    "a copy from the host": lambda x: torch.zeros(3).to(x.device),
    "a constant": lambda x: torch.tensor([1.0, 2.0], device=x.device),
    "a copy to the host": lambda x: x.cpu(),
    "values from the host": lambda x: x.__setitem__(slice(2), torch.zeros(2)),
    "an end": lambda x: torch.cuda.synchronize(),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_the_card_sees_who_waits(fault: Callable[[Tensor], Any]) -> None:
    with card() as ledger:
        x = torch.ones(4, device=CARD)
        assert ledger.held_up == []
        fault(x)
    assert ledger.held_up


def test_the_card_refuses_operands_of_the_host() -> None:
    with card():
        x = torch.ones(4, device=CARD)
        assert (x + torch.tensor(1.0)).device == CARD  # a number may come along
        with pytest.raises(RuntimeError, match="all tensors must be on one device"):
            x + torch.ones(4)
        with pytest.raises(TypeError, match="to numpy"):
            x.numpy()


# ---- on a GPU --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def never_waiting() -> Iterator[Callable[[], None]]:
    """From the call of what is given on, waiting for the GPU is an error."""

    def begin() -> None:
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")

    try:
        yield begin
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.gpu
@every
@pytest.mark.parametrize("resident", [True, False], ids=["resident", "in host memory"])
def test_on_a_gpu_no_step_waits(case: str, resident: bool) -> None:
    algorithm, loader = assembled(case, torch.device("cuda", torch.cuda.current_device()), "uniform", resident)
    with never_waiting() as begin:
        losses = block(algorithm, loader, begin)
    assert all(bool(torch.isfinite(value)) for step in losses for value in step.values())
