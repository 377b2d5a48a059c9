"""Mixtures with scikit-learn's methods."""

from ._every_k import error_covariance, one_walk
from ._gmm import BayesianGMM
from ._latent_classes import BayesianCategoricalMixture
from ._mixture import unclear_labels

__all__ = [
    "BayesianCategoricalMixture",
    "BayesianGMM",
    "error_covariance",
    "one_walk",
    "unclear_labels",
]
