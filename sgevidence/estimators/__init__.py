"""The scikit-learn face: fit, partial_fit, predict, log_evidence_."""

from ._autoregression import BayesianAutoregression
from ._base import EvidenceEstimator
from ._calls import (
    FitTasks,
    all_or_nothing,
    fit_tasks,
    learns_online,
    many_small_fits,
    refuse_changes,
    settings,
    settings_of_all,
    task_of,
)
from ._conditional import ConditionalEstimator, DensityEstimator
from ._documentation import described, documented
from ._effects import CurveDraws, curves, level_effects
from ._folding import by_parts
from ._glm import BayesianGLM
from ._glm_predictions import concordance, has_times
from ._linear_regression import BayesianLinearRegression, linear_model
from ._merging import merge
from ._prior_conflict import CONFLICT, FALSE_CONFLICTS, Found, conflict, prior_conflict
from ._reporting import (
    DIMENSIONS,
    ParameterTable,
    bounds,
    correlation_tables,
    dimension_labels,
    dimensions,
    heading,
    percent,
    scalar_names,
    warned,
    weighted_quantiles,
)
from ._response import response_in, target_if_there
from ._softmax_regression import BayesianSoftmaxRegression
from ._standardising import Learnt, Standardising, holds_rows, learnt, takes_units

__all__ = [
    "CONFLICT",
    "FALSE_CONFLICTS",
    "Found",
    "BayesianAutoregression",
    "BayesianGLM",
    "BayesianLinearRegression",
    "BayesianSoftmaxRegression",
    "EvidenceEstimator",
    "ParameterTable",
    "Learnt",
    "learnt",
    "Standardising",
    "CurveDraws",
    "curves",
    "level_effects",
    "FitTasks",
    "fit_tasks",
    "task_of",
    "all_or_nothing",
    "many_small_fits",
    "bounds",
    "concordance",
    "dimensions",
    "documented",
    "has_times",
    "heading",
    "holds_rows",
    "takes_units",
    "linear_model",
    "merge",
    "percent",
    "dimension_labels",
    "conflict",
    "prior_conflict",
    "refuse_changes",
    "response_in",
    "scalar_names",
    "settings",
    "settings_of_all",
    "target_if_there",
    "warned",
    "weighted_quantiles",
    "by_parts",
    "learns_online",
    "ConditionalEstimator",
    "described",
    "DIMENSIONS",
    "DensityEstimator",
    "correlation_tables",
]
