"""ARM: supports, contexts, adaptation, and a context network that learns."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from references import algorithms as literal
from references.tiny import conv_model, minibatch

from orda.algorithms import ARM, build_algorithm
from orda.algorithms.arm import supports


def built(support: int = 4, **settings: object) -> ARM:
    algorithm = build_algorithm("arm", conv_model(), seed=1, support=support, **settings)
    assert isinstance(algorithm, ARM)
    return algorithm


@given(domains=st.lists(st.integers(0, 2), min_size=1, max_size=14), size=st.integers(1, 6))
def test_supports_are_the_literal_ones(domains: list[int], size: int) -> None:
    ours = supports(torch.tensor(domains), size)
    for row, members in zip(ours, literal.supports(domains, size), strict=True):
        expected = torch.zeros(len(domains))
        expected[members] = 1 / len(members)
        torch.testing.assert_close(row, expected)


@pytest.mark.parametrize("n", [3, 4, 8, 11])
def test_logits_are_those_of_images_with_their_supports_mean_context(n: int) -> None:
    algorithm = built().eval()
    x = minibatch(0, n_s=n).source.x
    expected = []
    with torch.no_grad():
        for i, members in enumerate(literal.supports([0] * n, 4)):
            context = torch.stack([algorithm.context(x[j : j + 1])[0] for j in members]).mean(0)
            image = torch.cat([x[i], context]).unsqueeze(0)
            expected.append(algorithm.model.head(algorithm.model.featurizer(image))[0])
    torch.testing.assert_close(algorithm.predict(x), torch.stack(expected), rtol=1e-4, atol=1e-5)


def test_a_prediction_adapts_to_its_support_and_to_nothing_else() -> None:
    algorithm = built()
    x = minibatch(0, n_s=8).source.x
    plain = algorithm.predict(x)
    changed = x.clone()
    changed[7] += 1.0
    after = algorithm.predict(changed)
    assert torch.equal(after[:4], plain[:4])
    assert all(float((after[i] - plain[i]).abs().max()) > 0 for i in range(4, 8))


def test_predictions_do_not_depend_on_the_size_of_evaluation_batches() -> None:
    algorithm = built()
    x = minibatch(0, n_s=24).source.x
    assert algorithm.predict_group == 4
    whole = algorithm.predict(x)
    for size in (4, 8, 12):
        torch.testing.assert_close(torch.cat([algorithm.predict(part) for part in x.split(size)]), whole)


def test_the_context_network_learns() -> None:
    algorithm = built(lr=1e-3)
    before = [p.detach().clone() for p in algorithm.context.parameters()]
    held = {id(p) for group in algorithm.optimisers[0].param_groups for p in group["params"]}
    assert all(id(p) in held for p in algorithm.context.parameters())
    for step in range(3):
        algorithm.update(minibatch(step), step)
    for (name, p), q in zip(algorithm.context.named_parameters(), before, strict=True):
        assert float((p.detach() - q).abs().max()) > 1e-4, name


def test_the_first_convolution_repeats_its_filters_for_the_context() -> None:
    old = conv_model().featurizer[0].weight
    new = built().model.featurizer[0].weight
    assert new.shape[1] == 4
    assert torch.equal(new[:, :3], old)
    assert torch.equal(new[:, 3], old[:, 0])


def test_a_source_of_several_domains_gets_contexts_of_one_domain_each() -> None:
    algorithm = built(support=2)
    b = minibatch(0, n_s=6)
    algorithm.set_source_domains(torch.tensor([0, 1, 0, 1, 1, 0]))
    mixed = algorithm.eval().losses(b, 0)["loss"]
    order = torch.tensor([0, 2, 5, 1, 3, 4])  # domain after domain
    assert b.source.y is not None
    sorted_half = replace(b.source, x=b.source.x[order], y=b.source.y[order], index=b.source.index[order])
    torch.testing.assert_close(algorithm.losses(replace(b, source=sorted_half), 0)["loss"], mixed)
    algorithm.source_domains = None
    assert abs(algorithm.losses(b, 0)["loss"].item() - mixed.item()) > 1e-6
