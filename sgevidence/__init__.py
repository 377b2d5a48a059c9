"""Online log evidence of Bayesian models as a scikit-learn attribute.

Log evidences, their standard errors and Bayes factors are in nats throughout.
"""

from .averaging import EvidenceModelAverager
from .estimators import BayesianGMM, BayesianLinearRegression, BayesianModel, BayesianSoftmaxRegression
from .model_selection import FullData, evidence_scorer
from .samplers import SGAIS, DivergenceError, EvidenceWarning

__version__ = "0.1.0"

__all__ = [
    "BayesianLinearRegression",
    "BayesianSoftmaxRegression",
    "BayesianGMM",
    "BayesianModel",
    "EvidenceModelAverager",
    "evidence_scorer",
    "FullData",
    "SGAIS",
    "DivergenceError",
    "EvidenceWarning",
]
