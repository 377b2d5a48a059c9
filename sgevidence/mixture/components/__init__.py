"""Families of components, each an exponential family with its conjugate prior."""

from ._categorical import Categorical, CategoricalParameters
from ._component import ComponentFamily
from ._gaussians import (
    DiagonalGaussian,
    FullGaussian,
    GaussianParameters,
    SphericalGaussian,
    without_gaps,
)
from ._poisson import PoissonGamma
from ._precision_factors import below, loses_digits, pairs, times_root, unit_lower

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
    "pairs",
    "times_root",
    "unit_lower",
    "without_gaps",
]
