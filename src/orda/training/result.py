"""The outcome of a run: what ``train`` returns and ``result.json`` holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from orda.errors import RunError

FORMAT = 1


@dataclass(frozen=True, slots=True)
class RunResult:
    """Accuracies are shares between 0 and 1. "Selected" is the evaluation with the best source validation."""

    status: Literal["finished", "diverged"]
    digest: str  # of the configuration
    run: Mapping[str, Any]  # data, sources, target, algorithm, sampler, batch_size, horizon, seed: what tables sort by
    steps: int  # done
    selected_step: int | None  # steps done at the selected evaluation; None where there was none before divergence
    source_validation: float | None  # at the selected evaluation, the mean over the sources
    source_validations: Mapping[str, float]  # the same, source by source
    target_accuracy: float | None  # there, on the part of the target that training never saw; no part of any choice
    final_source_validation: float | None  # after the last step
    final_target_accuracy: float | None
    seconds: Mapping[str, float]  # decode, extract, stratify, order, plan, load, step, evaluate, checkpoint, …, total
    plans: Mapping[str, Any]  # count, and means over the plans: objective before and after, bias, variance, …
    sizes: Mapping[str, Any]  # examples: train, validation (by source), adapt, evaluate, damaged; classes, features
    weights_sha256: str | None  # of the weights after the last step: equal where two runs ended bit for bit alike
    environment: Mapping[str, Any]  # device, precision, threads, versions
    message: str | None = None  # why it diverged

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> RunResult:
        """The inverse of ``to_json``; an error of Python's own where the text is not one of those."""
        values = json.loads(text)
        if values.pop("format") != FORMAT:
            raise ValueError("another format")
        return cls(**{field.name: values.pop(field.name) for field in fields(cls)}, **values)

    @classmethod
    def load(cls, path: Path) -> RunResult:
        """From ``result.json``."""
        try:
            return cls.from_json(path.read_bytes())
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunError(
                f"a result must be readable, {path}",
                f"{type(error).__name__}: {error}",
                "Move it away; the run then ends again from its checkpoint",
            ) from error
