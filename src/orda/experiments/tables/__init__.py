"""The paper's tables, from the records of sweeps.

sweeps = load_results(Store("runs"))             # the sweeps in a folder
table = accuracy_table(sweeps[0])                # Table I or II; table.cell("CORAL + ORDERED", "average").mean
times = time_table(sweeps)                       # Table III, one column a sweep
paired = comparison_table(sweeps[0])             # samplers against each other in pairs
print(to_text(grid_of(table)))                   # or to_markdown, to_latex, to_html
"""

from orda.experiments.select import Selection
from orda.experiments.tables.accuracy import accuracy_table
from orda.experiments.tables.comparisons import compare, comparison_table
from orda.experiments.tables.document import AnyTable, Format, Which, grid_of, make_tables, write_tables
from orda.experiments.tables.grid import Errors, Grid, Scope, comparison_grid, table_grid
from orda.experiments.tables.model import AVERAGE, Cell, Column, Comparison, Comparisons, Line, Table
from orda.experiments.tables.render import (
    STYLE,
    styled_lines,
    to_csv,
    to_document,
    to_html,
    to_latex,
    to_markdown,
    to_page,
    to_text,
)
from orda.experiments.tables.results import Results, load_results
from orda.experiments.tables.times import time_table

__all__ = [
    "AVERAGE",
    "STYLE",
    "AnyTable",
    "Cell",
    "Column",
    "Comparison",
    "Comparisons",
    "Errors",
    "Format",
    "Grid",
    "Line",
    "Results",
    "Scope",
    "Selection",
    "Table",
    "Which",
    "accuracy_table",
    "compare",
    "comparison_grid",
    "comparison_table",
    "grid_of",
    "load_results",
    "make_tables",
    "styled_lines",
    "table_grid",
    "time_table",
    "to_csv",
    "to_document",
    "to_html",
    "to_latex",
    "to_markdown",
    "to_page",
    "to_text",
    "write_tables",
]
