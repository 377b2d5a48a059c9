"""Mixtures as densities of θ and rows."""

from ._categorical import CategoricalMixtureModel
from ._diagonal import MixtureModel
from ._full import FullMixtureModel
from ._gaussian import GaussianMixture
from ._spherical import SphericalMixtureModel

__all__ = [
    "CategoricalMixtureModel",
    "FullMixtureModel",
    "GaussianMixture",
    "MixtureModel",
    "SphericalMixtureModel",
]
