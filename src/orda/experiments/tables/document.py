"""From sweeps to a document: which tables, in which order, in which format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from orda.errors import SettingError
from orda.experiments.select import Selection
from orda.experiments.tables.accuracy import accuracy_table
from orda.experiments.tables.comparisons import comparison_table
from orda.experiments.tables.grid import Errors, Grid, Scope, comparison_grid, table_grid
from orda.experiments.tables.model import Comparisons, Table
from orda.experiments.tables.render import to_csv, to_document, to_html, to_latex, to_markdown, to_page, to_text
from orda.experiments.tables.results import Results
from orda.experiments.tables.times import time_table

Which = Literal["accuracy", "time", "comparisons", "all"]
Format = Literal["text", "markdown", "latex", "html", "csv"]
AnyTable = Table | Comparisons


def make_tables(
    sweeps: Sequence[Results],
    which: Which = "all",
    *,
    against: Sequence[str] = (),
    selection: Selection = Selection.SOURCE_VALIDATION,
    unfinished: bool = False,
) -> list[AnyTable]:
    """As in the paper: the accuracies of every sweep, then the times of all. Then the comparisons of every sweep."""
    found: list[AnyTable] = []
    if which in ("accuracy", "all"):
        found += [accuracy_table(results, selection, unfinished) for results in sweeps]
    if which in ("time", "all"):
        found.append(time_table(sweeps, unfinished=unfinished))
    if which in ("comparisons", "all"):
        compared = [comparison_table(results, against, selection, unfinished) for results in sweeps]
        found += [comparisons for comparisons in compared if comparisons.items]
    if not found:
        raise SettingError(
            "without --against there must be groups that compare samplers: one algorithm, uniform and other samplers",
            f"none in {', '.join(results.protocol.name for results in sweeps)}",
            "Name the row to compare with: --against ROW",
        )
    return found


def grid_of(table: AnyTable, best: Scope = "group", errors: Errors = "all") -> Grid:
    """What is printed of a table."""
    return table_grid(table, best, errors) if isinstance(table, Table) else comparison_grid(table)


def write_tables(
    tables: Sequence[AnyTable],
    form: Format,
    *,
    best: Scope = "group",
    errors: Errors = "all",
    fragment: bool | None = None,
) -> str:
    """The tables as one text; ``fragment``: as parts for a document (None: in LaTeX but not in HTML)."""
    if form == "csv":
        return to_csv(tables)
    grids = [grid_of(table, best, errors) for table in tables]
    if form == "latex":
        parts = [to_latex(grid) for grid in grids]
        return to_document(parts) if fragment is False else "\n".join(parts)
    if form == "html":
        parts = [to_html(grid) for grid in grids]
        return "\n".join(parts) if fragment else to_page(parts, grids[0].title)
    return "\n".join(to_markdown(grid) if form == "markdown" else to_text(grid) for grid in grids)
