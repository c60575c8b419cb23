"""Bias, variance and mean squared error of D̂ around D0, with bootstrap intervals over the repeats.

Of the errors e = D̂ − D0 of all minibatches of all plans, each repeat with data and a plan of its own:

    bias     = mean e
    mse      = mean e²
    variance = mse − bias²            over minibatches, plans and data sets: what a training run meets
    within   = mean over the plans of the variance among a plan's own minibatches

``within`` leaves out what a whole plan is off by: a pool's mean is the same however the pool is ordered, so a good
order drives ``within`` to zero while ``variance`` stops at what the draw of the pool decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from orda.discrepancies import Discrepancy
from orda.experiments.simulate.study import Row, Scalar, Table
from orda.planning import assess
from orda.plots import Band
from orda.records import Features, FloatArray, Plan

RESAMPLES = 2000
LEVEL = 0.95

Statistic = Callable[[Mapping[str, FloatArray]], FloatArray]
"""A function of the means of columns; it is given arrays, one value a resample."""

ERROR_STATISTICS: dict[str, Statistic] = {
    "mse": lambda mean: mean["squared_error"],
    "bias": lambda mean: mean["error"],
    "variance": lambda mean: np.maximum(mean["squared_error"] - mean["error"] ** 2, 0.0),
    "within": lambda mean: mean["within"],
}


def errors(values: FloatArray, d0: float) -> Row:
    """The columns that the statistics above need, of one plan's estimates."""
    e = values - d0
    return {"error": float(e.mean()), "squared_error": float(np.square(e).mean()), "within": float(values.var())}


def assessed(plan: Plan, features: Features, discrepancy: Discrepancy) -> Row:
    """The same columns, of a plan on features: those it was made on or others."""
    found = assess(plan, features.source, features.target, discrepancy)
    return errors(found.values, found.d0)


def mean_of(column: str) -> Statistic:
    return lambda mean: mean[column]


def bootstrap(
    columns: Mapping[str, FloatArray], statistic: Statistic, rng: np.random.Generator, level: float = LEVEL
) -> tuple[float, float, float]:
    """The statistic of the columns' means over the repeats, and its percentile interval when repeats are resampled.

    The columns (R,) belong together: a resample takes the same repeats of all of them.
    """
    repeats = len(next(iter(columns.values())))
    share = rng.multinomial(repeats, np.full(repeats, 1 / repeats), size=RESAMPLES) / repeats
    value = statistic({key: np.array([column.mean()]) for key, column in columns.items()})[0]
    drawn = statistic({key: share @ column for key, column in columns.items()})
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(value), float(low), float(high)


def summarise(
    rows: Iterable[Row], by: tuple[str, ...], statistics: Mapping[str, Statistic], rng: np.random.Generator
) -> Table:
    """One row for every group of rows that agree in ``by`` and every statistic: value, low, high, repeats."""
    groups: dict[tuple[Scalar, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in by), []).append(row)
    table: Table = []
    for group, members in groups.items():
        columns = {
            key: np.array([float(row[key]) for row in members])
            for key, value in members[0].items()
            if key not in by and not isinstance(value, str)
        }
        for name, statistic in statistics.items():
            value, low, high = bootstrap(columns, statistic, rng)
            found: Row = {"statistic": name, "value": value, "low": low, "high": high, "repeats": len(members)}
            table.append({**dict(zip(by, group, strict=True)), **found})
    return table


def where(table: Table, **equal: Scalar) -> Table:
    """The rows with these values."""
    return [row for row in table if all(row[key] == value for key, value in equal.items())]


def column(table: Table, key: str) -> FloatArray:
    return np.array([float(row[key]) for row in table])


def band(table: Table) -> Band:
    """The values of some rows with their intervals, in their order."""
    return Band(column(table, "value"), column(table, "low"), column(table, "high"))
