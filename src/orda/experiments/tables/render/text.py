"""Tables for a terminal, in colour and bold, in as many panels as its width asks for; and as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text as Styled

from orda.experiments.tables.grid import Grid, GridRow, Text

GAP = "  "
RULED = " │ "  # before the column that stands apart
NOTES = 100  # columns of the notes where the width is free


def to_text(grid: Grid) -> str:
    """Plain text; what would be bold has a star."""
    lines = (line.plain.rstrip() for line in styled_lines(grid, starred=True))
    return "\n".join(lines) + "\n"


def styled_lines(grid: Grid, width: int | None = None, starred: bool = False) -> list[Styled]:
    """The lines of a grid, none longer than ``width`` where its columns can be shared out among panels."""
    lines = [Styled(grid.title, "bold")]
    for panel in _panels(grid, width, starred):
        lines += [Styled(), *_panel(grid, panel, starred)]
    lines.append(Styled())
    room = NOTES if width is None else min(width, NOTES)
    for note in grid.told("*" if starred else "Bold:"):
        lines += [Styled(line, "dim") for line in textwrap.wrap(note, room, subsequent_indent=GAP)]
    return lines


def _panels(grid: Grid, width: int | None, starred: bool) -> list[list[int]]:
    """The columns of each panel, by number, those of words in all of them."""
    words = [column for column in grid.words if column]
    first = _width(grid, 0, starred) + sum(_width(grid, column, starred) + len(GAP) for column in words)
    panels, used = [list(words)], first
    for column in range(1, len(grid.heads)):
        if column in words:
            continue
        more = _width(grid, column, starred) + len(RULED if _ruled(grid, column) else GAP)
        if width is not None and used > first and used + more > width:
            panels.append(list(words))
            used = first
        panels[-1].append(column)
        used += more
    return panels


def _panel(grid: Grid, columns: Sequence[int], starred: bool) -> list[Styled]:
    widths = {column: _width(grid, column, starred) for column in (0, *columns)}
    heads = [Text(head) for head in grid.heads]
    lines = [_line(grid, heads[0].text, heads[1:], widths, False, style="bold")]
    for section in grid.sections:
        lines.append(_rule(grid, widths))
        lines += [_line(grid, row.label, row.cells, widths, starred) for row in section]
    return lines


def _line(
    grid: Grid, label: str, cells: Sequence[Text], widths: dict[int, int], starred: bool, style: str = ""
) -> Styled:
    line = Styled(_padded(label, widths[0], left=True), style)
    for column, width in widths.items():
        if column:
            cell = cells[column - 1]
            line.append(RULED if _ruled(grid, column) else GAP, "dim")
            line.append(_padded(_shown(cell, starred), width, left=column in grid.words), _style(cell))
    return line


def _rule(grid: Grid, widths: dict[int, int]) -> Styled:
    parts = []
    for column, width in widths.items():
        if column:
            parts.append("─┼─" if _ruled(grid, column) else "─" * len(GAP))
        parts.append("─" * width)
    return Styled("".join(parts), "dim")


def _width(grid: Grid, column: int, starred: bool) -> int:
    rows: list[GridRow] = [row for section in grid.sections for row in section]
    texts = [row.label for row in rows] if column == 0 else [_shown(row.cells[column - 1], starred) for row in rows]
    return max(cell_len(text) for text in (grid.heads[column], *texts))


def _padded(text: str, width: int, left: bool) -> str:
    space = " " * (width - cell_len(text))
    return text + space if left else space + text


def _shown(cell: Text, starred: bool) -> str:
    return ("*" if starred and cell.bold else "") + cell.text


def _style(cell: Text) -> str:
    return "bold green" if cell.bold else "dim yellow" if cell.faint else ""


def _ruled(grid: Grid, column: int) -> bool:
    return grid.apart and column == len(grid.heads) - 1
