"""One battery over all algorithms: what each promises, whatever its formula."""

from __future__ import annotations

import random
from contextlib import nullcontext
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from references.tiny import CLASSES, conv_model, half, minibatch, smooth_model
from torch import Tensor, nn

from orda.algorithms import ALGORITHMS, Algorithm, build_algorithm
from orda.errors import InputError, SettingError
from orda.models import Model
from orda.records import Batch, DomainBatch, Features

SMALL: dict[str, Any] = {"mlp_width": 16}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "erm": ("erm", {}),
    "coral": ("coral", {}),
    "coral-sum": ("coral", {"scale": "sum"}),
    "mmd": ("mmd", {}),
    "mmd-median": ("mmd", {"gammas": "median"}),
    "mmd-linear": ("mmd", {"kernel": "linear"}),
    "dann": ("dann", SMALL),
    "dann-alternating": ("dann", {**SMALL, "form": "alternating", "grad_penalty": 0.1}),
    "dann-norm": ("dann", {**SMALL, "mlp_norm": True, "mlp_dropout": 0.2}),
    "cdan": ("cdan", SMALL),
    "cdan-e-random": ("cdan", {**SMALL, "entropy": True, "random_map": 12}),
    "cdan-sdat": ("cdan-sdat", SMALL),
    "cdan-els": ("cdan-els", SMALL),
    "arm": ("arm", {"support": 3}),
    "mcc": ("mcc", {}),
}
every = pytest.mark.parametrize("case", CASES)
with_target = pytest.mark.parametrize(
    "case", [case for case, (name, _) in CASES.items() if ALGORITHMS[name].uses_target]
)
# ARM's context is the mean over all images of a support, weighted or not
of_examples = pytest.mark.parametrize("case", [case for case in CASES if case != "arm"])
STEP = 2001  # the reversal has set in, and the alternating form moves the model


def built(case: str, model: Model | None = None, seed: int = 0, **settings: Any) -> Algorithm:
    """An algorithm whose data-dependent constants are fixed, on a convolutional network unless given another."""
    name, own = CASES[case]
    algorithm = build_algorithm(name, conv_model() if model is None else model, seed=seed, **{**own, **settings})
    d = algorithm.model.feature_size
    generator = torch.Generator().manual_seed(7)
    features = Features(*(torch.randn(n, d, generator=generator, dtype=torch.float64) for n in (40, 50)))
    algorithm.resolve((40, 50), features)
    return algorithm


def smooth(case: str, **settings: Any) -> Algorithm:
    """In float64, without batch normalisation or dropout; ARM needs convolutions and brings its own normalisation."""
    model = conv_model(norm=False) if case == "arm" else smooth_model()
    settings = {"mlp_norm": False, "mlp_dropout": 0.0, **settings} if case == "dann-norm" else settings
    return built(case, model, **settings).double()


def parameters(algorithm: nn.Module) -> dict[str, Tensor]:
    return {name: p.detach().clone() for name, p in algorithm.named_parameters()}


def same_state(a: Any, b: Any) -> bool:
    """Bit by bit, through containers."""
    if isinstance(a, Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_state(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same_state, a, b))
    return bool(a == b)


def accuracy_loss(algorithm: Algorithm, half: DomainBatch) -> float:
    assert half.y is not None
    return float(F.cross_entropy(algorithm.predict(half.x), half.y))


@every
def test_every_name_is_covered(case: str) -> None:
    assert {name for name, _ in CASES.values()} == set(ALGORITHMS)
    assert CASES[case][0] in ALGORITHMS


# ---- learning ----------------------------------------------------------------------------------------------------


@every
def test_the_task_is_learnt_on_images_not_trained_with(case: str) -> None:
    algorithm = built(case, lr=1e-2, penalty=0.1) if "penalty" in _names(case) else built(case, lr=1e-2)
    held_out = minibatch(99, n_s=60).source
    before = accuracy_loss(algorithm, held_out)
    for step in range(40 if case != "dann-alternating" else 80):
        losses = algorithm.update(minibatch(step, 12, 12), step)
        assert all(bool(torch.isfinite(value)) for value in losses.values())
    after = accuracy_loss(algorithm, held_out)
    assert before > 0.9  # chance: log 3 = 1.1
    assert after < 0.5


def _names(case: str) -> set[str]:
    return set(vars(ALGORITHMS[CASES[case][0]].settings_type()))


