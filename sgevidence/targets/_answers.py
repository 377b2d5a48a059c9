"""Posteriors that need no annealing: which models know a density that covers theirs.

A model knows no optimiser and no sampler, so the function that answers for a model is chosen here, by what
the model can say of itself.

Symbols: ``theta`` = draws (M, d), ``log_w`` = their log-weights, ``M`` = ``size``.
"""

from collections.abc import Callable

import numpy as np

from ..history import Rows
from ..models import Model
from ._answer import Answer
from ._log_concave import log_concave_answer

#: ``(model, rows, rng, size)``: an answer with about ``size`` draws, or None where it knows none.
Answers = Callable[[Model, Rows, np.random.Generator, int], Answer | None]


def proposal(model: Model) -> Answers | None:
    """What answers for such a model, or None: then it has to be annealed."""
    if model.has_exact_posterior:
        return exact_answer
    return log_concave_answer if model.is_log_concave else None


def exact_answer(model: Model, rows: Rows, rng: np.random.Generator, size: int) -> Answer | None:
    """Closed form; None where the rows are too large for the arithmetic."""
    try:
        with np.errstate(all="ignore"):
            log_Z = model.exact_log_evidence(rows)
            theta = model.exact_posterior(rows, rng, size)
    except (np.linalg.LinAlgError, ArithmeticError):
        return None
    if not (np.isfinite(log_Z) and np.all(np.isfinite(theta))):
        return None
    return Answer(theta, np.zeros(len(theta)), log_Z, 0.0, is_exact=True)
