"""What is kept of every plan: one line of plan/plans.jsonl, and means over all lines in the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orda.planning import Assessment
from orda.records import Plan

Record = dict[str, Any]


def plan_seconds(plan: Plan) -> dict[str, float]:
    """Seconds of planning by the parts that the sampler tells apart: stratify, order."""
    seconds = plan.diagnostics.get("seconds", 0.0)
    if isinstance(seconds, Mapping):
        return {"stratify": seconds["stratify"], "order": seconds["prepare"] + seconds["order"]}
    return {"stratify": seconds} if "strata" in plan.diagnostics else {}


def plan_record(
    plan: Plan, number: int, step: int, seconds: Mapping[str, float], assessment: Assessment | None
) -> Record:
    """The line of plan ``number``, made after ``step`` steps."""
    return {
        "number": number,
        "step": step,
        "seconds": {part: spent for part, spent in seconds.items() if spent > 0},
        "assessment": _assessment(plan, assessment),
        "diagnostics": dict(plan.diagnostics),
    }


def _assessment(plan: Plan, assessment: Assessment | None) -> Record | None:
    """How D̂ of the plan's minibatches lies around D0 on the features of the plan, where that is known."""
    if assessment is None:
        ordering = plan.diagnostics.get("ordering")
        return {key: ordering[key] for key in KEYS} if ordering else None
    return {key: float(getattr(assessment, key)) for key in KEYS}


KEYS = ("d0", "mean", "bias", "variance", "mean_squared_error")


def summarise_plans(records: Sequence[Record]) -> Record:
    """The number of plans, and means over them of what they have."""
    summary: Record = {"count": len(records)}
    for key in KEYS:
        summary |= _mean(key, [r["assessment"][key] for r in records if r["assessment"]])
    orderings = [r["diagnostics"]["ordering"] for r in records if "ordering" in r["diagnostics"]]
    summary |= _mean("objective_before", [o["objectives"][0] for o in orderings])
    summary |= _mean("objective_after", [o["objectives"][-1] for o in orderings])
    strata = [r["diagnostics"]["strata"] for r in records if "strata" in r["diagnostics"]]
    for domain in ("source", "target"):
        summary |= _mean(f"smallest_stratum_{domain}", [s[domain]["smallest"] for s in strata])
        summary |= _mean(f"largest_stratum_{domain}", [s[domain]["largest"] for s in strata])
    return summary


def _mean(key: str, values: Sequence[float]) -> Record:
    return {key: sum(values) / len(values)} if values else {}
