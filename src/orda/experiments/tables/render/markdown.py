"""Tables in Markdown, as GitHub reads it. There are no rules between groups, so rows have their whole names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from orda.experiments.tables.grid import Grid, Text

SPECIAL = re.compile(r"([\\`*_\[\]<>|~#])")


def escape(text: str) -> str:
    """The text with nothing in it that Markdown reads as markup."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def to_markdown(grid: Grid) -> str:
    """A heading in bold, the table, its notes as a list."""
    sides = [":--" if number in grid.words else "--:" for number in range(len(grid.heads))]
    rows = [_row(map(escape, grid.heads)), _row(sides)]
    rows += [_row([escape(row.name), *map(_cell, row.cells)]) for section in grid.sections for row in section]
    notes = [f"- {escape(note)}" for note in grid.told()]
    return "\n".join([f"**{escape(grid.title)}**", "", *rows, "", *notes]) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Text) -> str:
    text = escape(cell.text)
    return f"**{text}**" if cell.bold and text else text
