"""AdaptationLoader: two data sets + sampler + featuriser -> weighted minibatches, re-planning itself.

data sets ──extract──> Features ──sampler──> Plan ──read──> Batch, Batch, … (M of them, then again)
"""

from orda.loader.extract import extract_features
from orda.loader.loader import AdaptationLoader

__all__ = ["AdaptationLoader", "extract_features"]
