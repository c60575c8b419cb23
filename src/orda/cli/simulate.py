"""``orda simulate``: Monte Carlo studies, each a folder with its numbers and its figure."""

from __future__ import annotations

import os
import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from orda.experiments.simulate import Study, StudyFolder

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

PAGE = """Run Monte Carlo studies: the paper's Figures 2, 3a and 3b, and what they leave open.

Without NAMES the studies are listed; [b]all[/b] runs every one. Each leaves a folder with data.csv, figure.png, \
figure.svg and manifest.json. A finished folder is not computed again. Stopped by Ctrl-C, or killed, the same command \
goes on where it was, with the same numbers; so does one with more --repeats.

[dim]A first look at all figures, in a few minutes; the paper's Figure 3a in full; narrower bands:[/dim]

  orda simulate all --quick

  orda simulate variance-vs-k

  orda simulate variance-vs-k --repeats 500
"""

MOST_JOBS = 8  # by default: each process takes some hundreds of megabytes


@app.command(help=PAGE)
def simulate(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAMES", help="Studies, or [b]all[/b].", show_default=False),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller and with few repeats: under 20 seconds a study.")
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option(
            help="Independent repeats: bands narrow with their square root.  [dim]default: the study's[/dim]",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            help="Processes. The numbers do not depend on it; studies that measure seconds use one."
            f"  [dim]default: one a core, {MOST_JOBS} at most[/dim]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Everything random follows from it.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Where the folders go.  [dim]default: studies; with --quick studies-quick[/dim]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Compute again what is there.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    from orda.experiments.simulate import StudyFolder, config_of, run

    out = out or Path("studies-quick" if quick else "studies")
    if not names:
        list_studies(out, quick)
        return
    console = Console(soft_wrap=True, highlight=False)
    for study in chosen(names, quick, repeats):
        began = time.perf_counter()
        there = not force and StudyFolder(out / study.name).is_finished(config_of(study, seed))
        try:
            folder = run(
                study,
                out,
                seed=seed,
                jobs=default_jobs() if jobs is None else jobs,
                force=force,
                command=command_for(study, quick, repeats, seed),
                show=False if quiet else None,
            )
        except KeyboardInterrupt:
            typer.echo(f"stopped; {study.name} goes on from its finished cells with the same command", err=True)
            raise typer.Exit(130) from None
        took = "finished before" if there else f"{time.perf_counter() - began:.1f} s"
        console.print(f"{study.name}: {took}, {folder.png}", markup=False)


def chosen(names: list[str], quick: bool, repeats: int | None) -> list[Study]:
    """The studies asked for, each once, in the order of asking."""
    from orda.errors import UnknownName
    from orda.experiments.simulate import STUDIES

    asked: dict[str, type[Study]] = {}
    for name in names:
        if name != "all" and name not in STUDIES:
            raise UnknownName("study", name, [*STUDIES, "all"])
        asked |= STUDIES if name == "all" else {name: STUDIES[name]}
    studies = [kind.quick() if quick else kind() for kind in asked.values()]
    return studies if repeats is None else [replace(study, repeats=repeats) for study in studies]


def command_for(study: Study, quick: bool, repeats: int | None, seed: int) -> str:
    """What computes this study again, wherever and with however many processes."""
    options = ["--quick"] if quick else []
    options += [] if repeats is None else ["--repeats", str(repeats)]
    options += [] if seed == 0 else ["--seed", str(seed)]
    return shlex.join(["orda", "simulate", study.name, *options])


def default_jobs() -> int:
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_JOBS, available)


def list_studies(out: Path, quick: bool) -> None:
    """Every study: what it shows, and how far it is in ``out``."""
    from orda.experiments.simulate import STUDIES, StudyFolder

    table = Table("study", "what it shows", "cells", f"in {out}")
    for name, kind in STUDIES.items():
        study = kind.quick() if quick else kind()
        table.add_row(name, kind.summary, str(len(study.cells())), state(StudyFolder(out / name)))
    Console().print(table)


def state(folder: StudyFolder) -> str:
    if folder.finished_config():
        return "finished"
    count = folder.count()
    return f"{count} done" if count else ""
