"""Tables as one long, tidy CSV: a line for every number, at full precision; accuracies as shares.

    protocol,table,group,row,column,repeat,statistic,value
    digits,accuracy,CORAL,CORAL + ORDERED,average,,mean,0.8125
    digits,accuracy,CORAL,CORAL + ORDERED,average,0,value,0.79
    digits,comparison,CORAL,CORAL + ORDERED,CORAL,,difference,0.03

``column`` is a task or "average" (accuracy), a protocol (time), or the row that is compared with (comparison).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from orda.experiments.tables.model import Cell, Comparison, Comparisons, Table

HEAD = ("protocol", "table", "group", "row", "column", "repeat", "statistic", "value")
Number = float | int | None
Line = tuple[str | Number, ...]


def to_csv(tables: Iterable[Table | Comparisons]) -> str:
    """All numbers of some tables."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEAD)
    for table in tables:
        writer.writerows(_table(table) if isinstance(table, Table) else _comparisons(table))
    return out.getvalue()


def _table(table: Table) -> Iterator[Line]:
    for line in table.lines:
        for column, cell in zip(table.columns, line.cells, strict=True):
            protocol = table.protocol if table.kind == "accuracy" else column.key
            place = (protocol, table.kind, line.group, line.name, column.key)
            yield from (place + rest for rest in _cell(cell) if cell.asked)


def _cell(cell: Cell) -> Iterator[Line]:
    yield from (
        ("", name, value)
        for name, value in (
            ("mean", cell.mean),
            ("standard error", cell.error),
            ("repeats", len(cell.values)),
            ("repeats asked", cell.asked),
            ("diverged", cell.diverged),
        )
    )
    yield from ((repeat, "value", value) for repeat, value in cell.values.items())


def _comparisons(comparisons: Comparisons) -> Iterator[Line]:
    for item in comparisons.items:
        place = (comparisons.protocol, "comparison", item.group, item.row, item.against)
        yield from (place + rest for rest in _comparison(item))


def _comparison(item: Comparison) -> Iterator[Line]:
    summary: dict[str, Number] = {
        "difference": item.difference,
        "interval low": item.low,
        "interval high": item.high,
        "wins": item.wins,
        "ties": item.ties,
        "losses": item.losses,
        "sign test p": item.p,
        "repeats": len(item.values),
        "repeats asked": item.asked,
    }
    yield from (("", name, value) for name, value in summary.items())
    yield from ((repeat, "value", value) for repeat, value in item.values.items())
