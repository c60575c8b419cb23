"""Curves made up for runs without training: lines as ``orda.training`` writes them."""

from __future__ import annotations

from pathlib import Path

from orda.seeds import generator
from orda.training import Lines, RunPaths

STEPS = (5, 10, 15, 20)


def record(folder: Path, digest: str, algorithm: str, ordered: bool) -> None:
    """Losses, evaluations and plans that follow from the digest; estimates are nearer to D0 where ``ordered``."""
    rng = generator(int(digest, 16), "recorded")
    paths = RunPaths(folder)
    paths.plans.parent.mkdir(exist_ok=True)
    metrics, plans = Lines(paths.metrics), Lines(paths.plans)
    for step in STEPS:
        task, discrepancy = 2.0 / step + float(rng.uniform(0, 0.05)), 0.01 * step
        more = {"discrepancy": discrepancy} if algorithm == "coral" else {}
        metrics.append(
            {"kind": "train", "step": step, "losses": {"loss": task + sum(more.values()), "task": task, **more}}
        )
        validation = 0.5 + 0.02 * step + float(rng.uniform(0, 0.05))
        metrics.append(
            {"kind": "eval", "step": step, "source_validation": validation, "target_accuracy": validation - 0.2}
        )
        if algorithm == "coral":
            plans.append(plan(step, 0.01 * step, 0.001 if ordered else 0.1))


def plan(step: int, d0: float, off: float) -> dict[str, object]:
    """A plan whose D̂ has the bias ``off`` and the standard deviation 2 ``off``, in units of D0."""
    bias, variance = off * d0, (2 * off * d0) ** 2
    assessment = {
        "d0": d0,
        "mean": d0 + bias,
        "bias": bias,
        "variance": variance,
        "mean_squared_error": bias**2 + variance,
    }
    return {"number": step, "step": step, "seconds": {}, "assessment": assessment, "diagnostics": {}}
