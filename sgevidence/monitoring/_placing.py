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

**Small models.**  Three clusters fitted to seven gain little over three fitted to five, though many a row
lies where there was none before.  A classifier that tells rows after the change from those before it knows
that: with c(x) its probability of "after" for row x (with its target, if there is one), n rows before and n'
after to learn from,

.. math::
    \hat g(x) = \log\frac{c(x)}{1 - c(x)} - \log\frac{n'}{n}

estimates the log density ratio, log p'(x) − log p(x) (Londschien, Bühlmann and Kovács 2023 find changes by
it).  Here c is a logistic regression on kernel features.  It learns from rows that the model's gains g put on
one side with 95 %, and predicts each of them by a fit to the others.

**Which gains.**  The model sees best what it is made for: a coefficient that changes, one column of many.
The one of g and ĝ counts that tells the known rows apart with the lower log loss, both sides weighing the
same.

References
----------
M. Londschien, P. Bühlmann, S. Kovács (2023), Random forests for change point detection, Journal of Machine
Learning Research 24.
"""

import math

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler, label_binarize

UNSURE_SHARE = 0.05  # probability that a row known to be of one side is of the other

POWERS = np.linspace(1.0, 0.1, 19)  # by which gains may count, the first that will do
MIN_SIDE_ROWS = 30  # rows on one side of a change that are too few to tell, or to learn from


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
    spread = np.concatenate([before, after]).std() if len(after) < MIN_SIDE_ROWS else after.std()
    if len(before) < MIN_SIDE_ROWS:
        return 0.5 * (log_odds + n * after.mean()) > 2.0 * math.sqrt(n) * spread
    if len(after) < MIN_SIDE_ROWS:
        spread = max(before.std(), after.std())
    error = math.sqrt(before.var() / len(before) + spread**2 / len(after))
    return after.mean() - before.mean() > 4.0 * error


def joint_rows(X: np.ndarray, y: np.ndarray | None, classes: np.ndarray | None) -> np.ndarray:
    """Rows with their targets as further columns, one for each of several classes."""
    if y is None:
        return X
    return np.column_stack([X, y if classes is None else label_binarize(y, classes=classes)])


def best_gains(gain: np.ndarray, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """``gain``, or what the rows gain by the classifier where that tells more.

    ``weight`` is that of each of the last rows as the first after the change, by ``gain``.
    """
    n, share = len(rows), weight.cumsum() / weight.sum()
    n_before, first_after = n - len(weight) + np.searchsorted(share, [UNSURE_SHARE, 1.0 - UNSURE_SHARE])
    if min(n_before, n - first_after) < MIN_SIDE_ROWS:
        return gain
    known = np.r_[:n_before, first_after:n]
    after = known >= first_after
    return min(gain, log_ratio(rows, known, after), key=lambda g: log_loss(g[known], after))


def log_ratio(rows: np.ndarray, known: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Ratio of the density after to that before, at all rows; no ``known`` row predicts itself."""
    # the landmarks are drawn with a seed of their own: the same rows have the same place
    kernel = Nystroem(n_components=min(100, len(rows)), random_state=0)  # there are as many rows at most
    columns = make_pipeline(StandardScaler(), kernel).fit_transform(rows)
    classifier = LogisticRegression(max_iter=1000).fit(columns[known], after)
    log_odds = classifier.decision_function(columns)
    log_odds[known] = cross_val_predict(classifier, columns[known], after, cv=5, method="decision_function")
    return log_odds - np.log(after.sum() / (~after).sum())


def log_loss(gain: np.ndarray, after: np.ndarray) -> float:
    """Loss of even odds, before a row is seen."""
    loss = np.logaddexp(0.0, np.where(after, -gain, gain))
    return 0.5 * float(loss[after].mean() + loss[~after].mean())
