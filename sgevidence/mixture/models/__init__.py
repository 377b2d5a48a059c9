"""Mixtures as densities of θ and rows."""

from ._categorical import CategoricalMixtureModel
from ._gaussian import MixtureModel

__all__ = ["CategoricalMixtureModel", "MixtureModel"]
