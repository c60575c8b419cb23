"""What ``orda demo`` says: before, and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from orda.cli.tables import show_grids
from orda.experiments.demo import Shown, demo_grid, in_words, warm_up
from orda.experiments.engine import Summary
from orda.experiments.engine.choose import Request
from orda.experiments.progress import over
from orda.experiments.protocol import Protocol
from orda.experiments.tables import Comparison

INTRODUCTION = """\
[b]orda demo[/b]: from printed digits to handwritten ones

A small network learns from printed digits with labels. It may look at handwritten
ones too, without their labels, and is tested on handwritten ones it never saw.
Five ways to train it:

  [b]ERM[/b]                           on the printed digits alone: no adaptation
  [b]CORAL[/b]                         and pull the covariances of the two domains' features
                                together, as every minibatch estimates them
  [b]CORAL + VaRDASS[/b]               minibatches of one example of each stratum, weighted
  [b]CORAL + ORDERED (greedy)[/b]      these reordered, so that each minibatch estimates what
                                all the data would say (the paper's algorithm)
  [b]CORAL + ORDERED (assignment)[/b]  reordered exactly, stratum by stratum (orda's default)
"""


def console() -> Console:
    return Console(highlight=False, soft_wrap=True)


def introduce(protocol: Protocol, summary: Summary, request: Request, out: Path) -> None:
    """What is going to happen."""
    screen = console()
    screen.print(INTRODUCTION)
    steps = protocol.rows[0].config.resolved().steps
    runs = f"{len(summary.records)} runs of {steps} steps: {len(protocol.rows)} methods × {protocol.repeats} seeds"
    if not summary.todo:
        screen.print(f"{runs}, all done before.\n")
        return
    before = f", {len(summary.before)} of them done before" if summary.before else ""
    screen.print(f"{runs}{before}; {request.at_once} at once, in {out / 'runs'}.", markup=False)
    screen.print("Ctrl-C is safe: the same command goes on where it was.\n")


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Say what is being done, where it takes some seconds."""
    screen = Console(stderr=True)
    if not screen.is_terminal:
        screen.print(what, soft_wrap=True)
    with screen.status(what):
        yield


def prepare() -> None:
    """Compile what is compiled once a machine."""
    with doing("Getting ready (on a new machine orda's loops are compiled once: some 20 seconds) …"):
        warm_up()


def broken_off(summary: Summary, command: str) -> None:
    """There is something left to do."""
    why = f": {summary.stopped}" if summary.stopped else ""
    screen = Console(stderr=True, highlight=False, soft_wrap=True)
    screen.print(f"{over(summary)} of {summary.total} runs are over{why}. Go on with: {command}", markup=False)


def show(lines: Sequence[Shown], comparisons: Sequence[Comparison], title: str) -> None:
    """The table, and what it allows to say."""
    show_grids([demo_grid(lines, title)])
    screen = console()
    screen.print("\n[b]Method against method, with the same seeds[/b]\n")
    for item in comparisons:
        verdict, numbers = in_words(item)
        screen.print(f"  {item.row} against {item.against}: {verdict}\n    {numbers}", markup=False)
    screen.print("\n[dim]Each interval stands for itself: of twenty such, one misses by chance.[/dim]\n")


def what_next(out: Path, command: str, new: bool) -> None:
    """Where everything is, and what to try."""
    screen = console()
    rows = [
        ("the same with figures, for a browser", f"{out / 'report.html'}"),
        ("every number of these runs", f"orda tables {out / 'runs'}"),
        ("narrower intervals", "orda demo --seeds 20"),
        ("one run, with all its knobs", "orda train --help"),
        ("the paper's nineteen methods on these digits", "orda sweep digits"),
    ]
    screen.print("[b]Next[/b]")
    for what, how in rows:
        screen.print(f"  {what:46}{how}", markup=False)
    if not new:
        screen.print(f"\nNothing was left to do. Start over with: {command} --force", markup=False)
