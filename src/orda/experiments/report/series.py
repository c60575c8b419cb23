"""Curves of many runs as a few: each repeat's mean over the tasks, and the mean over the repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from orda.experiments.report.gather import RunView

Curve = Mapping[int, float]
"""step -> value"""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The curves of one row."""

    repeats: Mapping[int, Curve]
    mean: Curve

    def __bool__(self) -> bool:
        return bool(self.mean)


def bundle(runs: Iterable[RunView], tasks: Sequence[str], curve: Callable[[RunView], Curve]) -> Bundle:
    """The repeats that have all the tasks, each the mean over these; and the mean of the repeats.

    A mean is taken at the steps that all its curves have.
    """
    found: dict[int, dict[str, Curve]] = {}
    for run in runs:
        if run.task in tasks:
            found.setdefault(run.repeat, {})[run.task] = curve(run)
    whole = {r: mean_curve(list(of.values())) for r, of in sorted(found.items()) if len(of) == len(tasks)}
    repeats = {repeat: values for repeat, values in whole.items() if values}
    return Bundle(repeats, mean_curve(list(repeats.values())))


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """The mean at every step that all the curves have."""
    if not curves:
        return {}
    steps = sorted(set(curves[0]).intersection(*curves[1:]))
    return {step: fsum(curve[step] for curve in curves) / len(curves) for step in steps}
