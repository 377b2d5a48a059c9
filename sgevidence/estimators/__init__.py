"""The scikit-learn face: fit, partial_fit, predict, log_evidence_."""

from ._autoregression import BayesianAutoregression
from ._base import EvidenceEstimator
from ._callbacks import FitTasks, fit_tasks, task_of
from ._categorical_mixture import BayesianCategoricalMixture
from ._custom import BayesianModel
from ._documentation import documented
from ._effects import CurveDraws, curves, level_effects
from ._every_k import error_covariance, one_walk, one_walk_of_clones
from ._glm import BayesianGLM
from ._glm_predictions import concordance, has_times
from ._gmm import BayesianGMM
from ._hmm import BayesianHMM
from ._linear_regression import BayesianLinearRegression, linear_model
from ._merging import merge
from ._prior_conflict import CONFLICT, prior_conflict
from ._settings import refuse_changes, settings, settings_of_all
from ._softmax_regression import BayesianSoftmaxRegression
from ._standardising import Learnt, Standardising, holds_rows, takes_units
from ._summary import (
    ParameterTable,
    bounds,
    dimension_labels,
    dimensions,
    heading,
    percent,
    scalar_names,
    warned,
    weighted_quantiles,
)
from ._threads import many_small_fits
from ._transaction import all_or_nothing

__all__ = [
    "CONFLICT",
    "BayesianAutoregression",
    "BayesianCategoricalMixture",
    "BayesianGLM",
    "BayesianGMM",
    "BayesianHMM",
    "BayesianLinearRegression",
    "BayesianModel",
    "BayesianSoftmaxRegression",
    "EvidenceEstimator",
    "ParameterTable",
    "Learnt",
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
    "error_covariance",
    "documented",
    "has_times",
    "heading",
    "holds_rows",
    "takes_units",
    "linear_model",
    "merge",
    "percent",
    "dimension_labels",
    "prior_conflict",
    "refuse_changes",
    "scalar_names",
    "settings",
    "settings_of_all",
    "one_walk",
    "one_walk_of_clones",
    "warned",
    "weighted_quantiles",
]
