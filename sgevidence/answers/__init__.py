"""Answers without annealing: densities that cover a posterior, by weights, cubature and bridges."""

from ._answer import Answer, ComponentEvidence, Declined, exact_answer
from ._bridge import Estimate, bridge, cross_fitted, importance
from ._cross_fitted_bridge import cross_fitted_bridge
from ._cubature import MAX_PARAMETERS
from ._folded import FoldsDoNotSuffice, folded_answer
from ._folded_modes import folded_modes_answer
from ._importance import MAX_PARETO_K, TDensity, importance_draws, log_t, pareto_k, t_draws
from ._log_concave import Gaussian, log_joint_of_many, refined
from ._nested_laplace import NestedAnswer, nested_laplace_answer
from ._one_mode import one_mode_answer
from ._paired_draws import (
    MIN_PAIRS_PER_CONTROL,
    ROUNDS,
    TOLERANCE_NATS,
    Adapted,
    LogJoint,
    PairedDraws,
    TMixture,
    adapted_draws,
    laplace,
    paired_draws,
)
from ._proposals import Answers, proposal
from ._surveyed import is_short

__all__ = [
    "Answer",
    "ComponentEvidence",
    "Declined",
    "exact_answer",
    "Gaussian",
    "refined",
    "Estimate",
    "bridge",
    "cross_fitted",
    "importance",
    "cross_fitted_bridge",
    "MAX_PARAMETERS",
    "FoldsDoNotSuffice",
    "folded_answer",
    "folded_modes_answer",
    "importance_draws",
    "log_t",
    "MAX_PARETO_K",
    "pareto_k",
    "t_draws",
    "TDensity",
    "TMixture",
    "Adapted",
    "adapted_draws",
    "laplace",
    "LogJoint",
    "PairedDraws",
    "paired_draws",
    "MIN_PAIRS_PER_CONTROL",
    "ROUNDS",
    "TOLERANCE_NATS",
    "one_mode_answer",
    "log_joint_of_many",
    "NestedAnswer",
    "nested_laplace_answer",
    "Answers",
    "proposal",
    "is_short",
]
