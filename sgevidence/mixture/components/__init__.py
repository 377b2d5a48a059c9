"""Families of components, each an exponential family with its conjugate prior."""

from ._categorical import Categorical, CategoricalParameters
from ._component import ComponentFamily
from ._full_gaussian import FullGaussian
from ._gaussian_component import GaussianComponent, GaussianParameters, without_gaps
from ._poisson import PoissonGamma
from ._variance_gaussians import DiagonalGaussian, SphericalGaussian

__all__ = [
    "Categorical",
    "CategoricalParameters",
    "ComponentFamily",
    "DiagonalGaussian",
    "FullGaussian",
    "GaussianParameters",
    "PoissonGamma",
    "SphericalGaussian",
    "GaussianComponent",
    "without_gaps",
]
