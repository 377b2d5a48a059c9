"""A user's own model: functions of θ and rows, with a prior by name, by transform or by density."""

from ._estimator import BayesianModel
from ._model import CustomModel, dimension_of
from ._named_priors import NamedPriors
from ._other_priors import PlainParameters, PriorTransform
from ._row_function import RowFunction, standard_log_density, standard_normals
from ._user_function import check_shape

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
