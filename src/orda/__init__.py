"""orda: unsupervised domain adaptation with ordered minibatches."""

__version__ = "0.1.0"
