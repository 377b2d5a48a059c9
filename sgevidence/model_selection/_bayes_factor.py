"""Bayes factors with their error, and what they are worth in words.

    log B_ab = log Z_a − log Z_b,        std² = std_a² + std_b²  (independent runs)

References
----------
R. E. Kass, A. E. Raftery (1995), Bayes Factors, Journal of the American Statistical Association 90, 773:
the scale of 2 log B in Section 3.2.
"""

import math
from typing import Any, NamedTuple

from ._candidates import candidate, check_comparable

#: Upper limits of 2 log B (nats) and their words, Kass and Raftery (1995), Section 3.2.
SCALE = (
    (2.0, "not worth more than a bare mention"),
    (6.0, "positive"),
    (10.0, "strong"),
    (math.inf, "very strong"),
)


class LogBayesFactor(NamedTuple):
    """A log Bayes factor and its standard error, nats."""

    value: float
    std: float


def log_bayes_factor(a: Any, b: Any) -> LogBayesFactor:
    """Log Bayes factor of one fitted model over another.

    Parameters
    ----------
    a, b : fitted estimators
        With ``log_evidence_``, alone, frozen or at the end of a pipeline, fitted on the same rows with seeds
        of their own.

    Returns
    -------
    LogBayesFactor
        ``(value, std)``: log p(data | a) − log p(data | b) and its standard error, in nats.  Positive speaks
        for ``a``.

    Raises
    ------
    TypeError
        If one has no ``log_evidence_``.
    ValueError
        If they have not seen the same rows; the message says what differs.

    See Also
    --------
    compare : Several models in a table.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from sgevidence import BayesianLinearRegression, log_bayes_factor
    >>> from sgevidence.samplers import Exact
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X, y = scale(X), scale(y)
    >>> good, poor = (BayesianLinearRegression(s, sampler=Exact()).fit(X, y) for s in (0.7, 10.0))
    >>> value, std = log_bayes_factor(good, poor)
    >>> value > 500, std
    (True, 0.0)
    """
    first, second = candidate("the first model", a), candidate("the second model", b)
    check_comparable([first, second])
    return LogBayesFactor(
        first.log_evidence - second.log_evidence, math.hypot(first.log_evidence_std, second.log_evidence_std)
    )


def in_words(log_factor: float) -> str:
    """The strength of a log Bayes factor (nats) of either sign; its direction is the sign."""
    return next(words for limit, words in SCALE if 2 * abs(log_factor) <= limit)
