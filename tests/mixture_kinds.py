"""Mixtures of Gaussians with each structure of covariances, by what they are made with."""

from functools import partial

from sgevidence.mixture.components import FullGaussian, SphericalGaussian
from sgevidence.mixture.models import MixtureModel

FullMixture = partial(MixtureModel, component=FullGaussian)
SphericalMixture = partial(MixtureModel, component=SphericalGaussian)
