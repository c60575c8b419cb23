"""The public names, pinned: adding or removing one is a decision, not an accident."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import orda

PUBLIC = [
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


def test_public_names_are_pinned() -> None:
    assert sorted(orda.__all__) == sorted(PUBLIC)


def test_every_public_name_is_there_and_documented() -> None:
    for name in PUBLIC:
        assert (getattr(orda, name).__doc__ or "").strip(), f"orda.{name} has no docstring"


def test_the_version_is_one() -> None:
    assert importlib.metadata.version("orda") == orda.__version__


def test_types_travel_with_the_package() -> None:
    assert Path(orda.__file__).with_name("py.typed").exists()
