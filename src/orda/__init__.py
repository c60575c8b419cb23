"""orda: unsupervised domain adaptation with ordered minibatches.

    plan = orda.plan(source_features, target_features, sampler=orda.Ordered(orda.MMD()), batch_size=32, horizon=100)

Rooms: ``discrepancies`` (what is estimated), ``stratification`` (Algorithm 1), ``ordering`` (Algorithm 2 and better
ones), ``samplers`` (features in, plan out), ``training`` (a run is a folder; ``load`` gives its model back). Errors and
warnings: ``orda.errors``.
"""

from typing import TYPE_CHECKING, Any

from orda.discrepancies import CORAL, MMD, Discrepancy
from orda.errors import OrdaError, OrdaWarning
from orda.kernels import Kernel, Linear, RBFMixture, SquaredInner
from orda.loader import AdaptationLoader
from orda.ordering import Annealing, Assignment, Exchange, Greedy, Optimiser, Tabu
from orda.planning import Assessment, assess, plan
from orda.records import Batch, DomainBatch, DomainPlan, Features, Plan, Pool, Strata
from orda.samplers import DPP, Anticlustering, KMeansPlusPlus, Ordered, Sampler, Stratified, Uniform

if TYPE_CHECKING:
    from orda.training import load

__version__ = "0.1.0"

__all__ = [
    "CORAL",
    "DPP",
    "MMD",
    "AdaptationLoader",
    "Annealing",
    "Anticlustering",
    "Assessment",
    "Assignment",
    "Batch",
    "Discrepancy",
    "DomainBatch",
    "DomainPlan",
    "Exchange",
    "Features",
    "Greedy",
    "KMeansPlusPlus",
    "Kernel",
    "Linear",
    "Optimiser",
    "OrdaError",
    "OrdaWarning",
    "Ordered",
    "Plan",
    "Pool",
    "RBFMixture",
    "Sampler",
    "SquaredInner",
    "Strata",
    "Stratified",
    "Tabu",
    "Uniform",
    "assess",
    "load",
    "plan",
]


def __getattr__(name: str) -> Any:
    """Who plans only does not wait for the training room: ``orda.load`` opens it."""
    if name == "load":
        from orda.training import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
