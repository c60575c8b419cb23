"""One page that tells of a folder of runs: ``write_report("runs")`` or ``orda report runs``.

folder ──gather──> chapters ──sections──> HTML with inline SVG ──page──> report.html
"""

from orda.experiments.report.gather import Chapter, RunView, gather
from orda.experiments.report.write import make_report, write_report

__all__ = ["Chapter", "RunView", "gather", "make_report", "write_report"]
