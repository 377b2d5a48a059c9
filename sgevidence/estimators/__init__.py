"""The scikit-learn face: fit, partial_fit, predict, log_evidence_."""

from ._custom import BayesianModel
from ._glm import BayesianGLM
from ._gmm import BayesianGMM
from ._linear_regression import BayesianLinearRegression
from ._softmax_regression import BayesianSoftmaxRegression

__all__ = [
    "BayesianGLM",
    "BayesianGMM",
    "BayesianLinearRegression",
    "BayesianModel",
    "BayesianSoftmaxRegression",
]
