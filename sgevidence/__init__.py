"""Online log evidence of Bayesian models as a scikit-learn attribute.

Log evidences, their standard errors and Bayes factors are in nats throughout.  Pictures are in
``sgevidence.displays``, the parts of the default sampler and all others in
``sgevidence.samplers``.

A name is imported when it is first asked for, so that ``sgevidence --help`` does not wait for scikit-learn.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # type checkers and editors read these lines, Python asks NAMES
    from .averaging import EvidenceModelAverager
    from .bridging import bridge_evidence
    from .custom import BayesianModel
    from .effects import BSpline, Factor, Group, Interaction, Monotone, Smooth, sub_formulas
    from .estimators import (
        BayesianAutoregression,
        BayesianGLM,
        BayesianLinearRegression,
        BayesianSoftmaxRegression,
        merge,
    )
    from .exceptions import (
        CallLimitError,
        DivergenceError,
        EvidenceWarning,
        ImpossibleRowsError,
        SavedFileError,
    )
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
    "Monotone",
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

#: Rooms, and the public names that each has.
NAMES = {
    "averaging": "EvidenceModelAverager",
    "bridging": "bridge_evidence",
    "custom": "BayesianModel",
    "effects": "BSpline Factor Group Interaction Monotone Smooth sub_formulas",
    "estimators": "BayesianAutoregression BayesianGLM BayesianLinearRegression BayesianSoftmaxRegression "
    "merge",
    "exceptions": "CallLimitError DivergenceError EvidenceWarning ImpossibleRowsError SavedFileError",
    "feature_selection": "EvidenceFeatureSelector",
    "hidden_markov": "BayesianHMM",
    "io": "load save to_arviz",
    "mixture.estimators": "BayesianCategoricalMixture BayesianGMM",
    "model_selection": "compare EvidenceSearch FullData evidence_scorer evidence_scorers log_bayes_factor "
    "predictive_check prior_sensitivity replicate reweight_prior term_probabilities",
    "models": "LKJ Dirichlet",
    "monitoring": "EvidenceMonitor",
    "rows": "RowSource",
    "samplers": "SGAIS",
}
#: The room of each public name.
ROOM_OF = {name: room for room, names in NAMES.items() for name in names.split()}
#: Rooms whose own names are public, too.
MODULES = ("bidirectional", "bridging", "displays", "hypothesis_tests", "kernels", "monitoring", "samplers")


def __getattr__(name: str) -> Any:
    if name in ROOM_OF:
        room = importlib.import_module(f".{ROOM_OF[name]}", __name__)
        return globals().setdefault(name, getattr(room, name))
    if not name.startswith("__") and importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'sgevidence' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *MODULES, "__version__"])
