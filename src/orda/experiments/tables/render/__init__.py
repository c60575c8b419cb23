"""Tables as text, Markdown, LaTeX, HTML and CSV."""

from orda.experiments.tables.render.csv import to_csv
from orda.experiments.tables.render.html import STYLE, to_html, to_page
from orda.experiments.tables.render.latex import to_document, to_latex
from orda.experiments.tables.render.markdown import to_markdown
from orda.experiments.tables.render.text import styled_lines, to_text

__all__ = ["STYLE", "styled_lines", "to_csv", "to_document", "to_html", "to_latex", "to_markdown", "to_page", "to_text"]
