"""Online log evidence of Bayesian models as a scikit-learn attribute.

Log evidences, their standard errors and Bayes factors are in nats throughout.
"""

from .averaging import EvidenceModelAverager
from .bidirectional import BidirectionalError, bidirectional_error
from .bridging import BridgeEvidence, bridge_evidence
from .displays import (
    CoefficientsDisplay,
    ComparisonDisplay,
    EffectsDisplay,
    EvidenceDisplay,
    InclusionProbabilitiesDisplay,
    MixtureDisplay,
    ModelProbabilitiesDisplay,
    PredictiveCheckDisplay,
    RunDisplay,
    SmoothDisplay,
    StatesDisplay,
    SurpriseDisplay,
    SurvivalDisplay,
    WeightsDisplay,
)
from .effects import Factor, Group, Interaction, Smooth, sub_formulas
from .estimators import (
    BayesianAutoregression,
    BayesianCategoricalMixture,
    BayesianGLM,
    BayesianGMM,
    BayesianHMM,
    BayesianLinearRegression,
    BayesianModel,
    BayesianSoftmaxRegression,
    merge,
)
from .exceptions import CallLimitError, DivergenceError, EvidenceWarning, ImpossibleRowsError, SavedFileError
from .feature_selection import EvidenceFeatureSelector
from .io import load, save, to_arviz
from .model_selection import (
    EvidenceSearch,
    FullData,
    compare,
    evidence_scorer,
    evidence_scorers,
    log_bayes_factor,
    predictive_check,
    prior_sensitivity,
    replicate,
    reweight_prior,
)
from .models import LKJ, Dirichlet
from .monitoring import EvidenceMonitor
from .rows import RowSource
from .samplers import (
    AIS,
    SGAIS,
    SIR,
    Exact,
    HarmonicMean,
    Laplace,
    MixtureEvidence,
    NestedSampling,
    PriorSampling,
    SequentialNestedSampling,
    SequentialSGMCMC,
    UntilPrecise,
)
from .transitions import HMC, SGHMC, SGNHT, Escort, ModeSearch, Proposal

__version__ = "0.1.0"

__all__ = [
    "BayesianLinearRegression",
    "BayesianSoftmaxRegression",
    "BayesianAutoregression",
    "BayesianGLM",
    "BayesianCategoricalMixture",
    "BayesianGMM",
    "BayesianHMM",
    "BayesianModel",
    "Group",
    "Factor",
    "Smooth",
    "Interaction",
    "sub_formulas",
    "Dirichlet",
    "LKJ",
    "EvidenceModelAverager",
    "EvidenceFeatureSelector",
    "compare",
    "log_bayes_factor",
    "predictive_check",
    "prior_sensitivity",
    "reweight_prior",
    "replicate",
    "EvidenceMonitor",
    "evidence_scorer",
    "evidence_scorers",
    "EvidenceSearch",
    "FullData",
    "EvidenceDisplay",
    "ComparisonDisplay",
    "ModelProbabilitiesDisplay",
    "PredictiveCheckDisplay",
    "RunDisplay",
    "StatesDisplay",
    "SurpriseDisplay",
    "SurvivalDisplay",
    "MixtureDisplay",
    "CoefficientsDisplay",
    "EffectsDisplay",
    "SmoothDisplay",
    "WeightsDisplay",
    "InclusionProbabilitiesDisplay",
    "to_arviz",
    "RowSource",
    "merge",
    "save",
    "load",
    "SGAIS",
    "HMC",
    "SGHMC",
    "SGNHT",
    "Escort",
    "ModeSearch",
    "Proposal",
    "AIS",
    "SIR",
    "bidirectional_error",
    "BidirectionalError",
    "bridge_evidence",
    "BridgeEvidence",
    "SequentialSGMCMC",
    "MixtureEvidence",
    "NestedSampling",
    "SequentialNestedSampling",
    "PriorSampling",
    "HarmonicMean",
    "Laplace",
    "Exact",
    "UntilPrecise",
    "DivergenceError",
    "CallLimitError",
    "EvidenceWarning",
    "ImpossibleRowsError",
    "SavedFileError",
]
