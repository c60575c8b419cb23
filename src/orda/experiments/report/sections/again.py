"""How to run it again: commands, the protocol or the configuration, and on what it ran."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from orda.experiments.report.gather import Chapter, RunView
from orda.experiments.report.html import code, details, paragraph, section, table
from orda.training import RunPaths

TOLD = 4  # runs without a sweep whose configurations are printed


def again_section(chapter: Chapter, prefix: str) -> str:
    """Commands first."""
    made = _sweep(chapter) if chapter.results is not None else _runs(chapter.runs)
    return section(f"{prefix}again", "Run it again", *made, _environments(chapter.runs))


def _sweep(chapter: Chapter) -> list[str]:
    assert chapter.results is not None
    protocol, runs = chapter.results.protocol, str(chapter.folder)
    file = Path(runs, "sweeps", protocol.name, "protocol.yaml")
    name = str(file) if file.exists() else f"{protocol.name}.yaml"
    commands = [
        shlex.join(["orda", "sweep", name, "--runs", "NEW"]),
        shlex.join(["orda", "tables", runs]),
        shlex.join(["orda", "report", runs]),
    ]
    return [
        paragraph(
            f"Protocol {protocol.name}, digest {chapter.results.digest}: the same digest asks for the same runs."
        ),
        code("\n".join(commands)),
        details("The protocol", code(protocol.to_yaml())),
    ]


def _runs(runs: Sequence[RunView]) -> list[str]:
    made = []
    for run in runs[:TOLD]:
        config = str(RunPaths(run.folder).config)
        made.append(paragraph(f"{run.row}, {run.task}: digest {run.result.digest}."))
        made.append(code(shlex.join(["orda", "train", "--config", config, "--out", "NEW"])))
        made.append(details("The configuration", code(run.config.to_yaml())))
    return made


def _environments(runs: Sequence[RunView]) -> str:
    """What the numbers may depend on besides the configuration, each combination once."""
    found: dict[str, int] = {}
    for run in runs:
        text = json.dumps(dict(run.result.environment), sort_keys=True)
        found[text] = found.get(text, 0) + 1
    kinds = [(json.loads(text), n) for text, n in sorted(found.items())]
    keys = list(dict.fromkeys(key for kind, _ in kinds for key in kind))
    rows = [(str(n), *(str(kind.get(key, "")) for key in keys)) for kind, n in kinds]
    return table("On what the runs were done", ("Runs", *keys), rows, words=(0, *range(1, len(keys) + 1)))
