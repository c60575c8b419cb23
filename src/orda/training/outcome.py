"""The outcome of a run as it is now: what is said of it, whether it is finished or diverged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from orda.training.checkpoint import weights_sha256
from orda.training.machine import environment
from orda.training.plans import summarise_plans
from orda.training.result import RunResult

if TYPE_CHECKING:
    from orda.training.assemble import Parts
    from orda.training.run import Run


def outcome_of(run: Run, status: Literal["finished", "diverged"], message: str | None = None) -> RunResult:
    """The result of ``run`` after the steps that it has done."""
    parts, best, last = run.parts, run.best, run.last
    total = run.clock.total
    return RunResult(
        status=status,
        digest=parts.config.digest(),
        run=described(parts),
        steps=run.step,
        selected_step=None if best is None else best.step,
        source_validation=None if best is None else best.source_validation,
        source_validations={} if best is None else best.source_validations,
        target_accuracy=None if best is None else best.target_accuracy,
        final_source_validation=None if last is None else last.source_validation,
        final_target_accuracy=None if last is None else last.target_accuracy,
        seconds={**run.clock.seconds, "total": total},
        plans=summarise_plans(run.plans.read()),
        sizes=sizes(parts),
        weights_sha256=weights_sha256(parts.algorithm),
        environment=environment(parts.device, parts.amp),
        message=message,
    )


def described(parts: Parts) -> dict[str, Any]:
    """What tables sort by."""
    config = parts.config
    return {
        "data": config.data.name,
        "task": parts.task.name,
        "sources": list(parts.task.sources),
        "target": parts.task.target,
        "algorithm": config.algorithm.name,
        "sampler": config.sampler.name,
        "batch_size": config.batch_size,
        "horizon": config.horizon,
        "seed": config.seed,
    }


def sizes(parts: Parts) -> dict[str, Any]:
    """How many there are: examples of each part, images left out, classes, pixels, features."""
    d, data = parts.domains, parts.data
    return {
        "train": len(d.train),
        "validation": {part.name: len(part) for part in d.validation},
        "adapt": len(d.adapt),
        "evaluate": len(d.evaluate),
        "damaged": data.damaged,
        "classes": len(data.classes),
        "image_size": data.image_size,
        "features": parts.algorithm.model.feature_size,
    }
