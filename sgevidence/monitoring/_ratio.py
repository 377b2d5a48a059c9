r"""Gain of rows by a change, estimated from the rows themselves, for models that are too small to see it.

Three clusters fitted to seven gain little over three fitted to five, though many a row lies where there was
none before.  A classifier that tells rows after the change from those before it knows that: with c(x) its
probability of "after" for row x (with its target, if there is one), n rows before and n' after to learn from,

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

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, label_binarize

MIN_SIDE_ROWS = 30  # rows on one side that are too few to learn from
UNSURE = 0.05  # probability that a row known to be of one side is of the other
FEATURES = 100  # of the kernel, as many as there are rows at most
FOLDS = 5


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
    n_before, first_after = n - len(weight) + np.searchsorted(share, [UNSURE, 1.0 - UNSURE])
    if min(n_before, n - first_after) < MIN_SIDE_ROWS:
        return gain
    known = np.r_[:n_before, first_after:n]
    after = known >= first_after
    return min(gain, log_ratio(rows, known, after), key=lambda g: log_loss(g[known], after))


def log_ratio(rows: np.ndarray, known: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Ratio of the density after to that before, at all rows; no ``known`` row predicts itself."""
    # the landmarks are drawn with a seed of their own: the same rows have the same place
    kernel = Nystroem(n_components=min(FEATURES, len(rows)), random_state=0)
    columns = make_pipeline(StandardScaler(), kernel).fit_transform(rows)
    classifier = LogisticRegression(max_iter=1000).fit(columns[known], after)
    log_odds = classifier.decision_function(columns)
    log_odds[known] = cross_val_predict(
        classifier, columns[known], after, cv=FOLDS, method="decision_function"
    )
    return log_odds - np.log(after.sum() / (~after).sum())


def log_loss(gain: np.ndarray, after: np.ndarray) -> float:
    """Loss of even odds, before a row is seen."""
    loss = np.logaddexp(0.0, np.where(after, -gain, gain))
    return 0.5 * float(loss[after].mean() + loss[~after].mean())
