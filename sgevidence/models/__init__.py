"""Models: priors and likelihoods, differentiated by autograd."""

from ._base import Model
from ._categorical import Categorical, CategoricalParameters
from ._categorical_mixture import CategoricalMixtureModel
from ._component import ComponentFamily
from ._conditioning import MAX_CONDITION, condition, condition_of_factors, far_columns
from ._count_families import Bernoulli, Binomial, NegativeBinomial, Poisson
from ._evaluation import NUMERICAL_ERRORS, value_and_grad
from ._exact_sums import ExactSums
from ._exchangeable import Exchangeable
from ._families import Family, Gamma, Gaussian, StudentT
from ._family_names import FAMILIES, refuse_no_counts, refuse_two_values
from ._far_columns import FarColumns, near
from ._full_gaussian import FullGaussian
from ._full_mixture import FullMixtureModel
from ._g_priors import RSCALES, GPrior, rscale_of
from ._gaussian_component import GaussianParameters
from ._gaussian_mixture import GaussianMixture
from ._glm import GLMModel
from ._joint_priors import LKJ, Dirichlet
from ._linear import LinearModel
from ._log_gamma import log_dirichlet, log_gamma_draws
from ._mixture import MixtureModel
from ._ordinal_family import Ordinal
from ._own_priors import FlatLogarithm, HalfStudentT, KnownValue, RootInverseGamma, from_normal
from ._permanents import log_permanent
from ._poisson_component import PoissonGamma
from ._proportion_family import Beta
from ._quantiles import quantile, resolved
from ._softmax import SoftmaxModel
from ._spherical_mixture import SphericalMixtureModel
from ._survival_families import ExponentialTimes, LogNormal, Times, Weibull
from ._variance_gaussians import DiagonalGaussian, SphericalGaussian
from ._zero_families import HurdlePoisson, ZeroInflatedNegativeBinomial, ZeroInflatedPoisson

__all__ = [
    "FAMILIES",
    "LKJ",
    "MAX_CONDITION",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "CategoricalMixtureModel",
    "CategoricalParameters",
    "ComponentFamily",
    "DiagonalGaussian",
    "Dirichlet",
    "ExactSums",
    "ExponentialTimes",
    "Family",
    "FarColumns",
    "FlatLogarithm",
    "FullGaussian",
    "FullMixtureModel",
    "GPrior",
    "GLMModel",
    "Gamma",
    "Gaussian",
    "GaussianMixture",
    "GaussianParameters",
    "HalfStudentT",
    "HurdlePoisson",
    "KnownValue",
    "LinearModel",
    "LogNormal",
    "MixtureModel",
    "Model",
    "NegativeBinomial",
    "Ordinal",
    "Poisson",
    "PoissonGamma",
    "RSCALES",
    "RootInverseGamma",
    "SoftmaxModel",
    "SphericalGaussian",
    "SphericalMixtureModel",
    "StudentT",
    "Times",
    "Weibull",
    "ZeroInflatedNegativeBinomial",
    "ZeroInflatedPoisson",
    "condition",
    "condition_of_factors",
    "far_columns",
    "from_normal",
    "log_dirichlet",
    "log_gamma_draws",
    "log_permanent",
    "near",
    "refuse_no_counts",
    "refuse_two_values",
    "rscale_of",
    "value_and_grad",
    "NUMERICAL_ERRORS",
    "Exchangeable",
    "quantile",
    "resolved",
]
