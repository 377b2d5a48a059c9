"""What is believed: priors and likelihoods, differentiated by autograd."""

from ._base import Model
from ._conditioning import MAX_CONDITION, condition, condition_of_factors, far_columns
from ._count_families import Bernoulli, Binomial, NegativeBinomial, Poisson, ZeroInflatedPoisson
from ._custom import CustomModel, dimension_of
from ._evaluation import value_and_grad
from ._families import Family, Gamma, Gaussian, StudentT
from ._far_columns import FarColumns, near
from ._glm import FAMILIES, GLMModel
from ._linear import LinearModel
from ._mixture import MixtureModel
from ._softmax import SoftmaxModel

__all__ = [
    "FAMILIES",
    "MAX_CONDITION",
    "Bernoulli",
    "Binomial",
    "CustomModel",
    "Family",
    "FarColumns",
    "GLMModel",
    "Gamma",
    "Gaussian",
    "LinearModel",
    "MixtureModel",
    "Model",
    "NegativeBinomial",
    "Poisson",
    "SoftmaxModel",
    "StudentT",
    "ZeroInflatedPoisson",
    "condition",
    "condition_of_factors",
    "dimension_of",
    "far_columns",
    "near",
    "value_and_grad",
]
