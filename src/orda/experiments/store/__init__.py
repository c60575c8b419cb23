"""The folder of runs: what is queued, running, failed and done is told from the disk alone."""

from orda.experiments.store.claims import BEAT, PATIENCE, Claim
from orda.experiments.store.folder import Entry, Record, Score, State, Store

__all__ = ["BEAT", "PATIENCE", "Claim", "Entry", "Record", "Score", "State", "Store"]
