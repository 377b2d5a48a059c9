"""Selection by evidence in scikit-learn's searches: a scorer, and a split that trains on all rows."""

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import BaseCrossValidator
from sklearn.pipeline import Pipeline

from ._compat import num_samples


def last_step(estimator):
    """The model itself: what is behind pipelines and frozen estimators."""
    while isinstance(estimator, (Pipeline, FrozenEstimator)):
        estimator = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator.steps[-1][1]
    return estimator


def evidence_scorer(estimator, X, y=None) -> float:
    """Log evidence of the rows that an estimator was fitted on, as a scorer for ``GridSearchCV``.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator with ``log_evidence_``, also as the last step of a pipeline, frozen, or an
        :class:`EvidenceModelAverager`.
    X, y : object
        Not used: the evidence is that of the training rows.

    Returns
    -------
    float
        Nats.

    Raises
    ------
    TypeError
        If the estimator has no ``log_evidence_``.

    See Also
    --------
    FullData : The split to use it with.

    Notes
    -----
    Evidences compare models of the same y (regression, classification) or of the same X (densities).
    A scaler in front of a density model multiplies p(X) by a Jacobian.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.preprocessing import scale
    >>> from sgevidence import BayesianGMM, FullData, evidence_scorer
    >>> X = scale(load_iris().data[:, 2:])
    >>> grid = {"n_components": [1, 2]}
    >>> search = GridSearchCV(BayesianGMM(random_state=0), grid, scoring=evidence_scorer, cv=FullData())
    >>> search.fit(X).best_params_
    {'n_components': 2}
    """
    model = last_step(estimator)
    try:
        return float(model.log_evidence_)
    except AttributeError:
        raise TypeError(
            f"{type(model).__name__} has no log_evidence_: evidence_scorer needs a fitted estimator of "
            "sgevidence, alone or as the last step of a pipeline"
        ) from None


class FullData(BaseCrossValidator):
    """A single "split" that trains and scores on all rows.

    The evidence already charges a model for its complexity, so that no rows are held out.

    See Also
    --------
    evidence_scorer : The score to use it with.  Other scores are training scores here.

    Examples
    --------
    >>> from sgevidence import FullData
    >>> [(train.tolist(), test.tolist()) for train, test in FullData().split([[1.0], [2.0], [3.0]])]
    [([0, 1, 2], [0, 1, 2])]
    """

    def split(self, X, y=None, groups=None):
        """Indices of all rows, twice.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y, groups : object
            Not used.

        Yields
        ------
        train, test : ndarray of shape (n_samples,)
        """
        rows = np.arange(num_samples(X))
        yield rows, rows.copy()

    def get_n_splits(self, X=None, y=None, groups=None) -> int:
        """One.

        Parameters
        ----------
        X, y, groups : object
            Not used.

        Returns
        -------
        int
        """
        return 1
