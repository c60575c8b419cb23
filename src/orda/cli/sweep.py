"""``orda sweep``: a protocol becomes runs in a folder, and what is missing there is done."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from orda.experiments.engine import Summary
    from orda.experiments.engine.choose import Request
    from orda.experiments.protocol import Protocol
    from orda.experiments.store import Store

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

PAGE = """Do all runs of a protocol: rows × tasks × draws × repeats, each in a folder of its own below --runs.

A protocol is a YAML file, or one that comes with orda (--list). Stopped by Ctrl-C, killed, or out of room, the same
command goes on where it was: nothing that is done is done again, and a run that was broken off goes on from its last
checkpoint. Several sweeps, on one machine or many, may work on one folder at once.

[dim]The digits in two processes; what the paper's first table would take; its smallest part:[/dim]

  orda sweep digits --jobs 2

  orda sweep paper-spawrious --root DIR --dry-run

  orda sweep paper-spawrious --root DIR --only 'row=CORAL*' --only repeat=0 --only draw=0

[dim]Four runs on each GPU; a Ray cluster, half a GPU each:[/dim]

  orda sweep paper-spawrious --root DIR --gpus-per-run 0.25

  orda sweep paper-spawrious --root DIR --engine ray --address auto --gpus-per-run 0.5
"""

WHICH, WHERE, FAULTS = "Which runs", "Where and how", "When runs fail"


@app.command(help=PAGE)
def sweep(
    protocol: Annotated[
        str | None, typer.Argument(metavar="PROTOCOL", help="A YAML file, or a name of --list.", show_default=False)
    ] = None,
    runs: Annotated[Path, typer.Option(help="The folder of runs.", rich_help_panel=WHICH)] = Path("runs"),
    list_them: Annotated[
        bool, typer.Option("--list", help="List the protocols that come with orda.", rich_help_panel=WHICH)
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=PATTERN",
            help="Only such runs: row, group, task, repeat, draw, algorithm or sampler, with * and ?. One key several "
            "times: any of them; several keys: all of them.",
            rich_help_panel=WHICH,
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, help="At most so many runs that are not done.", rich_help_panel=WHICH)
    ] = None,
    root: Annotated[
        str | None,
        typer.Option(help="The folder that holds the data: root/domain/class/images.", rich_help_panel=WHICH),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Any key of the protocol's 'train', by its last name or in full: --set steps=100 --set device=cpu.",
            rich_help_panel=WHICH,
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Count the runs, estimate the time, and do nothing.", rich_help_panel=WHICH),
    ] = False,
    engine: Annotated[
        str,
        typer.Option(
            help="local: processes on this machine. ray: a Ray cluster, or a Ray of one's own. inline: this process.",
            rich_help_panel=WHERE,
        ),
    ] = "local",
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            help="Runs at once.  [dim]default: one per share of a GPU; without GPUs, one per core[/dim]",
            rich_help_panel=WHERE,
        ),
    ] = None,
    gpus: Annotated[
        str | None,
        typer.Option(metavar="0,1,…", help="GPUs to use.  [dim]default: all[/dim]", rich_help_panel=WHERE),
    ] = None,
    gpus_per_run: Annotated[
        float | None,
        typer.Option(help="Share of a GPU: 0.25 puts four on one.  [dim]default: 1[/dim]", rich_help_panel=WHERE),
    ] = None,
    cpus_per_run: Annotated[
        float | None,
        typer.Option(
            help="Threads of a run; with Ray, CPUs it asks for.  [dim]default: an equal share; Ray: 1[/dim]",
            rich_help_panel=WHERE,
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            help="Of the Ray cluster: host:port, or auto.  [dim]default: $RAY_ADDRESS, else a Ray of one's own[/dim]",
            rich_help_panel=WHERE,
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.", rich_help_panel=WHERE)] = False,
    retries: Annotated[
        int,
        typer.Option(min=0, help="How often a run is tried again whose process died.", rich_help_panel=FAULTS),
    ] = 2,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try runs again that failed before.", rich_help_panel=FAULTS)
    ] = False,
    max_failures: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many failures.", rich_help_panel=FAULTS)
    ] = None,
) -> None:
    from orda.cli import sweep_texts as texts
    from orda.errors import SettingError
    from orda.experiments.engine import survey
    from orda.experiments.engine.choose import Request
    from orda.experiments.jobs import choose, expand
    from orda.experiments.store import Store

    if list_them:
        texts.list_protocols()
        return
    if protocol is None:
        raise SettingError("name a protocol", "none", "For example: orda sweep digits; orda sweep --list shows them")
    wanted = configured(protocol, root, settings or [])
    every = expand(wanted)
    chosen = choose(every, only or [])
    if not chosen:
        raise SettingError("--only must leave runs to do", f"none of {len(every)}", "See the rows with --dry-run")
    if on_cpus(wanted):
        gpus_per_run = 0.0
    request = Request(engine, jobs, names_in(gpus), cpus_per_run, gpus_per_run, address)
    store = Store(runs.expanduser().absolute())
    summary = survey(chosen, store, limit=limit, retry_failed=retry_failed)
    if dry_run:
        texts.show_plan(wanted, every, summary, request, runs)
        return
    texts.say_replaced(store, wanted, every)
    store.save_sweep(wanted, every)
    if summary.todo:
        do(summary, store, request, wanted, retries, max_failures, quiet)
    texts.show_end(summary, store, runs, shlex.join(["orda", *sys.argv[1:]]))
    code = exit_code(summary)
    if code:
        raise typer.Exit(code)


def configured(protocol: str, root: str | None, settings: list[str]) -> Protocol:
    """The protocol with the flags in it."""
    from orda.experiments.protocol import Protocol
    from orda.training import schema
    from orda.training.overrides import parse_among

    found = Protocol.load(protocol)
    known = {key for row in found.rows for key in schema.flat(row.config.resolved().to_dict())}
    changes = parse_among(settings, sorted(known), "Keys: orda train --print-config")
    if root is not None:
        changes["data.root"] = str(Path(root).expanduser().absolute())
    return found.updated(changes) if changes else found


def on_cpus(protocol: Protocol) -> bool:
    """Whether no run of the protocol uses a GPU."""
    from orda.errors import SettingError

    devices = {row.config.machine.device for row in protocol.rows}
    numbered = sorted(device for device in devices if ":" in device)
    if numbered:
        raise SettingError("a sweep deals out the GPUs", f"machine.device {numbered[0]}", "Use --gpus to name them")
    return devices == {"cpu"}


def names_in(gpus: str | None) -> tuple[str, ...] | None:
    return None if gpus is None else tuple(name.strip() for name in gpus.split(",") if name.strip())


def do(
    summary: Summary,
    store: Store,
    request: Request,
    protocol: Protocol,
    retries: int,
    max_failures: int | None,
    quiet: bool,
) -> None:
    """Have what the runs need, and do them."""
    from orda.experiments import progress, run
    from orda.experiments.engine import run_sweep
    from orda.experiments.estimate import pace_of
    from orda.experiments.prepare import prepare

    prepare(summary.todo, progress=False if quiet else None)
    meter = progress.Meter(pace_of(summary.records), request.at_once)
    with request.make(store, run.train_run) as engine, progress.display(meter, protocol.name, quiet) as tell:
        run_sweep(summary, store, engine, retries=retries, max_failures=max_failures, tell=tell)


def exit_code(summary: Summary) -> int:
    """0 where all is done; 128 and the signal's number where one ended it; else 1."""
    if summary.signum is not None:
        return 128 + summary.signum
    return 0 if summary.complete else 1
