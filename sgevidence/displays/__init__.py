"""Pictures in scikit-learn's form: ``from_estimator`` or ``from_estimators``, ``plot``, ``ax_``."""

from ._along_rows import ModelProbabilitiesDisplay, RunDisplay, StatesDisplay, SurpriseDisplay
from ._comparison import BayesFactorDisplay, ComparisonDisplay, PredictiveCheckDisplay
from ._evidence import EvidenceDisplay
from ._intervals import (
    CoefficientsDisplay,
    EffectsDisplay,
    InclusionProbabilitiesDisplay,
    SmoothDisplay,
    WeightsDisplay,
)
from ._mixture import MixtureDisplay
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
