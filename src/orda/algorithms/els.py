"""CDAN with environment label smoothing: the discriminator is not asked to be certain.

domain targets 1 − ε for the source and ε for the target, in the binary cross-entropy; all else is CDAN
"""

from __future__ import annotations

from dataclasses import dataclass

from orda.algorithms import cdan
from orda.algorithms.settings import setting
from orda.algorithms.space import Choice, Space

# The grid of the method's authors, but for ε = 0.5, at which the discriminator has nothing to learn.
SPACE: Space = {**cdan.SPACE, "eps": Choice((0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.45))}


@dataclass(frozen=True)
class ELSSettings(cdan.CDANSettings):
    """CDAN+ELS; ε = 0.1, the usual amount of smoothing (its authors search their grid and name no default)."""

    eps: float = setting(0.1, least=0, below=0.5)


class ELS(cdan.CDAN):
    """CDAN with smoothed domain labels."""

    name = "cdan-els"
    settings: ELSSettings
    settings_type = ELSSettings
    space = SPACE

    def domain_targets(self) -> tuple[float, float]:
        return 1 - self.settings.eps, self.settings.eps
