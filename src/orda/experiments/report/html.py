"""Pieces of a page. What they are given as ``…html`` is markup; every other text is escaped here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

UNITS = re.compile(r"(\d) (%|(?:s|min|h|points|times|repeats?|runs?)\b)")


def section(anchor: str, title: str, *html: str, level: int = 2) -> str:
    """A part of the page under a heading."""
    content = "".join(html)
    return f'<section id="{escape(anchor)}">\n<h{level}>{escape(title)}</h{level}>\n{content}</section>\n'


def paragraph(text: str, cls: str = "") -> str:
    return f"<p{_class(cls)}>{prose(text)}</p>\n"


def note(text: str) -> str:
    """What is missing, or what a reader should beware of."""
    return f'<p class="note" role="note">{escape(text)}</p>\n'


def bullets(texts: Iterable[str], cls: str = "") -> str:
    return f"<ul{_class(cls)}>\n" + "".join(f"<li>{prose(text)}</li>\n" for text in texts) + "</ul>\n"


def figure(caption: str, panels: Sequence[tuple[str, str]], legend_html: str = "", cls: str = "") -> str:
    """Panels (title, html) beside one another, as many as there is room for; their legend above, the caption below."""
    shown = "".join(
        f'<div class="cell">{f"<h4>{escape(title)}</h4>" if title else ""}{html}</div>\n' for title, html in panels
    )
    named = " ".join(part for part in ("figure", cls) if part)
    return (
        f'<figure class="{named}">\n{legend_html}<div class="cells">\n{shown}</div>\n'
        f"<figcaption>{prose(caption)}</figcaption>\n</figure>\n"
    )


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """A table that scrolls inside its own box; ``words``: its columns of words, the others hold numbers."""

    def cell(tag: str, number: int, text: str, more: str = "") -> str:
        cls = ' class="text"' if number in words else ""
        return f"<{tag}{more}{cls}>{escape(text)}</{tag}>"

    head = "".join(cell("th", number, text, ' scope="col"') for number, text in enumerate(heads))
    body = "".join(
        "<tr>"
        + "".join(cell("td" if i else "th", i, text, "" if i else ' scope="row"') for i, text in enumerate(row))
        + "</tr>\n"
        for row in rows
    )
    return (
        f'<figure class="orda-table">\n<div class="scroll" tabindex="0" role="group" aria-label="{escape(caption)}">\n'
        f"<table>\n<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n"
        "</table>\n</div>\n</figure>\n"
    )


def side_by_side(*html: str) -> str:
    """Beside one another where the page is wide, else one below the other; one alone as it is."""
    shown = [part for part in html if part]
    if len(shown) < 2:
        return "".join(shown)
    return '<div class="side">\n' + "".join(f"<div>{part}</div>\n" for part in shown) + "</div>\n"


def details(summary: str, html: str) -> str:
    """What only some want to see; print shows it too where the browser lets it."""
    return f"<details>\n<summary>{escape(summary)}</summary>\n{html}</details>\n"


def code(text: str) -> str:
    """Lines to copy."""
    return f'<pre tabindex="0"><code>{escape(text)}</code></pre>\n'


def cards(items: Iterable[tuple[str, str, str]]) -> str:
    """Key figures: what it is, the number, what to know of it."""
    shown = "".join(
        f'<div class="card"><dt>{escape(what)}</dt><dd><b>{escape(number)}</b> <span>{escape(more)}</span></dd></div>\n'
        for what, number, more in items
    )
    return f'<dl class="cards">\n{shown}</dl>\n'


def count(number: int, what: str) -> str:
    """ "1 run", "2 runs"; "1,000 runs"."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def prose(text: str) -> str:
    """A text, escaped, in which no number is parted from its unit."""
    return UNITS.sub("\\1\u00a0\\2", escape(text))


def _class(cls: str) -> str:
    return f' class="{escape(cls)}"' if cls else ""