@every
@pytest.mark.parametrize("freeze_bn", [False, True])
def test_all_that_should_move_moves_and_nothing_else(case: str, freeze_bn: bool) -> None:
    algorithm = built(case, conv_model(freeze_bn=freeze_bn), lr=1e-2)
    before, buffers = parameters(algorithm), {name: b.clone() for name, b in algorithm.named_buffers()}
    for step in range(4):
        algorithm.update(minibatch(step, 12, 12), step)
    still = [name for name, p in algorithm.named_parameters() if torch.equal(p, before[name])]
    # in front of batch normalisation a bias has no say, and its gradient is exactly or nearly zero
    muted = ["model.featurizer.0.bias"] if not freeze_bn else []
    assert [name for name in still if name not in muted and not (case == "dann-norm" and "discriminator" in name)] == []
    moved = {name for name, b in algorithm.named_buffers() if name in buffers and not torch.equal(b, buffers[name])}
    norm = {f"model.featurizer.1.{part}" for part in ("running_mean", "running_var", "num_batches_tracked")}
    assert (norm <= moved) == (not freeze_bn)
    assert all("running" in name or "num_batches" in name for name in moved)
    if freeze_bn:
        assert not norm & moved


@every
def test_parameters_that_should_not_learn_do_not(case: str) -> None:
    model = conv_model()
    for p in model.head.parameters():
        p.requires_grad_(False)
    algorithm = built(case, model, lr=1e-2)
    before = parameters(algorithm.model.head)
    algorithm.update(minibatch(0), 1)
    assert all(torch.equal(p, before[name]) for name, p in algorithm.model.head.named_parameters())


def test_a_network_made_too_late_is_refused() -> None:
    """DomainBed's ARM never learnt its context network: the optimiser was made before it."""

    class Late(ALGORITHMS["erm"]):  # type: ignore[name-defined, misc]
        def build_optimisers(self) -> tuple[torch.optim.Optimizer, ...]:
            optimisers = super().build_optimisers()
            self.late = nn.Linear(2, 2)
            return optimisers

    with pytest.raises(SettingError, match=r"exactly one optimiser; got late.weight, late.bias"):
        Late(conv_model(), seed=0)


# ---- the target --------------------------------------------------------------------------------------------------


@every
def test_the_target_matters_where_it_should_and_only_there(case: str) -> None:
    one, other = built(case), built(case)
    for step in range(STEP, STEP + 3):
        one.update(minibatch(step, target_seed=1), step)
        other.update(minibatch(step, target_seed=2), step)
    same = [torch.equal(p, q) for p, q in zip(one.model.parameters(), other.model.parameters(), strict=True)]
    if ALGORITHMS[CASES[case][0]].uses_target:
        assert sum(same) <= 1  # the first bias, before batch normalisation, may stand still
    else:
        assert all(same)


@with_target
def test_the_alignment_reaches_every_parameter_of_the_featuriser(case: str) -> None:
    algorithm = smooth(case)
    assert algorithm.alignment is not None
    alignment = algorithm.losses(minibatch(0, dtype=torch.float64), STEP)[algorithm.alignment]
    found = torch.autograd.grad(alignment, list(algorithm.model.featurizer.parameters()))
    assert all(float(gradient.abs().max()) > 1e-12 for gradient in found)


@pytest.mark.parametrize("case", ["coral", "coral-sum", "mmd", "mmd-median", "mmd-linear", "mcc"])
def test_more_alignment_leaves_less_of_what_it_minimises(case: str) -> None:
    """Descent on one minibatch with λ = 10 and with λ = 0. (The adversarial methods are games, without such a law.)"""
    ends, b = [], minibatch(0, 12, 12, torch.float64)
    for penalty in (0.0, 10.0):
        algorithm = smooth(case, lr=1e-2, penalty=penalty)
        for step in range(100):
            losses = algorithm.update(b, step)
        assert algorithm.alignment is not None
        ends.append(losses[algorithm.alignment].item())
    assert ends[1] < 0.7 * ends[0]


@every
def test_labels_of_the_target_are_refused_and_labels_of_the_source_needed(case: str) -> None:
    algorithm, b = built(case), minibatch(0)
    with pytest.raises(InputError, match="no algorithm may see labels of the target"):
        algorithm.update(Batch(b.source, replace(b.target, y=b.source.y)), 0)
    with pytest.raises(InputError, match="source of a minibatch must have labels"):
        algorithm.update(Batch(replace(b.source, y=None), b.target), 0)


