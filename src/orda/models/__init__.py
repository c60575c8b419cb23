"""Models h = g ∘ f: a featuriser f and a head g, apart always."""

from orda.models.base import Model

__all__ = ["Model"]
