"""The page around the sections: nothing in it asks the network, and nothing in it is a script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from string import Template

from orda import __version__
from orda.experiments.report.html import count
from orda.experiments.report.sheet import style_sheet

PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="orda $version">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>$title</title>
<style>
$style</style>
</head>
<body>
<header>
<p class="kind">orda report</p>
<h1>$title</h1>
$contents</header>
<main>
$body</main>
<footer><p>Made by <code>orda report</code>, orda $version. One file that asks the network for nothing.</p></footer>
</body>
</html>
""")


def page(title: str, contents: Iterable[tuple[str, str]], body: Sequence[str]) -> str:
    """The whole document; ``contents``: anchors and titles of its sections."""
    links = "".join(f'<li><a href="#{escape(anchor)}">{escape(text)}</a></li>\n' for anchor, text in contents)
    return PAGE.substitute(
        title=escape(title),
        version=escape(__version__),
        style=style_sheet(),
        contents=f'<nav aria-label="Contents">\n<ul>\n{links}</ul>\n</nav>\n' if links else "",
        body="".join(body),
    )


def title_of(names: Sequence[str]) -> str:
    """A title for chapters of these names."""
    return names[0] if len(names) == 1 else f"{count(len(names), 'sweep')}: {', '.join(names)}"
