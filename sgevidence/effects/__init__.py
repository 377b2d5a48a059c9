"""Effects of groups, factors and curves: Gaussian given a few hyperparameters."""

from ._coding import CODE, Coding, Columns
from ._columns import column_names
from ._formula import Formula, resolved, response_of, sub_formulas
from ._gaussian import LevelSums
from ._jzs import GROUP_SCALE, JZSModel, JZSPosterior, RelativeLayout, is_covariate, jzs_block, scale_of
from ._layout import Block, Flat, Known, Layout, RootInverseGamma
from ._levelwise import effects_answer
from ._model import EffectsModel
from ._names import divisors, fixed_effects, group_effects, levels_of_factors
from ._smooth import Smooth
from ._terms import Factor, GLMWithTerms, Group, Interaction, LinearModelWithTerms, contrasts

__all__ = [
    "GROUP_SCALE",
    "CODE",
    "Block",
    "Coding",
    "Columns",
    "EffectsModel",
    "Factor",
    "GLMWithTerms",
    "Flat",
    "Formula",
    "Group",
    "Interaction",
    "JZSModel",
    "JZSPosterior",
    "Known",
    "Layout",
    "LevelSums",
    "LinearModelWithTerms",
    "RelativeLayout",
    "RootInverseGamma",
    "Smooth",
    "column_names",
    "contrasts",
    "divisors",
    "effects_answer",
    "fixed_effects",
    "group_effects",
    "is_covariate",
    "jzs_block",
    "levels_of_factors",
    "resolved",
    "response_of",
    "scale_of",
    "sub_formulas",
]
