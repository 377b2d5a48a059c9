"""The evidence in closed form, where there is one.

Symbols: ``theta`` = exact draws from the posterior (M, d).
"""

from numbers import Integral

import numpy as np

from .._compat import Interval
from ..answers import exact_answer
from ..history import Rows
from ..models import Model
from ..particles import Weights
from ._base import EvidenceResult, Progress, Sampler
from ._once import answer


class Exact(Sampler):
    """Log evidence by formula, with standard error 0, and independent draws from the posterior.

    There is a formula for linear regression and for a mixture of one component.  With an unknown noise it
    leaves an integral over σ² alone, which is done by quadrature to 1e-6 nats.

    Parameters
    ----------
    n_particles : int, default=1000
        Draws from the posterior; the log evidence does not depend on them.  A thousand give predictions
        to 3 % of the posterior width.

    Notes
    -----
    *Source*: thesis §5.2.1, where it is the reference of the linear model; with unknown noise the same
    Gaussian integral at each σ², and the trapezoid rule over log σ²; the normal–inverse-gamma formula for one
    component.

    *Cost*: one pass over the rows, n d² + d³.

    *When not to use it*: for rows that come as a stream, since all are needed at once.

    Examples
    --------
    >>> from sgevidence import BayesianLinearRegression
    >>> from sgevidence.samplers import Exact
    >>> model = BayesianLinearRegression(noise_std=1.0, sampler=Exact(), standardize=False)
    >>> fitted = model.fit([[0.0], [1.0]], [0.0, 1.0])
    >>> round(fitted.log_evidence_, 3), fitted.log_evidence_std_
    (-2.843, 0.0)
    """

    _parameter_constraints: dict = {"n_particles": [Interval(Integral, 1, None, closed="left")]}

    def __init__(self, n_particles: int = 1000) -> None:
        self.n_particles = n_particles

    def _run(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress, start: float
    ) -> EvidenceResult:
        try:
            found = exact_answer(model, model.sums(rows), rng, self.n_particles)
        except ValueError as error:
            raise ValueError(
                "there is an exact log evidence only for linear regression and for a mixture with "
                f"n_components=1, not for {model!r}: use SGAIS()"
            ) from error
        if found is None:
            raise ValueError(f"the exact log evidence is not a number: {_largest(rows)}")
        std = found.log_evidence_std
        return answer(found.log_evidence, std, found.theta, Weights.ones(len(found.theta)), rows, start)


def _largest(rows: Rows) -> str:
    """Where the largest value is."""
    values = rows.X if rows.y is None else np.column_stack([rows.X, rows.y])
    row, column = np.unravel_index(np.argmax(np.abs(values)), values.shape)
    return f"row {row} has the value {values[row, column]:.3g}; rescale the rows, or drop it"
