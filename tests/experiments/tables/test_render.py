"""Every format holds every number once, survives every character, and has the structure that its readers expect."""

from __future__ import annotations

import csv
import io
import random
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from experiments.made import PROTOCOL, TASKS, results, score
from experiments.tables.test_accuracy import made_up
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from orda.experiments.tables import (
    AVERAGE,
    Comparisons,
    Grid,
    Results,
    Table,
    accuracy_table,
    comparison_table,
    grid_of,
    styled_lines,
    time_table,
    to_csv,
    to_document,
    to_html,
    to_latex,
    to_markdown,
    to_page,
    to_text,
)
from orda.experiments.tables.grid import GridRow, Text
from orda.experiments.tables.render import html, latex, markdown

NASTY = 'a|b & 100% $x_1$ #{~^\\} <i>"it\'s"</i> `*_[2 of 3]\n→ − ± λ'


def nasty() -> Grid:
    row = GridRow(NASTY, NASTY, (Text(NASTY, bold=True), Text("", faint=True)))
    return Grid(NASTY, (NASTY, NASTY, NASTY), ((row,), (row, row)), (NASTY,), NASTY, apart=True)


@pytest.fixture(scope="module")
def found() -> Results:
    return results(made_up(11, 0.05, 0.1))


@pytest.fixture(scope="module")
def tables(found: Results) -> list[Table | Comparisons]:
    return [accuracy_table(found), time_table([found]), comparison_table(found)]


@pytest.fixture(scope="module")
def grids(tables: list[Table | Comparisons]) -> list[Grid]:
    return [*map(grid_of, tables), nasty()]


def rows_of(grid: Grid) -> list[GridRow]:
    return [row for section in grid.sections for row in section]


# ---- text ---------------------------------------------------------------------------------------------------------


def test_plain_text() -> None:
    data = results(lambda p: score(0.5 + 0.1 * p.repeat + 0.2 * (p.label == "+ ORDERED")))
    expected = """\
Accuracy on the digits

Method             R-H          H-R │     Average
────────────────────────────────────┼────────────
ERM        *60.0 ± 5.8  *60.0 ± 5.8 │ *60.0 ± 5.8
MCC        *60.0 ± 5.8  *60.0 ± 5.8 │ *60.0 ± 5.8
────────────────────────────────────┼────────────
CORAL       60.0 ± 5.8   60.0 ± 5.8 │  60.0 ± 5.8
+ VaRDASS   60.0 ± 5.8   60.0 ± 5.8 │  60.0 ± 5.8
+ ORDERED  *80.0 ± 5.8  *80.0 ± 5.8 │ *80.0 ± 5.8
────────────────────────────────────┼────────────
MMD         60.0 ± 5.8   60.0 ± 5.8 │  60.0 ± 5.8
+ ORDERED  *80.0 ± 5.8  *80.0 ± 5.8 │ *80.0 ± 5.8

* the best of its group"""
    assert to_text(grid_of(accuracy_table(data))).startswith(expected)


@pytest.mark.parametrize("width", [30, 44, 60, 200])
def test_a_narrow_terminal_gets_panels(grids: list[Grid], width: int) -> None:
    for grid in grids[:3]:
        lines = [line.plain for line in styled_lines(grid, width)]
        body = lines[1 : -len(grid.told())]
        tops = [line for line in body if line.startswith(grid.heads[0])]
        for number, head in enumerate(grid.heads):
            assert sum(head in line for line in tops) == (len(tops) if number in grid.words else 1)
        for row in rows_of(grid):
            for cell in row.cells:
                assert any(line.startswith(row.label) and cell.text in line for line in body)
        fixed = [[grid.heads[0], *(row.label for row in rows_of(grid))]]
        fixed += [[row.cells[n - 1].text for row in rows_of(grid)] for n in grid.words if n]
        widest = max(len(cell.text) for row in rows_of(grid) for cell in row.cells)
        if width >= sum(max(map(len, texts)) + 2 for texts in fixed) + widest + 20:
            assert max(map(len, lines[1:])) <= width


def test_colour_only_where_the_console_has_it(grids: list[Grid]) -> None:
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, color_system="standard" if terminal else None)
        for line in styled_lines(grids[0], 200):
            console.print(line)
        assert ("\x1b[" in console.file.getvalue()) == terminal  # type: ignore[attr-defined]


# ---- Markdown -----------------------------------------------------------------------------------------------------


def test_markdown_has_a_cell_for_every_cell(grids: list[Grid]) -> None:
    for grid in grids:
        lines = [line for line in to_markdown(grid).splitlines() if line.startswith("|")]
        assert len(lines) == 2 + len(rows_of(grid))
        for line, row in zip(lines[2:], rows_of(grid), strict=True):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            assert len(cells) == len(grid.heads)
            assert cells[0] == markdown.escape(row.name)
            for text, cell in zip(cells[1:], row.cells, strict=True):
                assert text == (f"**{markdown.escape(cell.text)}**" if cell.bold else markdown.escape(cell.text))


# ---- LaTeX --------------------------------------------------------------------------------------------------------


