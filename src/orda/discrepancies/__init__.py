"""Domain discrepancies: what is estimated from minibatches."""

from orda.discrepancies.base import Discrepancy, Embedding
from orda.discrepancies.coral import CORAL
from orda.discrepancies.mmd import MMD

__all__ = ["CORAL", "MMD", "Discrepancy", "Embedding"]
