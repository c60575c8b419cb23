"""Ordering: which members of the strata meet in which minibatch."""

from orda.ordering.annealing import Annealing
from orda.ordering.assignment import Assignment
from orda.ordering.base import Optimiser, Ordering
from orda.ordering.greedy import Exchange, Greedy
from orda.ordering.problem import OBJECTIVES, OrderingTask, initial_arrangement, ordering_task
from orda.ordering.tabu import Tabu

OPTIMISERS: dict[str, type[Optimiser]] = {kind.name: kind for kind in (Assignment, Exchange, Greedy, Annealing, Tabu)}

__all__ = [
    "OBJECTIVES",
    "OPTIMISERS",
    "Annealing",
    "Assignment",
    "Exchange",
    "Greedy",
    "Optimiser",
    "Ordering",
    "OrderingTask",
    "Tabu",
    "initial_arrangement",
    "ordering_task",
]
