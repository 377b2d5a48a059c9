"""Online log evidence of Bayesian models as a scikit-learn attribute.

Log evidences, their standard errors and Bayes factors are in nats throughout.
"""

from .averaging import EvidenceModelAverager
from .bidirectional import BidirectionalError, bidirectional_error
from .estimators import BayesianGMM, BayesianLinearRegression, BayesianModel, BayesianSoftmaxRegression
from .exceptions import DivergenceError, EvidenceWarning
from .model_selection import FullData, evidence_scorer
from .monitoring import EvidenceMonitor
from .samplers import (
    AIS,
    SGAIS,
    SIR,
    Exact,
    HarmonicMean,
    Laplace,
    NestedSampling,
    PriorSampling,
    SequentialNestedSampling,
    SequentialSGMCMC,
)

__version__ = "0.1.0"

__all__ = [
    "BayesianLinearRegression",
    "BayesianSoftmaxRegression",
    "BayesianGMM",
    "BayesianModel",
    "EvidenceModelAverager",
    "EvidenceMonitor",
    "evidence_scorer",
    "FullData",
    "SGAIS",
    "AIS",
    "SIR",
    "bidirectional_error",
    "BidirectionalError",
    "SequentialSGMCMC",
    "NestedSampling",
    "SequentialNestedSampling",
    "PriorSampling",
    "HarmonicMean",
    "Laplace",
    "Exact",
    "DivergenceError",
    "EvidenceWarning",
]
