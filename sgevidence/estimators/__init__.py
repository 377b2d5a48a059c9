"""The scikit-learn face: fit, partial_fit, predict, log_evidence_."""

from ._autoregression import BayesianAutoregression
from ._bad_cells import bad_cell, cells_named, validated
from ._base import EvidenceEstimator
from ._callbacks import FitTasks, fit_tasks, task_of
from ._categorical_mixture import BayesianCategoricalMixture
from ._collections import is_dask, names_of, refuse_unknown_sizes
from ._concordance import concordance, has_times
from ._custom import BayesianModel
from ._dimensions import dimensions, places, scalar_names
from ._documentation import documented
from ._effects import CurveDraws, curves, level_effects
from ._every_k import error_covariance, one_walk, one_walk_of_clones
from ._given import at_once
from ._glm import BayesianGLM
from ._gmm import BayesianGMM
from ._hmm import BayesianHMM
from ._input import (
    column_indices,
    fingerprint,
    generator,
    looks_normalised,
    refuse_extreme,
    refuse_unreadable,
)
from ._known import with_known
from ._linear_regression import BayesianLinearRegression, linear_model
from ._merging import merge
from ._prior_conflict import CONFLICT, prior_conflict
from ._settings import refuse_changes, settings, settings_of_all
from ._softmax_regression import BayesianSoftmaxRegression
from ._sources import RowSource
from ._standardising import Learnt, Standardising, holds_rows, takes_units
from ._summary import ParameterTable, bounds, heading, percent, warned, weighted_quantiles
from ._text_files import ROW_NAMES, TextFormat
from ._transaction import all_or_nothing
from ._unit_watch import UnitWatch
from ._units import MIN_ROWS as MIN_UNIT_ROWS
from ._units import Fold, Units

__all__ = [
    "CONFLICT",
    "MIN_UNIT_ROWS",
    "ROW_NAMES",
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
    "RowSource",
    "Learnt",
    "Standardising",
    "TextFormat",
    "Units",
    "UnitWatch",
    "CurveDraws",
    "curves",
    "level_effects",
    "FitTasks",
    "fit_tasks",
    "task_of",
    "all_or_nothing",
    "at_once",
    "bad_cell",
    "cells_named",
    "bounds",
    "column_indices",
    "concordance",
    "dimensions",
    "error_covariance",
    "Fold",
    "documented",
    "fingerprint",
    "generator",
    "is_dask",
    "has_times",
    "heading",
    "holds_rows",
    "takes_units",
    "linear_model",
    "looks_normalised",
    "merge",
    "names_of",
    "percent",
    "places",
    "prior_conflict",
    "refuse_changes",
    "refuse_extreme",
    "refuse_unknown_sizes",
    "refuse_unreadable",
    "scalar_names",
    "validated",
    "settings",
    "settings_of_all",
    "one_walk",
    "one_walk_of_clones",
    "warned",
    "weighted_quantiles",
    "with_known",
]
