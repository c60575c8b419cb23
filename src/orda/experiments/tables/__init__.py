"""The paper's tables, from the records of sweeps.

results = load_results(Store("runs"))            # the sweeps in a folder
table = accuracy_table(results[0])               # Table I or II; table.cell("CORAL + ORDERED", "average").mean
times = time_table(results)                      # Table III, one column a sweep
paired = compare(results[0])                     # samplers against each other in pairs
"""

from orda.experiments.select import Selection
from orda.experiments.tables.accuracy import accuracy_table
from orda.experiments.tables.comparisons import compare
from orda.experiments.tables.model import AVERAGE, Cell, Column, Comparison, Line, Table
from orda.experiments.tables.results import Results, load_results
from orda.experiments.tables.times import time_table

__all__ = [
    "AVERAGE",
    "Cell",
    "Column",
    "Comparison",
    "Line",
    "Results",
    "Selection",
    "Table",
    "accuracy_table",
    "compare",
    "load_results",
    "time_table",
]
