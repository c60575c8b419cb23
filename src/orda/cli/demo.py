"""``orda demo``: the first thing to try. Five methods on the embedded digits, a table, and a page to read."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from orda.experiments.protocol import Protocol
    from orda.experiments.store import Store

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

PAGE = """Adapt from printed digits to handwritten ones in five ways, and say what that gained. Nothing is downloaded.

Without adaptation (ERM); with CORAL; and with CORAL on better minibatches: one example of every stratum (VaRDASS), then
ordered by the paper's greedy pass and by orda's exact assignment. Every method runs with the same seeds, so that they
are compared in pairs. It takes about two minutes on two cores, prints a table and writes OUT/report.html.

Ctrl-C is safe: the same command goes on where it was. What is done stays in OUT; more seeds add to it.

[dim]All of it; more seeds, for narrower intervals; a look in seconds:[/dim]

  orda demo

  orda demo --seeds 20

  orda demo --quick --out quick
"""

ENGINE = "local"


@app.command(help=PAGE)
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where runs and report go.")] = Path("demo"),
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs of every method.  [dim]default: 5[/dim]", show_default=False)
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Runs at once.  [dim]default: one per core[/dim]")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two seeds of 100 steps: to see that it works.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Start over: forget the runs in DIR.")] = False,
) -> None:
    from orda.cli import demo_texts as texts
    from orda.cli.sweep import do, exit_code
    from orda.cli.sweep_texts import show_failures
    from orda.experiments.demo import demo_protocol, forget, is_sweep
    from orda.experiments.engine import RETRIES, survey
    from orda.experiments.engine.choose import Request
    from orda.experiments.jobs import expand
    from orda.experiments.store import Store

    protocol = demo_protocol(seeds, quick)
    every = expand(protocol)
    store = Store(out.expanduser().absolute() / "runs")
    if force:
        forget(store, every)
    request = Request(ENGINE, jobs, cpus_per_run=1, gpus_per_run=0)
    summary = survey(every, store, retry_failed=True)
    command = shlex.join(["orda", *sys.argv[1:]])
    texts.introduce(protocol, summary, request, out)
    known = is_sweep(store, protocol, every)
    store.save_sweep(protocol, every)
    if summary.todo:
        texts.prepare()
        do(summary, store, request, protocol, RETRIES, max_failures=None, quiet=False)
    show_failures(summary.failed, store, out / "runs")
    if not summary.complete:
        texts.broken_off(summary, command)
        raise typer.Exit(exit_code(summary))
    new = bool(summary.done) or not known
    finish(protocol, store, out, new)
    texts.what_next(out, command, new)


def finish(protocol: Protocol, store: Store, out: Path, new: bool) -> None:
    """What came of it: table, comparisons, and the page, unless it is there already."""
    from orda.cli import demo_texts as texts
    from orda.experiments.demo import comparisons, shown
    from orda.experiments.report import write_report
    from orda.experiments.tables import load_results

    (results,) = load_results(store, [protocol.name])
    texts.show(shown(results, store), comparisons(results), protocol.title)
    page = out.expanduser() / "report.html"
    if new or not page.exists():
        with texts.doing("Writing the report …"):
            write_report(store.root, page, protocols=[protocol.name], progress=False)
