"""Online log evidence of Bayesian models as a scikit-learn attribute.

Log evidences, their standard errors and Bayes factors are in nats throughout.  Pictures are in
``sgevidence.displays``, the parts of the default sampler and all others in
``sgevidence.samplers``.
"""

import importlib
import warnings
from typing import Any

from .averaging import EvidenceModelAverager
from .bridging import bridge_evidence
from .effects import BSpline, Factor, Group, Interaction, Smooth, sub_formulas
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
    term_probabilities,
)
from .models import LKJ, Dirichlet
from .monitoring import EvidenceMonitor
from .rows import RowSource
from .samplers import SGAIS

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
    "BSpline",
    "Interaction",
    "sub_formulas",
    "term_probabilities",
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
    "to_arviz",
    "RowSource",
    "merge",
    "save",
    "load",
    "SGAIS",
    "bridge_evidence",
    "DivergenceError",
    "CallLimitError",
    "EvidenceWarning",
    "ImpossibleRowsError",
    "SavedFileError",
]

#: Names that stood here, by the module in which they are now.
MOVED = {
    "bidirectional": ("BidirectionalError", "bidirectional_error"),
    "bridging": ("BridgeEvidence",),
    "displays": (
        "CoefficientsDisplay",
        "ComparisonDisplay",
        "EvidenceDisplay",
        "InclusionProbabilitiesDisplay",
        "MixtureDisplay",
        "ModelProbabilitiesDisplay",
        "PredictiveCheckDisplay",
        "RunDisplay",
        "SurpriseDisplay",
        "WeightsDisplay",
    ),
    "samplers": (
        "AIS",
        "HMC",
        "SGHMC",
        "SGNHT",
        "SIR",
        "Escort",
        "Exact",
        "HarmonicMean",
        "Laplace",
        "MixtureEvidence",
        "ModeSearch",
        "NestedSampling",
        "PriorSampling",
        "Proposal",
        "SequentialNestedSampling",
        "SequentialSGMCMC",
        "UntilPrecise",
    ),
}


def __getattr__(name: str) -> Any:
    """Find a module when it is first needed; and a name that has moved, with a warning until version 0.3."""
    if name in MOVED:
        return importlib.import_module(f".{name}", __name__)
    for module, names in MOVED.items():
        if name in names:
            words = f"sgevidence.{name} is now sgevidence.{module}.{name}; version 0.3 has it only there"
            warnings.warn(words, FutureWarning, stacklevel=2)
            return getattr(importlib.import_module(f".{module}", __name__), name)
    raise AttributeError(f"module 'sgevidence' has no attribute {name!r}")
