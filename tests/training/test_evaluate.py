from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from references import algorithms as literal
from references.tiny import conv_model

from orda.algorithms import build_algorithm
from orda.data import ArrayDomain, to_float
from orda.seeds import generator
from orda.training.evaluate import Evaluation, accuracy, evaluate


def domain(count: int, name: str = "d", seed: int = 0) -> ArrayDomain:
    rng = generator(seed, "evaluate test", name)
    images = rng.integers(0, 256, (count, 4, 4, 3)).astype(np.uint8)
    labels = rng.integers(0, 3, count)
    return ArrayDomain(name, images, labels, tuple(f"{i}.png" for i in range(count)), ("a", "b", "c"))


def prepare(images: torch.Tensor) -> torch.Tensor:
    return to_float(images, "centred")


@pytest.mark.parametrize("batch", [1, 4, 11, 50])
def test_accuracy_is_the_share_that_is_right(batch: int) -> None:
    algorithm = build_algorithm("erm", conv_model(dropout=0.5), seed=0)
    data = domain(11)
    right = 0
    for i in range(11):
        x = prepare(torch.from_numpy(data.images[i : i + 1]))
        right += int(algorithm.predict(x).argmax()) == data.labels[i]
    assert accuracy(algorithm, data, prepare, batch) == right / 11
    assert algorithm.training


@pytest.mark.parametrize("batch", [1, 3, 8, 12, 100])
def test_where_predictions_adapt_the_batch_makes_no_difference(batch: int) -> None:
    """ARM: supports of four in one fixed random order of the domain, whatever is computed at once."""
    algorithm = build_algorithm("arm", conv_model(), seed=0, support=4)
    data = domain(26)
    order = generator(0, "evaluate", "d").permutation(26)
    x = prepare(torch.from_numpy(np.asarray(data.images)[order]))
    right = 0
    with torch.no_grad():
        algorithm.eval()
        for i, members in enumerate(literal.supports([0] * 26, 4)):
            context = algorithm.context(x[members]).mean(0)
            logits = algorithm.model(torch.cat([x[i], context])[None])
            right += int(logits.argmax()) == data.labels[order[i]]
    assert accuracy(algorithm, data, prepare, batch) == right / 26


def test_every_source_counts_alike_however_many_it_holds() -> None:
    algorithm = build_algorithm("erm", conv_model(), seed=0)
    big, small, target = domain(30, "big"), domain(3, "small"), domain(20, "target")
    found = evaluate(algorithm, [big, small], target, prepare, step=7, batch=8)
    assert found.step == 7
    assert found.source_validations == {d.name: accuracy(algorithm, d, prepare, 5) for d in (big, small)}
    assert found.source_validation == sum(found.source_validations.values()) / 2
    assert found.target_accuracy == accuracy(algorithm, target, prepare, 5)


evaluations = st.builds(
    Evaluation,
    step=st.integers(0, 9),
    source_validations=st.fixed_dictionaries({"a": st.sampled_from([0.25, 0.5, 0.75])}),
    target_accuracy=st.floats(0, 1),
)


@given(evaluations, evaluations, st.sampled_from(["first", "last"]), st.floats(0, 1), st.floats(0, 1))
def test_selection_never_sees_the_target(a: Evaluation, b: Evaluation, ties: str, ta: float, tb: float) -> None:
    chosen = a.beats(b, ties)
    assert replace(a, target_accuracy=ta).beats(replace(b, target_accuracy=tb), ties) == chosen


@given(st.lists(evaluations, min_size=1), st.sampled_from(["first", "last"]))
def test_the_best_validation_is_selected_and_ties_are_as_asked(found: list[Evaluation], ties: str) -> None:
    best = None
    for evaluation in found:
        best = evaluation if evaluation.beats(best, ties) else best
    top = [e for e in found if e.source_validation == max(e.source_validation for e in found)]
    assert best is (top[0] if ties == "first" else top[-1])
