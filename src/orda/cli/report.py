"""``orda report``: one page that tells of a folder of runs."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

PAGE = """Write one HTML page about finished runs: what was compared, what won by how much, and what it cost.

On the page: a summary in words; accuracies, paired comparisons and times; learning curves; the estimates of the
discrepancy against its value on all data; maps of the features before and after; images of the strata; the
hyperparameters chosen; runs that failed or are missing; and the commands to run it all again. It is one file that asks
the network for nothing, fit to be sent, printed and read on a phone.

DIR is the folder of a sweep, which need not be over, or that of one or more runs of [b]orda train[/b].

[dim]A sweep, and look at it; one run; a part of a sweep, without what takes the models and the data:[/dim]

  orda report runs --open

  orda report runs/first --out first.html

  orda report runs --only 'row=CORAL*' --no-pictures
"""


@app.command(help=PAGE)
def report(
    runs: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of runs, or of one run.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The page's file.  [dim]default: report.html in DIR[/dim]"),
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Show the page in the browser.")] = False,
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            help="A sweep of the folder by its name, or a protocol's file; repeat it for several.  "
            "[dim]default: all sweeps that were started there[/dim]",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=PATTERN",
            help="Only these runs, by row, group, task, repeat, draw, algorithm or sampler: --only 'row=CORAL*'.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="The page's title.  [dim]default: the protocol's, or the folder's name[/dim]")
    ] = None,
    pictures: Annotated[
        bool,
        typer.Option("--pictures/--no-pictures", help="Maps of features and images of strata, from models and data."),
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    from orda.experiments.report import write_report

    file = write_report(
        runs,
        out,
        protocols=protocol or (),
        only=only or (),
        title=title,
        pictures=pictures,
        progress=False if quiet else None,
    )
    typer.echo(f"written: {file}", err=True)
    if open_it and not webbrowser.open(file.resolve().as_uri()):
        typer.echo(f"no browser to open it with; open it yourself: {file.resolve()}", err=True)
