"""Accuracy on held-out parts, from the cache in big batches.

Selection sees source validation alone: the mean of the sources' accuracies. The target's accuracy is reported beside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from orda import seeds
from orda.algorithms import Algorithm
from orda.data import ArrayDomain

Prepare = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Accuracies after ``step`` steps."""

    step: int
    source_validations: dict[str, float]
    target_accuracy: float

    @property
    def source_validation(self) -> float:
        """What selection goes by."""
        return sum(self.source_validations.values()) / len(self.source_validations)

    def beats(self, best: Evaluation | None, ties: str) -> bool:
        """Whether this evaluation is selected: the better validation, of equals the "first" or the "last"."""
        if best is None or self.source_validation > best.source_validation:
            return True
        return ties == "last" and self.source_validation == best.source_validation


def evaluate(
    algorithm: Algorithm,
    validation: Sequence[ArrayDomain],
    target: ArrayDomain,
    prepare: Prepare,
    *,
    step: int,
    batch: int,
) -> Evaluation:
    """Evaluate the networks as they are now."""
    return Evaluation(
        step,
        {domain.name: accuracy(algorithm, domain, prepare, batch) for domain in validation},
        accuracy(algorithm, target, prepare, batch),
    )


def accuracy(algorithm: Algorithm, domain: ArrayDomain, prepare: Prepare, batch: int) -> float:
    """The share of the domain that is classified right; ``prepare`` takes images to the device and normalises them.

    Where predictions depend on their group (ARM), groups are formed in one fixed random order of the domain.
    """
    group = algorithm.predict_group
    order = torch.arange(len(domain))
    if group > 1:
        order = torch.from_numpy(seeds.generator(0, "evaluate", domain.name).permutation(len(domain)))
        batch = max(1, batch // group) * group
    right = []
    for rows in torch.split(order, batch):
        images, labels = domain.gather(rows)
        logits = algorithm.predict(prepare(images))
        right.append((logits.argmax(1) == labels.to(logits.device)).sum())
    return int(torch.stack(right).sum()) / len(domain)
