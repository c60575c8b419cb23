"""Tables in HTML: a fragment for a page of somebody's own, and a page that stands alone and asks no network."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from orda.experiments.tables.grid import Grid, GridRow, Text

STYLE = """
.orda-table { margin: 2rem 0; }
.orda-table .scroll { overflow-x: auto; }
.orda-table table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap;
  border-top: 2px solid; border-bottom: 2px solid; }
.orda-table caption { text-align: left; font-weight: 600; padding-bottom: .5rem; white-space: normal; }
.orda-table th, .orda-table td { padding: .25rem .75rem; text-align: right; }
.orda-table th[scope=row], .orda-table tr > :first-child { text-align: left; font-weight: normal; }
.orda-table thead th { font-weight: 600 !important; }
.orda-table tbody { border-top: 1px solid; }
.orda-table .apart { border-left: 1px solid; }
.orda-table .text { text-align: left; }
.orda-table td.best { font-weight: 700; }
.orda-table td.missing { opacity: .6; font-style: italic; }
.orda-table ul { font-size: .85rem; opacity: .85; max-width: 60rem; padding-left: 1.1rem; }
"""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 90rem; margin: 0 auto; padding: 1rem; }}
{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def to_html(grid: Grid) -> str:
    """One ``<figure class="orda-table">``; ``STYLE`` is the style sheet that it expects."""
    heads = "".join(_head(grid, number, head) for number, head in enumerate(grid.heads))
    bodies = "\n".join(
        "<tbody>\n" + "\n".join(_row(grid, row) for row in section) + "\n</tbody>" for section in grid.sections
    )
    notes = "\n".join(f"<li>{escape(note)}</li>" for note in grid.told())
    return (
        '<figure class="orda-table">\n<div class="scroll">\n<table>\n'
        f"<caption>{escape(grid.title)}</caption>\n<thead>\n<tr>{heads}</tr>\n</thead>\n{bodies}\n"
        f"</table>\n</div>\n<figcaption>\n<ul>\n{notes}\n</ul>\n</figcaption>\n</figure>\n"
    )


def to_page(fragments: Iterable[str], title: str) -> str:
    """A page of its own around some fragments."""
    return PAGE.format(title=escape(title), style=STYLE.lstrip(), body="\n".join(fragments))


def _head(grid: Grid, number: int, head: str) -> str:
    return f'<th scope="col"{_classes(grid, number)}>{escape(head)}</th>'


def _row(grid: Grid, row: GridRow) -> str:
    cells = "".join(_cell(grid, number, cell) for number, cell in enumerate(row.cells, start=1))
    return f'<tr><th scope="row">{escape(row.label)}</th>{cells}</tr>'


def _cell(grid: Grid, number: int, cell: Text) -> str:
    return f"<td{_classes(grid, number, cell)}>{escape(cell.text)}</td>"


def _classes(grid: Grid, number: int, cell: Text | None = None) -> str:
    wanted = {
        "apart": grid.apart and number == len(grid.heads) - 1,
        "text": number > 0 and number in grid.words,
        "best": cell is not None and cell.bold,
        "missing": cell is not None and cell.faint,
    }
    names = " ".join(name for name, holds in wanted.items() if holds)
    return f' class="{names}"' if names else ""
