"""How rows are drawn: by the styles of ``orda.plots``, so that a sampler looks here as in every other figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from orda.plots import STYLES, Style
from orda.training import TrainConfig

PARTS = {  # of a run's seconds, in the order in which they are stacked: the style, and what is in it
    "extract": ("dpp", "features of all images, to plan from"),
    "stratify": ("stratified", "strata of both domains"),
    "order": ("ordered", "pools arranged into minibatches"),
    "plan": ("exchange", "the rest of planning"),
    "step": ("as drawn", "training steps"),
    "evaluate": ("anticlustering", "accuracies"),
    "load": ("kmeans++", "images into minibatches"),
    "decode": ("cdan-sdat", "opening the images"),
    "checkpoint": ("dann", "checkpoints"),
    "assess": ("greedy", "diagnostics of the plans, asked for by machine.assess"),
    "rest": ("coral", "anything else"),
}


def row_styles(configs: Mapping[str, TrainConfig]) -> dict[str, Style]:
    """A style for every row, no two with the same colour as long as there are colours."""
    found: dict[str, Style] = {}
    for row, config in configs.items():
        own = _style(config)
        taken = {(style.colour, style.line) for style in found.values()}
        free = [style for style in STYLES.values() if style.marker and (style.colour, style.line) not in taken]
        chosen = own if (own.colour, own.line) not in taken or not free else free[0]
        found[row] = replace(chosen, label=row)
    return found


def _style(config: TrainConfig) -> Style:
    """The sampler's where it is more than uniform or the algorithm has a discrepancy to plan for, else the
    algorithm's."""
    algorithm, sampler = config.algorithm.name, config.sampler.name or "uniform"
    if sampler == "uniform" and algorithm not in ("coral", "mmd"):
        return STYLES.get(algorithm, STYLES["uniform"])
    if sampler == "ordered":
        settings = config.sampler.settings
        name = str(settings.get("optimiser", "assignment"))
        embedding = f"{name} embedding" if settings.get("objective") == "embedding" else name
        return STYLES.get(embedding, STYLES.get(name, STYLES["ordered"]))
    return STYLES.get(sampler, STYLES["uniform"])


def part_style(name: str) -> Style:
    """The style of a part of a run's seconds."""
    return STYLES[PARTS.get(name, PARTS["rest"])[0]]


def part_words(name: str) -> str:
    """What happens in a part."""
    return PARTS[name][1] if name in PARTS else "other work"
