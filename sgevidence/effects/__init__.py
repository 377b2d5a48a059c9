"""Effects of groups, factors and curves: Gaussian given a few hyperparameters."""

from ._answer import effects_answer
from ._coding import Coding, Columns
from ._factor import Factor
from ._group import Group
from ._interaction import Interaction
from ._layout import Block, Layout
from ._model import EffectsModel
from ._noise import Known, RootInverseGamma
from ._smooth import Smooth

__all__ = [
    "Block",
    "Coding",
    "Columns",
    "EffectsModel",
    "Factor",
    "Group",
    "Interaction",
    "Known",
    "Layout",
    "RootInverseGamma",
    "Smooth",
    "effects_answer",
]
