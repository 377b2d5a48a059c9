"""Mixtures of Gaussians with each structure of covariances, and laws of components by their features."""

from functools import partial

import numpy as np

from sgevidence.mixture.components import FullGaussian, SphericalGaussian
from sgevidence.mixture.models import MixtureModel

FullMixture = partial(MixtureModel, component=FullGaussian)
SphericalMixture = partial(MixtureModel, component=SphericalGaussian)


def prior_draws(family, rng, size):
    """Draws of a component's parameters before any row; arrays that begin with (size,)."""
    n_statistics = family.features(np.zeros((1, family.n_features))).shape[1]
    return family.sample(np.zeros((size, n_statistics)), rng)


def log_density(family, parameters, X):
    """Log density of each row (n, p) for each of the parameters, (..., n)."""
    return family.coefficients(parameters) @ family.features(X).T