def test_latex_has_the_structure_of_a_table(grids: list[Grid]) -> None:
    for grid in grids:
        text = to_latex(grid, label="tab:one")
        assert text.isascii()
        begun, ended = (re.findall(rf"\\{word}\{{([a-z*]+)\}}", text) for word in ("begin", "end"))
        assert begun == ended[::-1]
        assert begun == ["table*" if len(grid.heads) > 5 else "table", "tabular"]
        body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
        rows = [line for line in body.splitlines() if line.endswith(r" \\")]
        assert len(rows) == 1 + len(rows_of(grid))
        assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(grid.heads) - 1}
        assert body.count(r"\midrule") == len(grid.sections)
        assert text.count(r"\label{tab:one}") == 1
        letters = re.search(r"\\begin\{tabular\}\{@\{\}([lc|]+)@\{\}\}", text)
        assert letters
        assert len(letters[1].replace("|", "")) == len(grid.heads)
        assert letters[1].count("|") == 1 + grid.apart


@given(st.text(st.sampled_from(sorted({*NASTY, *"abc ", *latex.SYMBOLS}))))
def test_latex_escapes_leave_nothing_that_acts(text: str) -> None:
    """Without the commands that escaping writes, no special character is left, and braces are paired."""
    found = latex.escape(text)
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", found):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    left = re.sub(r"\$\\[a-z]+\$|\$-\$|\$\^\\dagger\$|\\[a-z]+\{\}|\\[{}&%$#_]|\{[\[\]]\}", "", found)
    assert not set(left) & set("\\{}&%$#_~^<>|[]")


def test_a_latex_document_holds_its_tables(grids: list[Grid]) -> None:
    text = to_document([to_latex(grid) for grid in grids])
    assert text.startswith(r"\documentclass")
    assert text.count(r"\begin{tabular}") == len(grids)
    assert text.endswith("\\end{document}\n")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here: texlive-latex-recommended has it")
def test_latex_compiles(grids: list[Grid], tmp_path: Path) -> None:
    """Every table, one with every awkward character among them, without an error or a missing character."""
    texts = [to_latex(grid, label=f"tab:{number}") for number, grid in enumerate(grids)]
    (tmp_path / "tables.tex").write_text(to_document(texts))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    log = (tmp_path / "tables.log").read_text(errors="replace")
    assert "Missing character" not in log
    assert "undefined" not in log
    assert (tmp_path / "tables.pdf").stat().st_size > 10_000


# ---- HTML ---------------------------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Checks that tags nest, and collects the cells."""

    VOID = frozenset({"meta"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[list[str]] = []
        self.seen: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[tag] = self.seen.get(tag, 0) + 1
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1][-1] += data


def test_html_says_what_the_grid_says(grids: list[Grid]) -> None:
    for grid in grids:
        reader = Reader()
        reader.feed(to_html(grid))
        reader.close()
        assert not reader.open
        assert reader.cells[0] == list(grid.heads)
        assert reader.cells[1:] == [[row.label, *(cell.text for cell in row.cells)] for row in rows_of(grid)]
        assert reader.seen["tbody"] == len(grid.sections)
        assert reader.seen["li"] == len(grid.told())
        assert "i" not in reader.seen


def test_a_page_stands_alone(grids: list[Grid]) -> None:
    page = to_page([to_html(grid) for grid in grids], "Tables & <more>")
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    assert reader.seen["figure"] == len(grids)
    assert "<title>Tables &amp; &lt;more&gt;</title>" in page
    assert html.STYLE.strip() in page
    assert not re.search(r"https?:|<script|<link|@import|url\(", page)


# ---- CSV ----------------------------------------------------------------------------------------------------------


def test_csv_gives_back_every_number(found: Results, tables: list[Table | Comparisons]) -> None:
    lines = list(csv.DictReader(io.StringIO(to_csv(tables))))
    assert {line["table"] for line in lines} == {"accuracy", "time", "comparison"}
    assert {line["protocol"] for line in lines} == {"made"}

    def value(**wanted: object) -> float | None:
        (line,) = [line for line in lines if all(line[key] == str(it) for key, it in wanted.items())]
        return float(line["value"]) if line["value"] else None

    table = accuracy_table(found)
    for row in table.lines:
        for column in (*TASKS, AVERAGE):
            cell = table.cell(row.name, column)
            place = {"table": "accuracy", "row": row.name, "column": column}
            assert value(**place, statistic="mean") == cell.mean
            assert value(**place, statistic="standard error") == cell.error
            assert value(**place, statistic="repeats") == len(cell.values)
            for repeat, share in cell.values.items():
                assert value(**place, statistic="value", repeat=repeat) == share
    paired = tables[2]
    assert isinstance(paired, Comparisons)
    for item in paired.items:
        place = {"table": "comparison", "row": item.row, "column": item.against}
        assert value(**place, statistic="difference") == item.difference
        assert value(**place, statistic="sign test p") == item.p


def test_csv_quotes_what_it_must() -> None:
    groups = {"G": {'a, "b"\nc': {"algorithm": "erm"}}}
    text = to_csv([accuracy_table(results(lambda p: score(random.Random(0).random()), {**PROTOCOL, "groups": groups}))])
    assert {line["row"] for line in csv.DictReader(io.StringIO(text))} == {'a, "b"\nc'}