# ---- weights -----------------------------------------------------------------------------------------------------


@every
def test_the_task_gradient_is_the_weighted_sum_of_the_examples_gradients(case: str) -> None:
    algorithm = smooth(case).eval()
    b = minibatch(0, dtype=torch.float64, weighted=True)
    doubled = b.source.weight.clone()
    doubled[2] *= 2
    model = list(algorithm.model.parameters())

    def task_gradient(weight: Tensor) -> Tensor:
        task = algorithm.losses(Batch(replace(b.source, weight=weight), b.target), STEP)["task"]
        return torch.cat([g.flatten() for g in torch.autograd.grad(task, model)])

    one_hot = torch.zeros(6)
    one_hot[2] = 1
    whole, alone = task_gradient(b.source.weight), task_gradient(one_hot)
    total = float(doubled.sum())
    expected = (whole + float(b.source.weight[2]) * alone) / total
    torch.testing.assert_close(task_gradient(doubled / total), expected, rtol=1e-5, atol=1e-8)


@of_examples
@pytest.mark.parametrize("domain", ["source", "target"])
def test_an_example_of_weight_zero_does_not_count(case: str, domain: str) -> None:
    algorithm = smooth(case).eval()
    b = minibatch(0, dtype=torch.float64)
    part: DomainBatch = getattr(b, domain)
    part = replace(part, weight=torch.tensor([0.3, 0.0, 0.1, 0.2, 0.2, 0.2]))
    other = part.x.clone()
    other[1] = 5.0
    first = algorithm.losses(replace(b, **{domain: part}), STEP)
    second = algorithm.losses(replace(b, **{domain: replace(part, x=other)}), STEP)
    for name in first:
        assert first[name].item() == pytest.approx(second[name].item(), rel=1e-9), name


@of_examples
def test_an_example_may_be_counted_twice_at_half_its_weight(case: str) -> None:
    algorithm = smooth(case).eval()
    b = minibatch(0, dtype=torch.float64, weighted=True)
    halves = []
    for part in (b.source, b.target):
        weight = torch.cat([part.weight[:1] / 2, part.weight[1:], part.weight[:1] / 2])
        y = None if part.y is None else torch.cat([part.y, part.y[:1]])
        halves.append(half(torch.cat([part.x, part.x[:1]]), y, weight))
    first, second = algorithm.losses(b, STEP), algorithm.losses(Batch(*halves), STEP)
    for name in first:
        assert first[name].item() == pytest.approx(second[name].item(), rel=1e-6), name


# ---- one example, prediction, randomness, state --------------------------------------------------------------------


@every
def test_one_example_per_domain_works_or_is_refused_by_name(case: str) -> None:
    algorithm = built(case)
    b = minibatch(0, 1, 1)
    if algorithm.smallest_batch > 1:
        with pytest.raises(SettingError, match=f"{algorithm.name} needs at least {algorithm.smallest_batch} examples"):
            algorithm.update(b, 0)
    else:
        for step in range(3):
            losses = algorithm.update(b, step)
            assert all(bool(torch.isfinite(value)) for value in losses.values())


@every
def test_domains_may_have_batches_of_different_sizes(case: str) -> None:
    algorithm = built(case)
    for step in range(2):
        assert bool(torch.isfinite(algorithm.update(minibatch(step, 4, 9), step)["loss"]))


@every
def test_prediction_is_deterministic_and_leaves_the_mode_and_the_statistics_alone(case: str) -> None:
    algorithm = built(case, conv_model(dropout=0.5))
    algorithm.update(minibatch(0), 0)
    x, before = minibatch(5, n_s=9).source.x, {name: b.clone() for name, b in algorithm.named_buffers()}
    stream = torch.get_rng_state()
    logits, z = algorithm.predict(x), algorithm.features(x)
    assert algorithm.training
    assert torch.equal(logits, algorithm.predict(x))
    assert torch.equal(z, algorithm.features(x))
    assert torch.equal(logits, algorithm.eval().predict(x))
    assert not algorithm.training
    assert logits.shape == (9, CLASSES)
    assert not logits.requires_grad
    assert torch.equal(algorithm.model.head(z), logits)
    assert all(torch.equal(b, before[name]) for name, b in algorithm.named_buffers())
    assert torch.equal(stream, torch.get_rng_state())


