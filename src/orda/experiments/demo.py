"""What the demo says of its runs: a line for every method, and comparisons in words that do not promise too much."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt
from pathlib import Path

from orda.errors import RunError
from orda.experiments.jobs import Place, expand, sweep_digest
from orda.experiments.protocol import Protocol
from orda.experiments.store import State, Store
from orda.experiments.tables import Cell, Comparison, Grid, Line, Results, accuracy_table, compare
from orda.experiments.tables.grid import GridRow, Text, sections, signed
from orda.experiments.tables.statistics import LEVEL, t_interval
from orda.training import RunPaths, RunResult, train

PLANNING = ("extract", "stratify", "order", "plan")
TRAINING = ("load", "step")
QUICK_SEEDS, QUICK_STEPS = 2, 100


def demo_protocol(seeds: int | None = None, quick: bool = False) -> Protocol:
    """The demo's protocol with another number of repeats; ``quick``: few of them, of few steps."""
    protocol = Protocol.load("demo")
    if quick:
        protocol = replace(protocol.updated({"steps": QUICK_STEPS}), repeats=QUICK_SEEDS)
    return protocol if seeds is None else replace(protocol, repeats=seeds)


def warm_up() -> None:
    """Have the compiled loops that the demo's runs need, by two steps of each: compiled once a machine, and kept."""
    with tempfile.TemporaryDirectory() as scratch:
        for job in expand(demo_protocol(seeds=1)):
            config = job.config().updated({"steps": 2, "horizon": 1})  # the second plan starts from the first strata
            train(config, Path(scratch) / job.digest, progress=False)


def forget(store: Store, places: Iterable[Place]) -> None:
    """Remove the runs of these places, unless somebody is at work on one of them."""
    digests = {place.digest for place in places}
    busy = sorted(digest for digest in digests if store.state(digest) is State.RUNNING)
    if busy:
        raise RunError("runs under way are not thrown away", f"{len(busy)} of them in {store.root}", "Stop them first")
    for digest in digests:
        shutil.rmtree(store.folder(digest), ignore_errors=True)


def is_sweep(store: Store, protocol: Protocol, places: Sequence[Place]) -> bool:
    """Whether the store's sweep of the protocol's name consists of these runs."""
    if protocol.name not in store.sweeps():
        return False
    return sweep_digest(store.load_sweep(protocol.name)[1]) == sweep_digest(places)


# ---- a line for every method --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of a method: shares, and seconds of a run."""

    group: str
    label: str  # as it stands below its group
    name: str  # as it stands alone
    accuracy: Cell
    low: float | None  # of the t interval over the seeds; None for one seed
    high: float | None
    off: float | None  # √(mean (D̂ − D0)²) / mean D0, over the minibatches of all plans; None without a D̂
    planning: float | None  # features, strata and order
    training: float | None


def shown(results: Results, store: Store) -> list[Shown]:
    """The lines of the demo's table."""
    runs: dict[str, list[RunResult]] = {}
    for record in results.records:
        if record.entry.state is State.DONE:
            path = RunPaths(store.folder(record.place.digest)).result
            runs.setdefault(record.place.row, []).append(RunResult.load(path))
    return [_shown(line, runs.get(line.name, [])) for line in accuracy_table(results).lines]


def _shown(line: Line, runs: Sequence[RunResult]) -> Shown:
    low, high = t_interval(list(line.cells[0].values.values()))
    seconds = _seconds(runs, PLANNING), _seconds(runs, TRAINING)
    return Shown(line.group, line.label, line.name, line.cells[0], low, high, _off(runs), *seconds)


def _off(runs: Sequence[RunResult]) -> float | None:
    known = [run.plans for run in runs if "mean_squared_error" in run.plans]
    if not known:
        return None
    error, d0 = (fsum(plans[key] for plans in known) / len(known) for key in ("mean_squared_error", "d0"))
    return sqrt(error) / d0


def _seconds(runs: Sequence[RunResult], parts: Sequence[str]) -> float | None:
    if not runs:
        return None
    return fsum(run.seconds.get(part, 0.0) for run in runs for part in parts) / len(runs)


HEADS = ("Method", "Accuracy", f"{LEVEL:.0%} interval", "D̂ is off by", "Plan, s", "Train, s")


def demo_grid(lines: Sequence[Shown], title: str) -> Grid:
    """The lines as what renderers print."""
    rows = [(line.group, GridRow(line.label, line.name, tuple(map(Text, _texts(line))))) for line in lines]
    return Grid(title, HEADS, sections(rows), _notes(lines))


def _texts(line: Shown) -> Iterator[str]:
    yield "" if line.accuracy.mean is None else f"{100 * line.accuracy.mean:.1f}"
    yield "" if line.low is None or line.high is None else f"{100 * line.low:.1f} to {100 * line.high:.1f}"
    yield "" if line.off is None else f"{100 * line.off:.0f}%" if line.off > 0.1 else f"{100 * line.off:.2g}%"
    yield from ("" if seconds is None else f"{seconds:.1f}" for seconds in (line.planning, line.training))


def _notes(lines: Sequence[Shown]) -> tuple[str, ...]:
    seeds = max((len(line.accuracy.values) for line in lines), default=0)
    over = "of one seed" if seeds == 1 else f"mean over {seeds} seeds with its {LEVEL:.0%} interval (Student's t)"
    return (
        f"Accuracy: in % on handwritten digits that training never saw, {over}. Every run counts at its evaluation "
        "with the best accuracy on held-out printed digits; target labels decide nothing.",
        "D̂ is off: how far the minibatches' estimates of CORAL's discrepancy are from its value on all the data when "
        "they are planned, the root mean square in % of that value. To make this small is what the samplers are for.",
        "Seconds of a run: for the features, strata and order of its minibatches; for loading them and the steps.",
    )


# ---- comparisons in words -----------------------------------------------------------------------------------------


def comparisons(results: Results) -> list[Comparison]:
    """Each method of the group against the first one in it, and the first and the last against no adaptation."""
    (erm, plain, *samplers) = [row.name for row in results.rows]
    wanted = [(plain, erm), *((name, plain) for name in samplers), (samplers[-1], erm)]
    found = {(item.row, item.against): item for item in compare(results, against=(erm, plain))}
    return [found[pair] for pair in wanted]


def in_words(item: Comparison) -> tuple[str, str]:
    """What a paired difference with its interval allows to say, no more than that; and the numbers."""
    seeds = len(item.values)
    if item.difference is None:
        return "not known", "there is no seed in which both are done"
    points = f"{signed(item.difference)} points"
    if item.low is None or item.high is None:
        return "not known", f"{points} in one seed, which says nothing about others"
    ahead = f"ahead in {item.wins} of {seeds} seeds"
    numbers = f"{points}, {LEVEL:.0%} interval {signed(item.low)} to {signed(item.high)}, {ahead}"
    if item.low > 0:
        return "better", numbers
    if item.high < 0:
        return "worse", numbers
    return f"no difference that {seeds} seeds can tell from chance", numbers
