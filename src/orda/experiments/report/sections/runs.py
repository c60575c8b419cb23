"""Which runs there are: done, failed, missing, damaged; the faults by name."""

from __future__ import annotations

from collections.abc import Sequence

from orda.experiments.report.gather import Chapter
from orda.experiments.report.html import bullets, count, details, note, paragraph, section, table
from orda.experiments.store import Record, State
from orda.experiments.store.folder import counts
from orda.experiments.tables import Results

NAMED = 20  # faults that are named at most
WORDS = {
    State.DONE: "done",
    State.RUNNING: "running",
    State.QUEUED: "not begun or stopped",
    State.FAILED: "failed",
    State.DAMAGED: "damaged record",
}


def runs_section(chapter: Chapter, prefix: str) -> str:
    """Counts by row, then what went wrong."""
    results = chapter.results
    content = [_by_row(results), _faults(results.records)] if results is not None else []
    if chapter.faults:
        content.append(note(f"Set aside, for they cannot be read: {count(len(chapter.faults), 'record')}."))
        content.append(bullets(chapter.faults[:NAMED], "faults"))
    if not content:
        content.append(paragraph(f"{count(len(chapter.runs), 'run')}, all of them readable."))
    return section(f"{prefix}runs", "Runs", *content)


def _by_row(results: Results) -> str:
    everything = counts(results.records)
    states = [state for state in State if state in everything]
    diverged = sum(record.entry.score is not None and record.entry.score.diverged for record in results.records)
    rows = []
    for row in results.rows:
        own = counts(record for record in results.records if record.place.row == row.name)
        rows.append((row.name, *(str(own.get(state, 0)) for state in states)))
    done, total = everything.get(State.DONE, 0), len(results.records)
    told = f"{done:,} of {count(total, 'run')} done" + (f", {diverged:,} of them diverged" if diverged else "") + "."
    made = table("Runs by row and state", ("Method", *(WORDS[state] for state in states)), rows)
    return paragraph(told) + (details("By row", made) if done == total else made)


def _faults(records: Sequence[Record]) -> str:
    bad = [record for record in records if record.entry.state in (State.FAILED, State.DAMAGED)]
    if not bad:
        return ""
    lines = [f"{WORDS[r.entry.state]}: {r.place.name} ({r.place.digest}): {r.entry.fault}" for r in bad[:NAMED]]
    if len(bad) > NAMED:
        lines.append(f"and {len(bad) - NAMED} more")
    return bullets(lines, "faults")
