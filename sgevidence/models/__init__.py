"""Models: priors and likelihoods, differentiated by autograd."""

from ._base import Model
from ._categorical import Categorical, CategoricalParameters
from ._categorical_mixture import CategoricalMixtureModel
from ._component import ComponentFamily
from ._conditioning import MAX_CONDITION, condition, condition_of_factors, far_columns
from ._count_families import Bernoulli, Binomial, NegativeBinomial, Poisson
from ._custom import CustomModel, dimension_of
from ._evaluation import value_and_grad
from ._exact_sums import ExactSums
from ._families import Family, Gamma, Gaussian, StudentT
from ._family_names import FAMILIES
from ._far_columns import FarColumns, near
from ._forward import filtered, sample_states
from ._full_gaussian import FullGaussian
from ._full_mixture import FullMixtureModel
from ._g_priors import RSCALES, GPrior, rscale_of
from ._gaussian_component import GaussianParameters
from ._gaussian_mixture import GaussianMixture
from ._glm import GLMModel
from ._hidden_markov import HiddenMarkovModel
from ._joint_priors import LKJ, Dirichlet
from ._linear import LinearModel
from ._log_gamma import log_dirichlet, log_gamma_draws
from ._mixture import MixtureModel
from ._named_priors import NamedPriors
from ._ordinal_family import Ordinal
from ._other_priors import PlainParameters, PriorTransform
from ._own_priors import FlatLogarithm, HalfStudentT, KnownValue, RootInverseGamma, from_normal
from ._permanents import log_permanent
from ._poisson_component import PoissonGamma
from ._proportion_family import Beta
from ._row_function import RowFunction, standard_log_density, standard_normals
from ._softmax import SoftmaxModel
from ._spherical_mixture import SphericalMixtureModel
from ._survival_families import ExponentialTimes, LogNormal, Times, Weibull
from ._user_function import check_shape
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
    "CustomModel",
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
    "HiddenMarkovModel",
    "KnownValue",
    "LinearModel",
    "LogNormal",
    "MixtureModel",
    "Model",
    "NamedPriors",
    "NegativeBinomial",
    "Ordinal",
    "PlainParameters",
    "Poisson",
    "PoissonGamma",
    "PriorTransform",
    "RSCALES",
    "RootInverseGamma",
    "RowFunction",
    "SoftmaxModel",
    "SphericalGaussian",
    "SphericalMixtureModel",
    "StudentT",
    "Times",
    "Weibull",
    "ZeroInflatedNegativeBinomial",
    "ZeroInflatedPoisson",
    "check_shape",
    "condition",
    "condition_of_factors",
    "dimension_of",
    "far_columns",
    "filtered",
    "from_normal",
    "log_dirichlet",
    "log_gamma_draws",
    "log_permanent",
    "near",
    "rscale_of",
    "sample_states",
    "standard_log_density",
    "standard_normals",
    "value_and_grad",
]
