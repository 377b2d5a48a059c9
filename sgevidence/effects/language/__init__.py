"""Language of formulas: tokens, calls, the tree, columns that it makes, and what stands on its left.

No term and no model is known here.
"""

from ._formula_tokens import MadeName, shown
from ._formula_tree import NO_RESPONSE, FormulaTree, argument_words, component_words, effect_words, parsed
from ._made_columns import ELSEWHERE, WithMade, evaluated, fitted, leaves, name_words, nearest
from ._response import Response, Surv, surv_of

__all__ = [
    "NO_RESPONSE",
    "ELSEWHERE",
    "FormulaTree",
    "MadeName",
    "Response",
    "Surv",
    "WithMade",
    "argument_words",
    "component_words",
    "effect_words",
    "evaluated",
    "fitted",
    "leaves",
    "name_words",
    "nearest",
    "parsed",
    "shown",
    "surv_of",
]
