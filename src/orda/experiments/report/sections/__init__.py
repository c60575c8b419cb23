"""The parts of a report, in its order: each a function from a chapter to HTML, empty where there is nothing to tell."""

from __future__ import annotations

from collections.abc import Callable

from orda.experiments.report.gather import Chapter
from orda.experiments.report.sections.accuracy import accuracy_section, comparisons_section
from orda.experiments.report.sections.again import again_section
from orda.experiments.report.sections.chosen import chosen_section
from orda.experiments.report.sections.curves import curves_section
from orda.experiments.report.sections.estimates import estimates_section
from orda.experiments.report.sections.pictures import pictures_section
from orda.experiments.report.sections.runs import runs_section
from orda.experiments.report.sections.summary import summary_section
from orda.experiments.report.sections.times import times_section

Section = Callable[[Chapter, str], str]

BEFORE: tuple[Section, ...] = (
    summary_section,
    accuracy_section,
    comparisons_section,
    curves_section,
    estimates_section,
    times_section,
)
AFTER: tuple[Section, ...] = (chosen_section, runs_section, again_section)  # pictures_section stands between them

__all__ = ["AFTER", "BEFORE", "Section", "pictures_section"]
