"""What the tables state: means with standard errors, intervals of paired differences, sign tests.

Every sum is exact (``math.fsum``), so that the order of the records cannot show in any digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt

from scipy.special import bdtr, stdtrit

LEVEL = 0.95  # of the intervals


def mean_and_error(values: Sequence[float]) -> tuple[float | None, float | None]:
    """x̄ = Σx / R and its standard error s/√R, s² = Σ(x − x̄)² / (R − 1); one value has no error, no value no mean."""
    count = len(values)
    if count == 0:
        return None, None
    mean = fsum(values) / count
    if count == 1:
        return mean, None
    return mean, sqrt(fsum((x - mean) ** 2 for x in values) / (count - 1) / count)


def t_interval(values: Sequence[float], level: float = LEVEL) -> tuple[float | None, float | None]:
    """x̄ ± t s/√R, with the quantile t of Student's distribution with R − 1 degrees of freedom."""
    mean, error = mean_and_error(values)
    if mean is None or error is None:
        return None, None
    reach = float(stdtrit(len(values) - 1, (1 + level) / 2)) * error
    return mean - reach, mean + reach


def sign_test(wins: int, losses: int) -> float | None:
    """Two-sided: 2 P(X ≤ min(wins, losses)), at most 1, for X ~ Binomial(wins + losses, ½). Ties stand aside."""
    if wins + losses == 0:
        return None
    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5)))
