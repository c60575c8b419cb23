"""``orda data``: fetch, decode and check data sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from orda.data.prepare import Report

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Fetch, decode and check data sets: digits, office-home, spawrious, or any folder root/domain/class/images.",
)

Name = Annotated[str, typer.Argument(help="digits, office-home, spawrious or folder.", show_default=False)]
Root = Annotated[
    Path | None, typer.Option(help="The folder that holds the data set (digits need none).", show_default=False)
]
CacheDir = Annotated[
    Path | None,
    typer.Option(
        help="For decoded images. Default: $ORDA_CACHE, else ROOT/.orda-cache, else the user's cache folder.",
        show_default=False,
    ),
]
Incomplete = Annotated[
    bool, typer.Option("--incomplete", help="Take what is there, whatever the data set's published counts.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars.")]


@app.command()
def prepare(
    name: Name,
    root: Root = None,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch it into ROOT if it is not there (office-home, spawrious).")
    ] = False,
    size: Annotated[int | None, typer.Option(help="Side of the decoded images in pixels. Default: 224.")] = None,
    task: Annotated[
        str | None, typer.Option(help="Only the domains of this task, e.g. Art->Clipart or o2o_easy.")
    ] = None,
    skip_damaged: Annotated[
        bool, typer.Option("--skip-damaged", help="Leave images out that cannot be read, and say how many.")
    ] = False,
    incomplete: Incomplete = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Threads that decode. Default: one per core.")] = None,
    cache_dir: CacheDir = None,
    quiet: Quiet = False,
) -> None:
    """Decode a data set into the cache, once; fetch and unpack it before, if asked.

    Can be stopped at any time: the same command goes on where it was.
    """
    from orda.data.prepare import prepare as prepare_data
    from orda.data.registry import find_task

    report = prepare_data(
        name,
        root,
        download=download,
        task=None if task is None else find_task(name, [task], root=root),
        complete=not incomplete,
        size=size,
        skip_damaged=skip_damaged,
        workers=workers,
        cache_dir=cache_dir,
        progress=False if quiet else None,
    )
    show(report, "is ready")


@app.command()
def check(
    name: Name,
    root: Root = None,
    incomplete: Incomplete = False,
    cache_dir: CacheDir = None,
    quiet: Quiet = False,
) -> None:
    """Compare the files with counts and checksums, and every decoded array with its manifest. Writes nothing."""
    from orda.data.prepare import check as check_data

    report = check_data(name, root, complete=not incomplete, cache_dir=cache_dir, progress=False if quiet else None)
    show(report, "is as it should be")


def show(report: Report, verdict: str) -> None:
    """The domains and their sizes, and what there is to say of them."""
    console = Console()
    console.print(f"[b]{report.name}[/b] {verdict}", highlight=False)
    table = Table()
    table.add_column("domain")
    table.add_column("images", justify="right")
    for domain, count in report.domains.items():
        table.add_row(escape(domain), f"{count:,}")
    console.print(table)
    for note in report.notes:
        console.print(note, highlight=False, markup=False)
    if report.damaged:
        console.print(f"{report.damaged:,} damaged images were left out")
