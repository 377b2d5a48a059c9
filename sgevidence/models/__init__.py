"""What is believed: priors and likelihoods, differentiated by autograd."""

from ._base import Model
from ._conditioning import MAX_CONDITION, condition, condition_of_factors, far_columns
from ._custom import CustomModel, dimension_of
from ._evaluation import value_and_grad
from ._far_columns import FarColumns, near
from ._glm import Family, GLMModel, Poisson
from ._linear import LinearModel
from ._mixture import MixtureModel
from ._softmax import SoftmaxModel

__all__ = [
    "MAX_CONDITION",
    "CustomModel",
    "Family",
    "FarColumns",
    "GLMModel",
    "LinearModel",
    "MixtureModel",
    "Model",
    "Poisson",
    "SoftmaxModel",
    "condition",
    "condition_of_factors",
    "dimension_of",
    "far_columns",
    "near",
    "value_and_grad",
]
