"""Online log evidence of Bayesian models as a scikit-learn attribute.

Log evidences, their standard errors and Bayes factors are in nats throughout.
"""

from .averaging import EvidenceModelAverager
from .bidirectional import BidirectionalError, bidirectional_error
from .estimators import (
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianModel,
    BayesianSoftmaxRegression,
)
from .exceptions import DivergenceError, EvidenceWarning, ImpossibleRowsError
from .model_selection import FullData, evidence_scorer
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
from .transitions import HMC, SGHMC, SGNHT, Escort, ModeSearch

__version__ = "0.1.0"

__all__ = [
    "BayesianLinearRegression",
    "BayesianSoftmaxRegression",
    "BayesianGLM",
    "BayesianGMM",
    "BayesianModel",
    "EvidenceModelAverager",
    "evidence_scorer",
    "FullData",
    "SGAIS",
    "HMC",
    "SGHMC",
    "SGNHT",
    "Escort",
    "ModeSearch",
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
    "ImpossibleRowsError",
]
