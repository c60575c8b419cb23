"""What ``orda train`` prints, and what it calls the folder of a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from orda.training import RunResult, TrainConfig


def folder_name(config: TrainConfig) -> str:
    """What it is, and the digest that makes it unique."""
    run = config.resolved()
    task = "+".join(run.data.sources) + (f"-{run.data.target}" if run.data.target else "")
    parts = (run.data.name, task, run.algorithm.name, run.sampler.name, f"seed{run.seed}", run.digest())
    return "-".join(re.sub(r"[^\w+.-]+", "_", str(part)) for part in parts)


def show(result: RunResult, folder: Path) -> None:
    """Accuracies and seconds."""
    console = Console()
    run = result.run
    title = f"{run['task']}: {run['algorithm']}, {run['sampler']} minibatches"
    table = Table(title=escape(title), title_justify="left")
    for name in ("", "after step", "source validation", "target accuracy"):
        table.add_column(name, justify="left" if not name else "right")
    table.add_row(
        "[b]selected[/b]", *accuracies(result.selected_step, result.source_validation, result.target_accuracy)
    )
    table.add_row("last", *accuracies(result.steps, result.final_source_validation, result.final_target_accuracy))
    console.print(table)
    damaged = result.sizes.get("damaged", 0)
    if damaged:
        console.print(f"{damaged:,} damaged images were left out")
    total = result.seconds["total"]
    parts = sorted(((s, name) for name, s in result.seconds.items() if name != "total"), reverse=True)
    spent = ", ".join(f"{name} {seconds:.1f}" for seconds, name in parts if seconds > 0.005 * total)
    console.print(f"[b]{total:.1f} s[/b]: {spent}", highlight=False)
    console.print(f"the run: {folder}", highlight=False, soft_wrap=True, markup=False)


def accuracies(step: int | None, validation: float | None, target: float | None) -> tuple[str, str, str]:
    shown = ["" if share is None else f"{share:.1%}" for share in (validation, target)]
    return str(step), shown[0], shown[1]
