"""What stands under a table, so that nobody has to guess what a number means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orda.experiments.select import Choice, Key, Selection, diverged_runs
from orda.experiments.store import State
from orda.experiments.store.folder import counts
from orda.experiments.tables.results import Results
from orda.experiments.tables.statistics import LEVEL

ERROR = "standard deviation (ddof = 1) over the square root of their number, none for one repeat"
RULES = {
    Selection.SOURCE_VALIDATION: (
        "the one with the best source validation accuracy (of equals the first)",
        "at its evaluation with the best source validation accuracy. Target labels decide nothing.",
    ),
    Selection.ORACLE: (
        "the one with the best target accuracy after the last step (of equals the first)",
        "after its last step. This needs target labels, which nobody has: a bound, not a result.",
    ),
}
DIVERGED = "†"


def accuracy_notes(
    results: Results, choices: Mapping[Key, Choice], selection: Selection, unfinished: bool
) -> tuple[str, ...]:
    repeats = len(results.repeats)
    notes = [
        f"Accuracy in % on target images that training never saw: mean ± standard error over {_n(repeats, 'repeat')} "
        f"({ERROR})."
        + (" Average: each repeat's mean over the columns; its error is over these." if len(results.tasks) > 1 else ""),
        _selection(choices, selection),
    ]
    if any(not choice.through for choice in choices.values()):
        notes.append(_incomplete(unfinished, "draws"))
    if any(choice.through and choice.run is None for choice in choices.values()):
        notes.append("Repeats in which every draw diverged before its first evaluation have no accuracy.")
    if any(choice.fell_back for choice in choices.values()):
        notes.append(f"{DIVERGED} Holds repeats in which every draw diverged: their best evaluation before that.")
    if diverged := diverged_runs(choices):
        notes.append(f"{_n(diverged, 'run')} diverged; such a run is chosen only where all of them did.")
    return (*notes, *_own(results), _made_of(results))


def time_notes(sweeps: Sequence[Results], by: str, unfinished: bool) -> tuple[str, ...]:
    what = "runs with the sampler, over tasks, draws and algorithms" if by == "sampler" else "row's runs"
    notes = [
        f"Mean ± standard error over repeats ({ERROR}) of the mean over a repeat's {what}. "
        "Wall-clock seconds on the machines that did the runs."
    ]
    if any(record.entry.score is None for results in sweeps for record in results.records):
        notes.append(_incomplete(unfinished, "runs"))
    scores = (record.entry.score for results in sweeps for record in results.records)
    if any(score is not None and score.diverged for score in scores):
        notes.append(f"{DIVERGED} Without diverged runs, which ended early.")
    return (*notes, *(_made_of(results) for results in sweeps))


def comparison_notes(
    results: Results, choices: Mapping[Key, Choice], selection: Selection, comparisons: int
) -> tuple[str, ...]:
    notes = [
        "Differences of accuracy in percentage points, on the same tasks with the same splits and seeds: mean over the "
        f"repeats in which both rows have all tasks, with the paired t interval ({LEVEL:.0%}) over these repeats, "
        "none for one repeat.",
        "Pairs are of one task and repeat; the two-sided sign test takes them for independent and leaves ties out. "
        f"Its p-values are not corrected for there being {comparisons}.",
        _selection(choices, selection),
    ]
    return (*notes, _made_of(results))


def _selection(choices: Mapping[Key, Choice], selection: Selection) -> str:
    which, where = RULES[selection]
    draws = max((choice.draws for choice in choices.values()), default=0)
    if draws == 1:
        return f"Selection: the one run of a row, task and repeat, {where}"
    return f"Selection: of the {draws} draws of a row, task and repeat {which}, {where}"


def _incomplete(unfinished: bool, of: str) -> str:
    if unfinished:
        return f"[n of N]: the mean is of n repeats of N, also of such as miss some of their {of}."
    return f"[n of N]: the mean is of the n repeats whose {of} are all done; the others are missing."


def _own(results: Results) -> list[str]:
    return [results.protocol.note] if results.protocol.note else []


def _made_of(results: Results) -> str:
    found = counts(results.records)
    states = ", ".join(f"{n} {state.value}" for state, n in found.items() if state is not State.DONE)
    left = f" ({states})" if states else ""
    only = f"; only {' '.join(results.only)}" if results.only else ""
    done = f"{found.get(State.DONE, 0)} of {_n(len(results.records), 'run')} done{left}"
    return f"Protocol {results.protocol.name}, digest {results.digest}{only}: {done}."


def _n(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
