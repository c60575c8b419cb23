"""The numbers as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
PLANS = ("k", "sampler", "first", "stratify", "prepare", "order", "next")
TRAINING = ("k", "sampler", "steps/s", "over uniform")
BESIDE = ("what", "beside", "its", "orda", "ratio")


def as_text(found: Mapping[str, Any]) -> str:
    """One table a section, and what could not be compared."""
    said, machine = found["settings"], found["machine"]
    parts = [
        f"{machine['device']}, {machine['threads']} threads, torch {machine['torch']}; {found['seconds']:.0f} s in all",
        titled(
            f"Seconds of a plan, features given: n = {said['n']:,} a domain, d = {said['d']}, M = {said['horizon']}. "
            '"next" starts from the strata of the first',
            table(PLANS, found["plans"]),
        ),
        titled(
            f"Training, plans and features included: {said['training']}. "
            '"over uniform": its seconds over those of uniform sampling',
            table(TRAINING, found["training"]),
        ),
        titled(
            "Seconds beside others; the ratio is theirs over orda's",
            table(BESIDE, [row for row in found["beside"] if "skipped" not in row]),
        ),
        *(f"skipped: {row['skipped']}" for row in found["beside"] if "skipped" in row),
    ]
    return "\n\n".join(parts)


def titled(title: str, text: str) -> str:
    return f"{title}\n\n{text}"


def table(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Words to the left, numbers to the right."""
    cells = [[cell(row.get(column)) for column in columns] for row in rows]
    numbers = [all(not isinstance(row.get(column), str) for row in rows) for column in columns]
    widths = [max(len(line[i]) for line in [list(columns), *cells]) for i in range(len(columns))]
    lines = [
        "  ".join(
            c.rjust(w) if right else c.ljust(w) for c, w, right in zip(line, widths, numbers, strict=True)
        ).rstrip()
        for line in [list(columns), *cells]
    ]
    return "\n".join([lines[0], "─" * len(lines[0]), *lines[1:]])


def cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if value >= 100 else f"{value:.2f}" if value >= 0.1 else f"{value:.4f}"
    return str(value)
