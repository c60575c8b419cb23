"""Data sets: decoded once, split honestly, augmented on the device.

open_data(name, root) ──> DataSet ──of(task)──> sources, target ──split──> SplitDomains ──gather, to_float──> network
"""

from orda.data.augment import AUGMENTATIONS, Augmentation, to_float
from orda.data.domain import ArrayDomain, View, join
from orda.data.normalise import NORMALISATIONS, Normalisation
from orda.data.registry import DATASETS, DataSet, Task, find_task, open_data, pair, tasks
from orda.data.splits import SplitDomains, Splits, split

__all__ = [
    "AUGMENTATIONS",
    "DATASETS",
    "NORMALISATIONS",
    "ArrayDomain",
    "Augmentation",
    "DataSet",
    "Normalisation",
    "SplitDomains",
    "Splits",
    "Task",
    "View",
    "find_task",
    "join",
    "open_data",
    "pair",
    "split",
    "tasks",
    "to_float",
]
