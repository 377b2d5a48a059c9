"""The function that answers for a model with effects.

Gaussian y have a closed form given the hyperparameters, and the model says so itself.  Effects of one
grouping factor are integrated level by level; crossed ones and curves from a Gaussian given the
hyperparameters.  Where the points do not suffice there is no answer, and the model is annealed.
"""

import numpy as np

from ..answers import Answer
from ..history import Rows
from ..models import Model
from ._conditional import conditional_answer
from ._levelwise import levelwise_answer
from ._model import EffectsModel

#: Rows × draws, and draws at least: each draw of the effects of all levels looks at all rows a few times.
MAX_DRAWN_NUMBERS, MIN_EFFECT_DRAWS = 3_000_000, 200


def effects_answer(model: Model, rows: Rows, rng: np.random.Generator, size: int) -> Answer | None:
    """Evidence and at most ``size`` draws, fewer of many rows; None where they cannot be trusted."""
    assert isinstance(model, EffectsModel)
    one_factor = len(model.layout.blocks) == 1 and model.layout.largest is not None
    # fixed columns and hyperparameters up to which they are integrated together
    few = model.layout.n_fixed + model.layout.n_hyperparameters + model.n_own <= 12
    answer = levelwise_answer if one_factor and few else conditional_answer
    size = min(size, max(MIN_EFFECT_DRAWS, MAX_DRAWN_NUMBERS // max(len(rows), 1)))
    try:
        return answer(model, model.ordered(rows), rng, size)
    except (ArithmeticError, np.linalg.LinAlgError):
        return None
