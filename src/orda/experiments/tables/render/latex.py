"""Tables in LaTeX, with booktabs, as in the paper: ``\\usepackage{booktabs}`` is all that it needs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from orda.experiments.tables.grid import Grid, GridRow, Text

WIDE = 4  # a table with more columns of numbers goes over both columns of a page
HEAD = (
    r"\documentclass{article}",
    r"\usepackage{booktabs}",
    r"\usepackage[landscape,margin=1cm]{geometry}",
)
SYMBOLS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "[": "{[}",  # after \\ it would begin an option
    "]": "{]}",
    "±": r"$\pm$",
    "−": r"$-$",
    "×": r"$\times$",
    "→": r"$\rightarrow$",
    "λ": r"$\lambda$",
    "√": r"$\surd$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "†": r"$^\dagger$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
}
PATTERN = re.compile("|".join(map(re.escape, SYMBOLS)))


def escape(text: str) -> str:
    """The text as LaTeX shows it; characters that it knows in UTF-8 stay as they are."""
    return PATTERN.sub(lambda found: SYMBOLS[found[0]], " ".join(text.split()))


def to_latex(grid: Grid, label: str | None = None) -> str:
    """A floating table with its caption above and its notes below."""
    floats = "table*" if len(grid.heads) - 1 > WIDE else "table"
    lines = [
        r"% \usepackage{booktabs}",
        rf"\begin{{{floats}}}",
        r"\centering",
        r"\scriptsize",
        rf"\caption{{{escape(_sentence(grid.title))}}}",
        *([] if label is None else [rf"\label{{{label}}}"]),
        rf"\begin{{tabular}}{{@{{}}{_columns(grid)}@{{}}}}",
        r"\toprule",
        _line(rf"\textbf{{{escape(head)}}}" for head in grid.heads),
        *(line for section in grid.sections for line in (r"\midrule", *map(_row, section))),
        r"\bottomrule",
        r"\end{tabular}",
        "",
        r"\vspace{1ex}",
        r"\parbox{\linewidth}{\raggedright",
        "\n\n".join(escape(note) for note in grid.told()) + "}",
        rf"\end{{{floats}}}",
    ]
    return "\n".join(lines) + "\n"


def to_document(texts: Iterable[str]) -> str:
    """A document of its own around some tables."""
    return "\n".join([*HEAD, r"\begin{document}", *texts, r"\end{document}"]) + "\n"


def _columns(grid: Grid) -> str:
    letters = ["l" if number in grid.words else "c" for number in range(len(grid.heads))]
    letters[0] += "|"
    if grid.apart:
        letters[-1] = "|" + letters[-1]
    return "".join(letters)


def _row(row: GridRow) -> str:
    return _line([escape(row.label), *map(_cell, row.cells)])


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: Text) -> str:
    text = escape(cell.text)
    return rf"\textbf{{{text}}}" if cell.bold and text else text


def _sentence(title: str) -> str:
    return title if title.endswith((".", "?", "!")) else title + "."
