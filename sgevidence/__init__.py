"""Online log evidence of Bayesian models as a scikit-learn attribute.

Log evidences, their standard errors and Bayes factors are in nats throughout.  Pictures are in
``sgevidence.displays``, the parts of the default sampler and all others in
``sgevidence.samplers``.
"""

import importlib
from typing import Any

from .averaging import EvidenceModelAverager
from .bridging import bridge_evidence
from .custom import BayesianModel
from .effects import BSpline, Factor, Group, Interaction, Smooth, sub_formulas
from .estimators import (
    BayesianAutoregression,
    BayesianGLM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    merge,
)
from .exceptions import CallLimitError, DivergenceError, EvidenceWarning, ImpossibleRowsError, SavedFileError
from .feature_selection import EvidenceFeatureSelector
from .hidden_markov import BayesianHMM
from .io import load, save, to_arviz
from .mixture.estimators import BayesianCategoricalMixture, BayesianGMM
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

#: Modules of public names that are found when they are first asked for.
MODULES = ("bidirectional", "displays", "hypothesis_tests")


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'sgevidence' has no attribute {name!r}")
