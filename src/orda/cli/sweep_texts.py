"""What ``orda sweep`` says before and after."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from orda.errors import OrdaError
from orda.experiments.engine import Summary
from orda.experiments.engine.choose import Request
from orda.experiments.estimate import Pace, in_words, pace_of
from orda.experiments.jobs import Job, expand
from orda.experiments.progress import over
from orda.experiments.protocol import Protocol, shipped_protocols
from orda.experiments.store import Record, State, Store

SHOWN = 10  # failures


def say(text: str, style: str | None = None) -> None:
    """A line that is not cut or coloured by chance."""
    Console(stderr=True).print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def list_protocols() -> None:
    """The protocols that come with orda."""
    table = Table("name", "runs", "rows × tasks × draws × repeats")
    for name, path in shipped_protocols().items():
        protocol = Protocol.load(path)
        try:
            jobs = expand(protocol)
            tasks, runs = str(len({job.task for job in jobs})), f"{len(jobs):,}"
        except OrdaError:  # of a folder that is not known yet
            tasks, runs = "tasks of --root", "?"
        parts = f"{len(protocol.rows)} × {tasks} × {protocol.search.draws} × {protocol.repeats}"
        table.add_row(name, runs, parts)
    console = Console()
    console.print(table)
    console.print(
        f"A changed copy of one is a protocol too; they are in {path.parent}", highlight=False, soft_wrap=True
    )


def show_plan(protocol: Protocol, every: Sequence[Job], summary: Summary, request: Request, runs: Path) -> None:
    """``--dry-run``: how many runs, in which state, and how long the rest will take. Empty columns are left out."""
    pace = pace_of(summary.records)
    console = Console()
    title = f"{protocol.name}: {len(summary.records):,} runs in {runs}"
    todo = Counter(job.row for job in summary.todo)
    lines = []
    for row, records in by_row(summary.records).items():
        states = Counter(record.entry.state for record in records)
        shown = (len(records), *(states[s] for s in (State.DONE, State.FAILED, State.RUNNING)), todo[row])
        seconds = pace.of(row) if row in pace.rows else None
        lines.append((row, *(f"{n:,}" if n else "" for n in shown), *times(seconds, todo[row])))
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    heads = ("row", "runs", "done", "failed", "running", "to do", "s/run", "in all")
    told = [number for number in range(len(heads)) if any(line[number] for line in lines)]
    for number in told:
        table.add_column(heads[number], justify="right" if number else "left", no_wrap=True)
    for line in lines:
        table.add_row(*(line[number] for number in told))
    console.print(table)
    if len(every) > len(summary.records):
        console.print(f"--only leaves {len(summary.records):,} of {len(every):,} runs", highlight=False)
    for text in estimate(summary, pace, request):
        console.print(text, highlight=False, markup=False, soft_wrap=True)


def by_row(records: Iterable[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.place.row, []).append(record)
    return found


def times(seconds: float | None, todo: int) -> tuple[str, str]:
    if seconds is None:
        return "", ""
    return f"{seconds:.1f}", in_words(seconds * todo) if todo else ""


def estimate(summary: Summary, pace: Pace, request: Request) -> list[str]:
    """How long what is to be done will take, and what that rests on."""
    if not summary.todo:
        return ["nothing to do"]
    work, at_once = pace.work(summary.todo), request.at_once
    if work is None:
        rows = len({record.place.row for record in summary.records})
        return [
            f"{len(summary.todo):,} runs to do; how long they take is not known before some of them are done. "
            f"One of each row: the same command with --only repeat=0 --only draw=0 --limit {rows} in place of --dry-run"
        ]
    text = f"{len(summary.todo):,} runs to do: {in_words(work)} of training"
    if at_once is not None:
        text += f", {in_words(work / at_once)} with {at_once} at once" if at_once > 1 else ", one after another"
    missing = sorted({job.row for job in summary.todo} - set(pace.rows))
    known = f"from {pace.all.count:,} finished run{'s' if pace.all.count > 1 else ''}" + (
        f"; none yet of {', '.join(missing)}: taken for average ones" if missing else ""
    )
    return [text, known]


def say_replaced(store: Store, protocol: Protocol, jobs: Sequence[Job]) -> None:
    """Runs of an earlier sweep of this name that are no part of this one."""
    if protocol.name not in store.sweeps():
        return
    now = {job.digest for job in jobs}
    left = sum(place.digest not in now for place in store.load_sweep(protocol.name)[1])
    if left:
        say(
            f"{store.root} has a sweep of the name {protocol.name!r} with other settings: {left:,} of its runs are no "
            "part of this one. They stay where they are; the tables are of the new one",
            "yellow",
        )


def show_end(summary: Summary, store: Store, runs: Path, command: str) -> None:
    """How the sweep ended, what failed and where to read why, and what to do next."""
    for text in summary.set_aside:
        say(f"a result could not be used and was set aside; its run was done again: {text}", "yellow")
    show_failures([*summary.failed_before, *summary.failed], store, runs)
    parts = {
        "done": len(summary.before) + len(summary.done),
        "failed": len(summary.failed) + len(summary.failed_before),
        "left": summary.total - over(summary),
    }
    words = ", ".join(f"{number:,} {name}" for name, number in parts.items() if number)
    say(
        f"{summary.total:,} runs: {words or 'none'}"
        + (f" (done before: {len(summary.before):,})" if summary.before else "")
    )
    if summary.stopped is not None:
        say(f"stopped: {summary.stopped}; go on with: {command}", "yellow")
    elif summary.failed or summary.failed_before:
        say(f"try the failed ones again with: {command}" + ("" if "--retry-failed" in command else " --retry-failed"))
    if parts["done"]:
        say(f"tables: orda tables {runs}")


def show_failures(failed: Sequence[tuple[Job, str]], store: Store, runs: Path) -> None:
    """The failures by what went wrong, each with the file that has its traceback."""
    if not failed:
        return
    alike: dict[str, list[Job]] = {}
    for job, message in failed:
        alike.setdefault(message, []).append(job)
    say(f"{len(failed):,} runs failed:", "red")
    for message, jobs in sorted(alike.items(), key=lambda item: -len(item[1]))[:SHOWN]:
        say(f"  {message}")
        for job in jobs[: max(1, math.ceil(SHOWN / len(alike)))]:
            say(f"    {job.name}: {runs / os.path.relpath(store.failure_path(job.digest), store.root)}")
        more = len(jobs) - max(1, math.ceil(SHOWN / len(alike)))
        if more > 0:
            say(f"    and {more:,} more")
    if len(alike) > SHOWN:
        say(f"  and {len(alike) - SHOWN:,} other errors")
