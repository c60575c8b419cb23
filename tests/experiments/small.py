"""A protocol of twelve runs."""

from __future__ import annotations

from typing import Any

SMALL: dict[str, Any] = {
    "name": "small",
    "train": {"data": {"name": "digits"}, "steps": 10},
    "tasks": ["rendered->handwritten"],
    "groups": {
        "Baselines": {"ERM": {"algorithm": "erm"}},
        "CORAL": {
            "CORAL": {"algorithm": "coral", "sampler": "uniform"},
            "+ ORDERED": {"algorithm": "coral", "sampler": "ordered", "sampler.settings.optimiser": "greedy"},
        },
    },
    "search": {"draws": 2},
    "repeats": 2,
}


def changed(**changes: Any) -> dict[str, Any]:
    return {**SMALL, **changes}
