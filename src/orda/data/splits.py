"""Which examples train, validate, adapt and are evaluated (design: D11).

    sources ──20 % held out──> train, validation          target ──half──> adapt (no labels), evaluate

Model selection sees source validation only; adaptation sees ``adapt`` without its labels; the accuracy that is reported
is measured on ``evaluate``, which training never saw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from orda.data.domain import ArrayDomain, join
from orda.errors import SettingError, UnknownName
from orda.records import IntArray
from orda.seeds import child, generator

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """Sorted index arrays; one per source domain in ``train`` and ``validation``, into the target in the other two."""

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


@dataclass(frozen=True, slots=True, eq=False)
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
    """Split the sources into train and validation, and the target into adapt and evaluate.

    ``holdout`` is the share of every source that validates, ``target_fraction`` the share of the target that training
    may see. Each domain has a stream of random numbers named after it, so one source more moves no other split.

    ``by="name"`` is for data whose domains show the same things under the same file names (the same emoji in every
    style): what is evaluated in the target is then left out of every source, and what validates in one source trains
    in none. A name is its place below the domain without the suffix, and chance falls by name alone, so all tasks of
    such a data set are evaluated on the same names. The price: sources shrink to the names that are not evaluated.

    ``stratified`` keeps the shares within every class (of the target too: its labels then serve to split, not to
    train).
    """
    _check(sources, target, holdout, target_fraction, by)
    labels = [source.labels if stratified else np.zeros_like(source.labels) for source in sources]
    target_labels = target.labels if stratified else np.zeros_like(target.labels)
    if by == "example":
        adapt = _share(target_fraction, target_labels, _order(target, seed, "adapt"))
        usable = [np.ones(len(source), dtype=bool) for source in sources]
        held = [
            _share(holdout, own, _order(source, seed, "validation"))
            for source, own in zip(sources, labels, strict=True)
        ]
    else:
        target_keys, keys = _keys(target), [_keys(source) for source in sources]
        adapting = _share_of_names(target_fraction, target_keys, target_labels, seed, "adapt")
        evaluated = set(target_keys) - adapting
        adapt = _among(target_keys, adapting)
        usable = [~_among(own, evaluated) for own in keys]
        left = [key for own, use in zip(keys, usable, strict=True) for key, kept in zip(own, use, strict=True) if kept]
        left_labels = np.concatenate([own[use] for own, use in zip(labels, usable, strict=True)])
        validating = _share_of_names(holdout, left, left_labels, seed, "validation")
        held = [_among(own, validating) for own in keys]
    splits = Splits(
        train=tuple(np.flatnonzero(use & ~out) for use, out in zip(usable, held, strict=True)),
        validation=tuple(np.flatnonzero(use & out) for use, out in zip(usable, held, strict=True)),
        adapt=np.flatnonzero(adapt),
        evaluate=np.flatnonzero(~adapt),
    )
    _check_parts(splits, sources, target, holdout, target_fraction)
    return splits


def _share(share: float, groups: npt.NDArray[Any], order: IntArray) -> Mask:
    """A mask of ⌊share·n⌋ examples: of each group ⌊share·n_g⌋ or one more, taken as they come in ``order``.

    The ones that rounding leaves go to the groups with the largest remainders, so that the whole has its share too.
    """
    values, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    exact = share * sizes + 1e-9  # 0.2 · 15 is 3, whatever its binary digits
    take = np.floor(exact).astype(np.int64)
    extra = int(share * len(groups) + 1e-9) - int(take.sum())
    take[np.argsort(-(exact - take), kind="stable")[:extra]] += 1
    mask = np.zeros(len(groups), dtype=bool)
    for g in range(len(values)):
        members = order[group[order] == g]
        mask[members[: take[g]]] = True
    return mask


def _order(domain: ArrayDomain, seed: int, role: str) -> IntArray:
    """A random order of the domain's examples, from the domain's own stream."""
    return np.asarray(generator(seed, "split", role, domain.name).permutation(len(domain)), dtype=np.int64)


def _keys(domain: ArrayDomain) -> list[str]:
    """What the examples are called in every domain: their place below the domain, without the suffix."""
    return [str(PurePosixPath(name).with_suffix("")) for name in domain.names]


def _share_of_names(share: float, keys: Sequence[str], groups: npt.NDArray[Any], seed: int, role: str) -> set[str]:
    """A share of the distinct names, chosen by a number that depends on seed, role and name alone."""
    names, first = np.unique(np.asarray(keys, dtype=str), return_index=True)
    chance = np.array([child(seed, "split", role, str(name)) for name in names], dtype=np.int64)
    return set(names[_share(share, groups[first], np.argsort(chance))].tolist())


def _among(keys: Sequence[str], chosen: set[str]) -> Mask:
    return np.array([key in chosen for key in keys], dtype=bool)


def _check(
    sources: Sequence[ArrayDomain], target: ArrayDomain, holdout: float, target_fraction: float, by: str
) -> None:
    if by not in ("example", "name"):
        raise UnknownName("way to split", by, ["example", "name"])
    names = [source.name for source in sources]
    faults = []
    if not sources:
        faults.append("there is no source domain")
    if len(set(names)) < len(names):
        faults.append(f"sources are named twice: {names}")
    if target.name in names:
        faults.append(f"the target {target.name!r} is also a source")
    faults += [f"{s.name!r} has other classes than {target.name!r}" for s in sources if s.classes != target.classes]
    if not 0 <= holdout < 1:
        faults.append(f"holdout must lie in [0, 1), not {holdout}")
    if not 0 < target_fraction < 1:
        faults.append(f"target_fraction must lie in (0, 1), not {target_fraction}")
    if faults:
        raise SettingError("the domains cannot be split", "; ".join(faults), "Correct the task or the shares")


def _check_parts(
    splits: Splits, sources: Sequence[ArrayDomain], target: ArrayDomain, holdout: float, target_fraction: float
) -> None:
    empty = []
    for source, train, validation in zip(sources, splits.train, splits.validation, strict=True):
        empty += [f"train of {source.name!r}"] if not len(train) else []
        empty += [f"validation of {source.name!r}"] if holdout > 0 and not len(validation) else []
    empty += [f"adapt of {target.name!r}"] if not len(splits.adapt) else []
    empty += [f"evaluate of {target.name!r}"] if not len(splits.evaluate) else []
    if empty:
        raise SettingError(
            f"no part of a split may be empty (holdout {holdout}, target_fraction {target_fraction})",
            f"nothing in {', '.join(empty)}",
            "Take larger domains or other shares",
        )
