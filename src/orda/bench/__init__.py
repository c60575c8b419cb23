"""``orda bench``: how long plans and training steps take on this machine, part by part, and beside what."""

from orda.bench.run import Bench, bench
from orda.bench.table import as_text

__all__ = ["Bench", "as_text", "bench"]
