"""MMD and CORAL: the discrepancy between the features of both domains as a second loss.

    loss = Σ_i w_i CE(g(z_s,i), y_i) + λ D̂(z_s, z_t; w_s, w_t)

D̂ is the weighted minibatch estimate of ``orda.discrepancies``, the same that a sampler plans for.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from orda.algorithms.base import ADAM_SPACE, Algorithm, Losses, task_loss
from orda.algorithms.settings import Settings, setting
from orda.algorithms.space import LogUniform, Space
from orda.discrepancies import CORAL, MMD, Discrepancy
from orda.discrepancies.base import ESTIMATORS
from orda.discrepancies.coral import SCALES
from orda.records import Batch, Features

SPACE: Space = {**ADAM_SPACE, "penalty": LogUniform(-1, 1)}  # the paper's, and DomainBed's


@dataclass(frozen=True)
class AlignSettings(Settings):
    """The trade-off λ, which means something else at every scale of CORAL and for every kernel of MMD."""

    penalty: float = setting(1.0, least=0)  # λ
    estimator: str = setting("plug-in", choices=ESTIMATORS)


@dataclass(frozen=True)
class CORALSettings(AlignSettings):
    """CORAL; the mean over the covariance's entries is DomainBed's scale (D7)."""

    scale: str = setting("mean", choices=SCALES)


@dataclass(frozen=True)
class MMDSettings(AlignSettings):
    """MMD; ``gammas`` of the RBF mixture are the paper's, or those divided by the features' median squared distance."""

    kernel: str = setting("rbf-mixture", choices=("rbf-mixture", "linear"))
    gammas: str = setting("paper", choices=("paper", "median"))

    def faults(self) -> list[str]:
        found = super().faults()
        if self.kernel == "linear" and self.gammas == "median":
            found.append("gammas does nothing with kernel='linear', leave it at 'paper', not 'median'")
        return found


class Align(Algorithm):
    """Task loss plus λ times a discrepancy."""

    space = SPACE
    alignment = "discrepancy"

    settings: AlignSettings

    @property
    @abstractmethod
    def discrepancy(self) -> Discrepancy:
        """D̂ with what ``resolve`` has fixed."""

    def losses(self, batch: Batch, step: int) -> Losses:
        del step
        zs, zt = self.embed_both(batch)
        task = task_loss(self.classify(zs), batch.source)
        discrepancy = self.discrepancy(zs, zt, batch.source, batch.target)
        return {"loss": task + self.settings.penalty * discrepancy, "task": task, "discrepancy": discrepancy}


class AlignCORAL(Align):
    """Correlation alignment."""

    name = "coral"
    settings: CORALSettings
    settings_type = CORALSettings
    smallest_batch = 2  # one example has no covariance

    def build(self) -> None:
        self._coral = CORAL(scale=self.settings.scale, estimator=self.settings.estimator)

    @property
    def discrepancy(self) -> CORAL:
        return self._coral

    def resolve(self, sizes: tuple[int, int], features: Features | None = None) -> None:
        del features
        self._coral = replace(self._coral, population=(int(sizes[0]), int(sizes[1])))

    def fixed_state(self) -> dict[str, Any]:
        return {"population": self._coral.population}

    def load_fixed_state(self, state: Mapping[str, Any]) -> None:
        self._coral = replace(self._coral, population=state["population"])


class AlignMMD(Align):
    """Maximum mean discrepancy."""

    name = "mmd"
    settings: MMDSettings
    settings_type = MMDSettings

    def build(self) -> None:
        gammas: Literal["median"] | None = "median" if self.settings.gammas == "median" else None
        self._mmd = self._asked = MMD(self.settings.kernel, gammas=gammas, estimator=self.settings.estimator)

    @property
    def discrepancy(self) -> MMD:
        return self._mmd

    @property
    def wants_features(self) -> bool:
        return self.settings.gammas == "median"

    def resolve(self, sizes: tuple[int, int], features: Features | None = None) -> None:
        del sizes
        if features is not None:
            self._mmd = self._asked.resolved(features)

    def fixed_state(self) -> dict[str, Any]:
        return {"gammas": self._mmd.gammas}

    def load_fixed_state(self, state: Mapping[str, Any]) -> None:
        self._mmd = replace(self._asked, kernel=self.settings.kernel, gammas=state["gammas"])
