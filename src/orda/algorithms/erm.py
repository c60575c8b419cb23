"""Empirical risk minimisation: the source alone, no adaptation. What every other method must beat."""

from __future__ import annotations

from orda.algorithms.base import Algorithm, Losses, task_loss
from orda.records import Batch


class ERM(Algorithm):
    """min Σ_i w_i CE(g(f(x_s,i)), y_i). The target's images are not looked at."""

    name = "erm"
    uses_target = False

    def losses(self, batch: Batch, step: int) -> Losses:
        del step
        task = task_loss(self.classify(self.embed(batch.source.x)), batch.source)
        return {"loss": task, "task": task}
