r"""Where in a chunk a change happened, and whether anything did, from what each row gains by the new model.

With s(x) the log predictive density of a row by the estimator of the last segment and s'(x) by the new one,
g = s' − s is the row's *gain*, and

.. math::
    \log P(k) = \sum_{r \ge k} g_r + \text{const}

the log posterior of row k as the first of the new segment, at most one.  Its median is the place: the best
cut may be far from it where rows hardly tell.  Under the new model old scores are densities, too, so that
E exp(−g) = 1.  Where rows say that it is more, the gains are too sure of themselves, and count by as much as
brings it down.

**Wrong models.**  A model that is wrong takes its own evidence too seriously: three clusters fitted to
five can be fitted in several ways, and which is best for 250 rows is a matter of chance, worth 15 nats
and more on streams without any change.  Another way to fit the same rows predicts those before it about as
well as those after it; after a change those before it are worse off.  So the mean gain of the rows after
a change has to exceed that of the rows before by four standard errors; else the next chunk will tell.  Where
no rows before it are stored, what the run is ahead by must exceed what it would scatter by if the rows were
drawn again, √n times the standard deviation of their gains (Huggins and Miller 2023 average the posterior
over that), twice: half-way between the log odds, which have paid for the learning, and the sum of the gains,
which have been learnt from.
"""

import math

import numpy as np
from sklearn.pipeline import Pipeline

POWERS = np.linspace(1.0, 0.1, 19)  # by which gains may count, the first that will do
APART = 4.0  # standard errors by which gains after a change must exceed those before it
MIN_ROWS = 30  # rows before it that are too few to tell
AHEAD = 2.0  # standard deviations that a run must then be ahead by


def row_scores(estimator, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
    """Log predictive density of each row, averaged over models where there are several."""
    if hasattr(estimator, "estimators_"):
        parts = np.array([row_scores(child, X, y) for child in estimator.estimators_])
        with np.errstate(divide="ignore"):
            return np.logaddexp.reduce(parts + np.log(estimator.weights_)[:, None], axis=0)
    if isinstance(estimator, Pipeline):
        X, estimator = estimator[:-1].transform(X), estimator[-1]
    return estimator.score_samples(X) if y is None else estimator.score_samples(X, y)


def place_weights(gain: np.ndarray) -> np.ndarray:
    """Weight of each row as the first of those that have gained: the posterior, tempered if need be."""
    ahead = np.cumsum(gain[::-1])[::-1]
    with np.errstate(over="ignore"):
        excess = np.exp(-gain[ahead.argmax() :, None] * POWERS).mean(axis=0) > 1.0
    return np.exp((ahead - ahead.max()) * POWERS[np.argmin(excess)])


def stands_out(log_odds: float, before: np.ndarray, after: np.ndarray, n: int) -> bool:
    """Whether a run is ahead by more than chance, from what rows gain by it before the change and after it.

    With too few rows before it from the n since, of which ``after`` are at hand.  A few rows after it may
    agree by chance, so they are taken to scatter at least as much as those before.
    """
    spread = np.concatenate([before, after]).std() if len(after) < MIN_ROWS else after.std()
    if len(before) < MIN_ROWS:
        return 0.5 * (log_odds + n * after.mean()) > AHEAD * math.sqrt(n) * spread
    if len(after) < MIN_ROWS:
        spread = max(before.std(), after.std())
    error = math.sqrt(before.var() / len(before) + spread**2 / len(after))
    return after.mean() - before.mean() > APART * error
