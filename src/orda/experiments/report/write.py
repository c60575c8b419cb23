"""A folder of runs becomes one page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path

from orda.experiments.report.gather import Chapter, gather
from orda.experiments.report.html import section
from orda.experiments.report.page import page, title_of
from orda.experiments.report.sections import AFTER, BEFORE, pictures_section
from orda.training.paths import faults_named, write_whole

NAME = "report.html"


def write_report(
    runs_dir: str | Path,
    out: str | Path | None = None,
    *,
    protocols: Sequence[str] = (),
    only: Sequence[str] = (),
    title: str | None = None,
    pictures: bool = True,
    progress: bool | None = None,
) -> Path:
    """Write one self-contained HTML page about finished runs; where it is.

    ``runs_dir``   the folder of a sweep, of runs of ``orda train``, or of one such run
    ``out``        the page's file; by default ``report.html`` in ``runs_dir``
    ``protocols``  the sweeps of the folder that it tells of, by name; by default all
    ``only``       the part of the runs, as in ``orda tables --only``: ("row=CORAL*", "repeat=0")
    ``pictures``   maps of the features and images of the strata, which take the kept models and the data
    ``progress``   a bar; ``None``: where standard error is a terminal

    The same runs make the same bytes. Raises ``RunError`` where there is nothing to tell of.
    """
    folder = Path(runs_dir)
    file = folder / NAME if out is None else Path(out)
    text = make_report(gather(folder, protocols, only), title=title, pictures=pictures, progress=progress)
    with faults_named(f"cannot write {file}", "Choose another file (--out)"):
        file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, text.encode())
    return file


def make_report(
    chapters: Sequence[Chapter], *, title: str | None = None, pictures: bool = True, progress: bool | None = None
) -> str:
    """The page as text."""
    body = []
    for number, chapter in enumerate(chapters, start=1):
        anchor = "" if len(chapters) == 1 else f"sweep-{number}"
        sections = make_sections(chapter, f"{anchor}-" if anchor else "", pictures, progress)
        body.append(section(anchor, chapter.title, *map(_lowered, sections)) if anchor else "".join(sections))
    return page(title or title_of([chapter.title for chapter in chapters]), _contents(body), body)


def make_sections(chapter: Chapter, prefix: str, pictures: bool, progress: bool | None) -> list[str]:
    """The sections of a chapter, one after another; ``prefix`` goes before their anchors."""
    made = [make(chapter, prefix) for make in BEFORE]
    if pictures:
        made.append(pictures_section(chapter, prefix, progress))
    return made + [make(chapter, prefix) for make in AFTER]


def _lowered(html: str) -> str:
    """The headings of a section one level down."""
    return re.sub(r"(</?h)([234])>", lambda found: f"{found[1]}{int(found[2]) + 1}>", html)


def _contents(body: Sequence[str]) -> list[tuple[str, str]]:
    """Anchors and titles of the sections under headings of the second level."""
    found = re.findall(r'<section id="([^"]+)">\n<h2>(.*?)</h2>', "".join(body))
    return [(unescape(anchor), unescape(text)) for anchor, text in found]
