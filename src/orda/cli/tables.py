"""``orda tables``: the paper's tables from a folder of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    from orda.experiments.tables import AnyTable, Errors, Grid, Results, Scope

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

FORMATS = ("text", "markdown", "latex", "html", "csv")
SUFFIXES = {".txt": "text", ".md": "markdown", ".tex": "latex", ".html": "html", ".htm": "html", ".csv": "csv"}
WHICH = ("accuracy", "time", "comparisons", "all")
FAULTS = 5  # runs without a usable result that are named

PAGE = """The tables of a folder of runs: accuracies by task, training times by sampler, samplers compared in pairs.

A sweep need not be over: what is missing is shown as missing, with counts. Of a row's draws the one with the best
[b]source[/b] validation accuracy counts; below each table stands what its numbers are.

[dim]Everything, to the terminal; the accuracies for a paper; two rows against one in pairs:[/dim]

  orda tables runs

  orda tables runs --which accuracy --out accuracy.tex

  orda tables runs --which comparisons --against MCC --only 'row=*ORDERED' --only row=MCC
"""

WHAT, HOW = "What is in the tables", "How they look"


@app.command(help=PAGE)
def tables(
    runs: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of runs.", show_default=False)],
    which: Annotated[str, typer.Option(help="accuracy, time, comparisons or all.", rich_help_panel=WHAT)] = "all",
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            help="A sweep of the folder by its name, or a protocol's file; repeat it for several.  "
            "[dim]default: all sweeps that were started there[/dim]",
            rich_help_panel=WHAT,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=PATTERN",
            help="Only these runs, by row, group, task, repeat, draw, algorithm or sampler: --only 'row=CORAL*'.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROW",
            help="Compare all rows with this one.  [dim]default: in each group samplers with uniform, and ordered "
            "with the others[/dim]",
            rich_help_panel=WHAT,
        ),
    ] = None,
    unfinished: Annotated[
        bool,
        typer.Option("--unfinished", help="Count repeats also before all their draws are done.", rich_help_panel=WHAT),
    ] = False,
    selection: Annotated[
        str,
        typer.Option(
            help="source-validation; or oracle, which chooses by target labels and is a bound, not a result.",
            rich_help_panel=WHAT,
        ),
    ] = "source-validation",
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help="text, markdown, latex, html or csv.  [dim]default: by the file's name, else text[/dim]",
            rich_help_panel=HOW,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write to this file.", rich_help_panel=HOW),
    ] = None,
    best: Annotated[
        str, typer.Option(help="Bold is the best in the column of its group, or of the column.", rich_help_panel=HOW)
    ] = "group",
    errors: Annotated[
        str,
        typer.Option(
            help="Standard errors of all entries, of the average (the paper's Table II), or none.", rich_help_panel=HOW
        ),
    ] = "all",
    fragment: Annotated[
        bool | None,
        typer.Option(
            "--fragment/--document",
            help="LaTeX and HTML: parts for a document, or one of their own.  "
            "[dim]default: parts in LaTeX, a document in HTML[/dim]",
            rich_help_panel=HOW,
        ),
    ] = None,
) -> None:
    from orda.experiments.store import Store
    from orda.experiments.tables import Selection, load_results, make_tables, write_tables

    form: Any = chosen_format(format, out)
    table: Any = known("table", which, WHICH)
    looks: Any = {
        "best": known("scope of --best", best, ("group", "column")),
        "errors": known("choice of --errors", errors, ("all", "average", "none")),
    }
    rule = Selection(known("selection", selection, list(Selection)))
    sweeps = load_results(Store(runs), protocol or (), only or ())
    made = make_tables(sweeps, table, against=against or (), selection=rule, unfinished=unfinished)
    if form == "text" and out is None:
        show(made, **looks)
    else:
        deliver(write_tables(made, form, fragment=fragment, **looks), out)
    tell_faults(sweeps, unfinished)


def chosen_format(format: str | None, out: Path | None) -> str:
    """As asked for, by the file's name, or text."""
    from orda.errors import SettingError

    if format is not None:
        return known("format", format, FORMATS)
    suffix = "" if out is None else out.suffix.lower()
    if out is not None and suffix not in SUFFIXES:
        raise SettingError(
            f"the file's name must end in {', '.join(SUFFIXES)}", str(out), f"Or name one: --format {'|'.join(FORMATS)}"
        )
    return SUFFIXES.get(suffix, "text")


def known(kind: str, value: str, names: Sequence[str]) -> str:
    from orda.errors import UnknownName

    if value not in names:
        raise UnknownName(kind, value, names)
    return value


def show(tables: Sequence[AnyTable], best: Scope, errors: Errors) -> None:
    """To the terminal, within its width; without one, plain."""
    from orda.experiments.tables import grid_of

    show_grids([grid_of(table, best, errors) for table in tables])


def show_grids(grids: Sequence[Grid]) -> None:
    """One below the other."""
    from orda.experiments.tables import styled_lines, to_text

    console = Console(soft_wrap=True, highlight=False)
    for number, grid in enumerate(grids):
        if number:
            typer.echo()
        if console.is_terminal and not console.is_dumb_terminal:
            for line in styled_lines(grid, console.width):
                console.print(line)
        else:
            typer.echo(to_text(grid), nl=False)


def deliver(text: str, out: Path | None) -> None:
    from orda.training.paths import faults_named, write_whole

    if out is None:
        typer.echo(text, nl=False)
        return
    with faults_named(f"cannot write {out}", "Choose another file (--out)"):
        out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, text.encode())
    typer.echo(f"written: {out}", err=True)


def tell_faults(sweeps: Sequence[Results], unfinished: bool) -> None:
    """Runs without a usable result, by name; to the other channel, so that the tables can be piped."""
    from orda.experiments.store import State

    bad = (State.FAILED, State.DAMAGED)
    found = [record for results in sweeps for record in results.records if record.entry.state in bad]
    for record in found[:FAULTS]:
        where = f"{record.place.name} ({record.place.digest})"
        typer.echo(f"{record.entry.state.value}: {where}: {record.entry.fault}", err=True)
    if len(found) > FAULTS:
        typer.echo(f"and {len(found) - FAULTS} more", err=True)
    if any(record.entry.state is State.FAILED for record in found):
        typer.echo("failed runs are tried again by `orda sweep … --retry-failed`", err=True)
    if any(record.entry.score is None for results in sweeps for record in results.records) and not unfinished:
        typer.echo("not all runs are done: `orda sweep` goes on; --unfinished counts what is there", err=True)
