"""Engines: where the runs of a sweep are done. The same function in each, and the same folder of results."""

from orda.experiments.engine.base import Ended, Engine
from orda.experiments.engine.inline import Inline
from orda.experiments.engine.local import LocalProcesses
from orda.experiments.engine.summary import Summary, survey
from orda.experiments.engine.sweep import RETRIES, run_sweep

__all__ = ["RETRIES", "Ended", "Engine", "Inline", "LocalProcesses", "Summary", "run_sweep", "survey"]
