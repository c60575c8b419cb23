"""Which examples train, validate, adapt and are evaluated (design: D11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from orda.data.domain import ArrayDomain, join
from orda.records import IntArray


@dataclass(frozen=True, slots=True)
class Splits:
    """Index arrays; one per source domain in ``train`` and ``validation``, into the target in the other two."""

    train: tuple[IntArray, ...]  # labelled source
    validation: tuple[IntArray, ...]  # labelled source, held out: the only labels that selection may see
    adapt: IntArray  # target, without labels, for training
    evaluate: IntArray  # target, for the accuracy that is reported

    def domains(self, sources: Sequence[ArrayDomain], target: ArrayDomain) -> SplitDomains:
        """The four parts themselves."""
        return SplitDomains(
            train=join([source.subset(index) for source, index in zip(sources, self.train, strict=True)]),
            validation=tuple(source.subset(index) for source, index in zip(sources, self.validation, strict=True)),
            adapt=target.subset(self.adapt),
            evaluate=target.subset(self.evaluate),
        )


@dataclass(frozen=True, slots=True)
class SplitDomains:
    """The four parts of a task as domains."""

    train: ArrayDomain  # all sources joined
    validation: tuple[ArrayDomain, ...]  # one per source, for the mean over sources
    adapt: ArrayDomain
    evaluate: ArrayDomain


def split(
    sources: Sequence[ArrayDomain],
    target: ArrayDomain,
    *,
    seed: int,
    holdout: float = 0.2,
    target_fraction: float = 0.5,
    by: Literal["example", "name"] = "example",
    stratified: bool = False,
) -> Splits:
    """Split the sources into train and validation and the target into adapt and evaluate."""
    raise NotImplementedError
