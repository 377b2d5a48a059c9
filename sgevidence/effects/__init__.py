"""Effects of groups, factors and curves: Gaussian given a few hyperparameters."""

from ._answer import effects_answer
from ._coding import CODE, PREDICTED, Coding, Columns
from ._columns import column_names, level_words
from ._curves import BSpline, Cycle, Smooth
from ._factors import Factor, Group, Interaction, Monotone, column_products, contrasts, whole_scale
from ._formula import (
    Formula,
    formula_terms,
    has_dot,
    offset_of,
    resolved,
    response_name,
    response_of,
    sub_formulas,
)
from ._gaussian import ColumnMaps, LevelSums, relaid
from ._integral import doubt as doubt_of_integral
from ._integral import integrate
from ._jzs import GROUP_SCALE, JZSModel, JZSPosterior, RelativeLayout, is_covariate, jzs_block, scale_of
from ._layout import Block, Layout
from ._model import EffectsModel
from ._names import divisors, fixed_effects, group_effects, other_effects, to_levels
from ._terms import MAX_FORMULAS, hereditary, parts, with_scales
from .language import Response, Surv, WithMade, evaluated, surv_of

__all__ = [
    "GROUP_SCALE",
    "CODE",
    "PREDICTED",
    "MAX_FORMULAS",
    "BSpline",
    "Block",
    "Coding",
    "Cycle",
    "ColumnMaps",
    "Columns",
    "EffectsModel",
    "Factor",
    "Formula",
    "Group",
    "Interaction",
    "JZSModel",
    "JZSPosterior",
    "Layout",
    "Monotone",
    "LevelSums",
    "Response",
    "WithMade",
    "RelativeLayout",
    "Smooth",
    "column_names",
    "contrasts",
    "divisors",
    "doubt_of_integral",
    "effects_answer",
    "evaluated",
    "fixed_effects",
    "formula_terms",
    "group_effects",
    "is_covariate",
    "has_dot",
    "hereditary",
    "integrate",
    "jzs_block",
    "level_words",
    "other_effects",
    "parts",
    "column_products",
    "offset_of",
    "relaid",
    "resolved",
    "response_name",
    "response_of",
    "Surv",
    "surv_of",
    "scale_of",
    "sub_formulas",
    "to_levels",
    "whole_scale",
    "with_scales",
]
