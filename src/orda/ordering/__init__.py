"""Ordering: which members of the strata meet in which minibatch."""

from orda.ordering.assignment import Assignment
from orda.ordering.base import Optimiser, Ordering
from orda.ordering.greedy import Exchange, Greedy
from orda.ordering.problem import OBJECTIVES, OrderingTask, initial_arrangement, ordering_task

OPTIMISERS: dict[str, type[Optimiser]] = {kind.name: kind for kind in (Assignment, Exchange, Greedy)}

__all__ = [
    "OBJECTIVES",
    "OPTIMISERS",
    "Assignment",
    "Exchange",
    "Greedy",
    "Optimiser",
    "Ordering",
    "OrderingTask",
    "initial_arrangement",
    "ordering_task",
]
