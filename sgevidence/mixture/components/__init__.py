"""Families of components, each an exponential family with its conjugate prior."""

from ._categorical import Categorical, CategoricalParameters
from ._component import ComponentFamily, without_gaps
from ._gaussians import (
    DiagonalGaussian,
    FullGaussian,
    GaussianParameters,
    SphericalGaussian,
)
from ._poisson import PoissonGamma
from ._precision_factors import below, loses_digits, n_later, pairs

__all__ = [
    "Categorical",
    "CategoricalParameters",
    "ComponentFamily",
    "DiagonalGaussian",
    "FullGaussian",
    "GaussianParameters",
    "PoissonGamma",
    "SphericalGaussian",
    "below",
    "loses_digits",
    "n_later",
    "pairs",
    "without_gaps",
]
