"""Posteriors that need no annealing: which models know a density that covers theirs.

A model knows no optimiser and no sampler, so the function that answers for a model is chosen here, by what
the model can say of itself.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from ..history import Rows
from ..models import Model
from ._answer import Answer, Declined, exact_answer
from ._cubature import MAX_PARAMETERS, cubature_answer
from ._one_mode import one_mode_answer
from ._paired_draws import TOLERANCE_NATS
from ._surveyed import surveyed_answer

#: ``(model, rows, rng, size)``: an answer with about ``size`` draws, or why not, None without words.
Answers = Callable[[Model, Rows, np.random.Generator, int], Answer | Declined | None]


def proposal(model: Model, tolerance: float = TOLERANCE_NATS) -> Answers | None:
    """The function that answers for such a model, at an error in nats; None if it has to be annealed."""
    if model.has_exact_posterior:
        return lambda model, rows, rng, size: exact_answer(model, model.sums(rows), rng, size)
    if model.is_log_concave or model.n_mode_checks:
        return partial(one_mode_answer, tolerance=tolerance)
    if model.has_normal_coordinates and model.n_params <= MAX_PARAMETERS:
        return cubature_answer
    return partial(surveyed_answer, tolerance=tolerance) if model.n_surveyed else None
