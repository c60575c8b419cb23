"""Slow, literal twins of the tables: loops over plain tuples, exact fractions. They share no code with orda.

A run is (row, task, repeat, draw, score); a score is None (no result) or (diverged, validation, accuracy, final,
seconds), where validation and the accuracies may be None.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

Run = tuple[str, str, int, int, Any]


def chosen(runs: list[Run], row: str, task: str, repeat: int) -> Any:
    """The score that stands for a cell's repeat: the best validation of those not diverged; the first of equals."""
    mine = sorted((run for run in runs if run[:3] == (row, task, repeat)), key=lambda run: run[3])
    for diverged in (False, True):
        best = None
        for run in mine:
            score = run[4]
            if score is None or score[0] != diverged or score[2] is None:
                continue
            if best is None or score[1] > best[1]:
                best = score
        if best is not None:
            return best
    return None


def accuracy(runs: list[Run], row: str, task: str, repeat: int, unfinished: bool) -> float | None:
    """The accuracy that counts, if any does."""
    for run in runs:
        if run[:3] == (row, task, repeat) and run[4] is None and not unfinished:
            return None
    score = chosen(runs, row, task, repeat)
    return None if score is None else score[2]


def mean(values: list[float]) -> float:
    return float(sum(Fraction(v) for v in values) / len(values))


def standard_error(values: list[float]) -> float:
    """√(Σ(x − x̄)² / (R − 1)) / √R."""
    exact = [Fraction(v) for v in values]
    centre = sum(exact) / len(exact)
    total = Fraction(0)
    for v in exact:
        total += (v - centre) ** 2
    return math.sqrt(total / (len(exact) - 1)) / math.sqrt(len(exact))


def averages(runs: list[Run], row: str, tasks: list[str], repeats: list[int], unfinished: bool) -> dict[int, float]:
    """Repeat by repeat the mean over the tasks, where all are there."""
    found = {}
    for repeat in repeats:
        values = [accuracy(runs, row, task, repeat, unfinished) for task in tasks]
        if None not in values:
            found[repeat] = mean(values)  # type: ignore[arg-type]
    return found


def seconds(runs: list[Run], rows: list[str], repeat: int, unfinished: bool) -> float | None:
    """The mean seconds of the runs of some rows in a repeat."""
    found = []
    for run in runs:
        if run[0] in rows and run[2] == repeat:
            if run[4] is None:
                if not unfinished:
                    return None
            elif not run[4][0]:
                found.append(run[4][4])
    return mean(found) if found else None


def sign_test(wins: int, losses: int) -> Fraction | None:
    """The probability, when a coin decides, of a split at least as uneven: the sum over all such splits."""
    n = wins + losses
    if n == 0:
        return None
    total = Fraction(0)
    for heads in range(n + 1):
        if abs(2 * heads - n) >= abs(wins - losses):
            total += Fraction(math.comb(n, heads), 2**n)
    return total


def student_cdf(t: float, degrees: int, steps: int = 20_000) -> float:
    """P(T ≤ t) for t ≥ 0: Simpson's rule over the density, which is even."""
    c = math.gamma((degrees + 1) / 2) / (math.sqrt(degrees * math.pi) * math.gamma(degrees / 2))
    h = t / steps
    total = 0.0
    for i in range(steps + 1):
        weight = 1 if i in (0, steps) else 4 if i % 2 else 2
        total += weight * c * (1 + (i * h) ** 2 / degrees) ** (-(degrees + 1) / 2)
    return 0.5 + total * h / 3
