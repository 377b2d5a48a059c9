"""Pictures in scikit-learn's form: ``from_estimator`` or ``from_estimators``, ``plot``, ``ax_``."""

from ._along_rows import ModelProbabilitiesDisplay, RunDisplay
from ._bars import InclusionProbabilitiesDisplay, WeightsDisplay
from ._bayes_factor import BayesFactorDisplay
from ._comparison import ComparisonDisplay
from ._evidence import EvidenceDisplay
from ._intervals import CoefficientsDisplay, EffectsDisplay, SmoothDisplay
from ._mixture import MixtureDisplay
from ._predictive_check import PredictiveCheckDisplay
from ._states import StatesDisplay
from ._surprise import SurpriseDisplay
from ._survival import SurvivalDisplay

__all__ = [
    "BayesFactorDisplay",
    "EffectsDisplay",
    "SmoothDisplay",
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
    "WeightsDisplay",
    "InclusionProbabilitiesDisplay",
]