@every
def test_losses_are_detached_scalars_and_name_the_loss(case: str) -> None:
    losses = built(case).update(minibatch(0), STEP)
    assert {"loss", "task"} <= set(losses)
    assert all(value.ndim == 0 and not value.requires_grad for value in losses.values())
    alignment = ALGORITHMS[CASES[case][0]].alignment
    assert alignment is None or alignment in losses
    assert (alignment is not None) == ALGORITHMS[CASES[case][0]].uses_target


def streams() -> tuple[Any, ...]:
    name, keys, *rest = np.random.get_state()  # noqa: NPY002
    return torch.get_rng_state().tolist(), (name, keys.tolist(), *rest), random.getstate()  # type: ignore[union-attr]


@every
def test_global_randomness_is_neither_used_nor_moved(case: str) -> None:
    ends = []
    for noise in (1, 2):
        torch.manual_seed(noise)
        np.random.seed(noise)  # noqa: NPY002
        random.seed(noise)
        before = streams()
        algorithm = built(case, conv_model(dropout=0.3))
        for step in range(2):
            algorithm.update(minibatch(step), step)
        algorithm.predict(minibatch(9).source.x)
        assert streams() == before
        ends.append(parameters(algorithm))
    assert same_state(*ends)
    other = built(case, conv_model(dropout=0.3), seed=1)
    for step in range(2):
        other.update(minibatch(step), step)
    assert not same_state(parameters(other), ends[0])


@every
def test_a_resumed_run_goes_on_bit_by_bit(case: str) -> None:
    """Saved to bytes, read with weights_only, loaded into an algorithm that started elsewhere."""
    straight = built(case, conv_model(dropout=0.3), lr=1e-3)
    for step in range(3):
        straight.update(minibatch(step), step)
    file = BytesIO()
    torch.save(straight.state_dict(), file)
    resumed = build_algorithm(CASES[case][0], conv_model(seed=5, dropout=0.3), seed=0, **{**CASES[case][1], "lr": 1e-3})
    file.seek(0)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    assert same_state(resumed.state_dict(), straight.state_dict())
    for step in range(3, 7):
        first, second = straight.update(minibatch(step), step), resumed.update(minibatch(step), step)
        assert same_state(first, second)
    assert same_state(resumed.state_dict(), straight.state_dict())
    x = minibatch(9).source.x
    assert torch.equal(straight.predict(x), resumed.predict(x))


# ---- precision and devices -----------------------------------------------------------------------------------------


@every
def test_half_precision_is_for_the_networks_alone(case: str) -> None:
    name, own = CASES[case]
    algorithm = build_algorithm(name, conv_model(), seed=0, amp=torch.bfloat16, lr=1e-2, **own)
    exact = built(case, lr=1e-2)
    algorithm.load_state_dict(exact.state_dict())
    losses, expected = algorithm.losses(minibatch(0, 12, 12), STEP), exact.losses(minibatch(0, 12, 12), STEP)
    for key, value in losses.items():
        assert value.dtype == torch.float32
        assert value.item() == pytest.approx(expected[key].item(), rel=0.1, abs=0.02)
    algorithm.update(minibatch(0), 0)
    assert all(p.dtype == torch.float32 for p in algorithm.parameters())
    assert algorithm.predict(minibatch(0).source.x).dtype == torch.float32


def test_float16_is_refused() -> None:
    with pytest.raises(SettingError, match="bfloat16"):
        build_algorithm("erm", conv_model(), seed=0, amp=torch.float16)


@every
def test_a_step_runs_on_another_device_and_never_waits_for_it(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the meta device, which has no values: an operand left on the CPU raises, and so does reading a value back."""
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())  # it does not know this device
    algorithm, b = built(case).to("meta"), minibatch(0, 12, 12)

    def away(part: DomainBatch) -> DomainBatch:
        values = {name: getattr(part, name) for name in ("x", "y", "weight", "stratum", "index")}
        return DomainBatch(**{name: None if value is None else value.to("meta") for name, value in values.items()})

    moved = Batch(away(b.source), away(b.target))
    if case == "arm":
        algorithm.set_source_domains(torch.arange(12) % 2)
    for step in (STEP - 1, STEP):
        losses = algorithm.update(moved, step)
        assert all(value.device.type == "meta" for value in losses.values())
    assert algorithm.predict(moved.source.x).device.type == "meta"
