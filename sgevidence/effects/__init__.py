"""Effects of groups, factors and curves: Gaussian given a few hyperparameters."""

from ._answer import effects_answer
from ._coding import Coding, Columns
from ._columns import column_names
from ._factor import Factor
from ._fixed import GLMWithTerms, LinearModelWithTerms
from ._formula import Formula, resolved, response_of
from ._group import Group
from ._interaction import Interaction
from ._layout import Block, Layout
from ._model import EffectsModel
from ._names import divisors, fixed_effects, group_effects, levels_of_factors
from ._noise import Known, RootInverseGamma
from ._smooth import Smooth

__all__ = [
    "Block",
    "Coding",
    "Columns",
    "EffectsModel",
    "Factor",
    "GLMWithTerms",
    "Formula",
    "Group",
    "Interaction",
    "Known",
    "Layout",
    "LinearModelWithTerms",
    "RootInverseGamma",
    "Smooth",
    "column_names",
    "divisors",
    "effects_answer",
    "fixed_effects",
    "group_effects",
    "levels_of_factors",
    "resolved",
    "response_of",
]
