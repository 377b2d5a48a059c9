"""Targets of the particles: tempered posteriors, modes, widths, and the knowledge in a sample of the rows."""

from ._anchoring import STRAY, anchored_at_mode, gaussian
from ._answer import Answer, ComponentEvidence, Declined, Doubt, exact_answer
from ._bridge import Estimate, bridge, cross_fitted, importance
from ._cross_fitted_bridge import cross_fitted_bridge
from ._cubature import MAX_PARAMETERS
from ._folded import FoldsDoNotSuffice, folded_answer
from ._folded_modes import folded_modes_answer
from ._importance import importance_draws
from ._log_concave import log_concave_answer, log_joint_of_many
from ._nested_laplace import NestedAnswer, nested_laplace_answer
from ._newton import concave_mode, find_mode, laplace_evidence
from ._pareto import pareto_k
from ._path import Path, Tempered
from ._preconditioner import curvature_coordinates
from ._proposals import Answers, proposal
from ._sampling_error import (
    TOO_NOISY,
    SampleEstimate,
    estimate,
    remainder,
    rows_enough,
    surrogate_spread,
)
from ._target import Likelihood, Target, of_history, sampled

__all__ = [
    "MAX_PARAMETERS",
    "STRAY",
    "TOO_NOISY",
    "Answer",
    "Answers",
    "ComponentEvidence",
    "Declined",
    "Doubt",
    "Estimate",
    "FoldsDoNotSuffice",
    "Likelihood",
    "NestedAnswer",
    "Path",
    "SampleEstimate",
    "Target",
    "Tempered",
    "anchored_at_mode",
    "curvature_coordinates",
    "bridge",
    "cross_fitted",
    "cross_fitted_bridge",
    "estimate",
    "concave_mode",
    "exact_answer",
    "find_mode",
    "log_concave_answer",
    "log_joint_of_many",
    "folded_answer",
    "folded_modes_answer",
    "gaussian",
    "importance",
    "importance_draws",
    "laplace_evidence",
    "nested_laplace_answer",
    "pareto_k",
    "proposal",
    "of_history",
    "remainder",
    "sampled",
    "rows_enough",
    "surrogate_spread",
]
