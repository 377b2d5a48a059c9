"""A user's own model: functions of θ and rows, with a prior by name, by transform or by density."""

from ._estimator import BayesianModel
from ._model import CustomModel, dimension_of
from ._parameters import NamedPriors, PlainParameters, PriorTransform
from ._user_function import RowFunction, check_shape, standard_log_density, standard_normals

__all__ = [
    "BayesianModel",
    "CustomModel",
    "NamedPriors",
    "PlainParameters",
    "PriorTransform",
    "RowFunction",
    "check_shape",
    "dimension_of",
    "standard_log_density",
    "standard_normals",
]
