"""A plan as tensors and plain values, so that a checkpoint can hold it and torch.load(weights_only=True) reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import torch

from orda.records import DomainPlan, Plan, Strata


def plan_state(plan: Plan) -> dict[str, Any]:
    return {
        "source": _part_state(plan.source),
        "target": _part_state(plan.target),
        "diagnostics": json.dumps(dict(plan.diagnostics)),
    }


def load_plan(state: Mapping[str, Any]) -> Plan:
    """The inverse of ``plan_state``."""
    return Plan(_load_part(state["source"]), _load_part(state["target"]), json.loads(state["diagnostics"]))


def _part_state(part: DomainPlan) -> dict[str, Any]:
    strata = part.strata
    return {
        "index": part.index.cpu(),
        "weight": part.weight.cpu(),
        "stratum": part.stratum.cpu(),
        "own": None if part.own is None else part.own.cpu(),
        "centre": part.centre,
        "draws": part.draws,
        "labels": None if strata is None else torch.from_numpy(strata.labels),
        "sizes": None if strata is None else torch.from_numpy(strata.sizes),
    }


def _load_part(state: Mapping[str, Any]) -> DomainPlan:
    labels, sizes = state["labels"], state["sizes"]
    strata = None if labels is None else Strata(labels.numpy(), sizes.numpy())
    own, centre, draws = state["own"], state["centre"], state["draws"]
    return DomainPlan(state["index"], state["weight"], state["stratum"], strata, own, centre, draws)
