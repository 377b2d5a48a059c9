"""The form of sktime's change point detectors."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator

from .._compat import Interval, fit_context
from ._segment import Segmentation, segment


class EvidenceDetector(BaseEstimator):
    """Change points of a whole series, in the form of the detectors of sktime and skchange.

    ``predict`` returns the change points, ``transform`` the number of the segment that each row is in.  Both
    look at the whole series that they are given; ``fit`` learns nothing from it.  :func:`segment` says more,
    and :class:`~sgevidence.EvidenceMonitor` watches rows while they arrive.

    Parameters
    ----------
    model : segment model or None, default=None
        As in :class:`~sgevidence.EvidenceMonitor`, in closed form and without y.
    hazard : float, default=1/250
        Prior probability of a change at a row: one over the expected length of a segment.
    max_runs : int, default=200
        Hypotheses about the last change that are followed.

    See Also
    --------
    segment : The same changes, their probabilities, and the log evidence.

    References
    ----------
    The form: https://www.sktime.net/en/stable/api_reference/detection.html

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sgevidence.monitoring import EvidenceDetector
    >>> x = np.repeat([0.0, 4.0, 0.0], 60) + np.random.default_rng(0).normal(size=180)
    >>> series = pd.Series(x, index=pd.date_range("2024-01-01", periods=180))
    >>> detector = EvidenceDetector().fit(series)
    >>> detector.predict(series)["ilocs"].tolist()
    [60, 120]
    >>> detector.transform(series)["labels"].value_counts().tolist()
    [60, 60, 60]
    """

    _parameter_constraints: dict = {
        "model": [BaseEstimator, None],
        "hazard": [Interval(Real, 0, 1, closed="neither")],
        "max_runs": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self, model: BaseEstimator | None = None, *, hazard: float = 1 / 250, max_runs: int = 200
    ) -> None:
        self.model = model
        self.hazard = hazard
        self.max_runs = max_runs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Check the parameters; there is nothing to learn.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self : EvidenceDetector
        """
        return self

    def predict(self, X):
        """Where the series changes.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_features)

        Returns
        -------
        pandas.DataFrame
            One row per change, with the column "ilocs": the position of the first row of the new segment.
        """
        return _pandas().DataFrame({"ilocs": self._segment(X).change_points})

    def transform(self, X):
        """Which segment each row is in.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_features)

        Returns
        -------
        pandas.DataFrame
            With the index of X and the column "labels": 0 in the first segment, 1 in the second, and so on.
        """
        found = self._segment(X)
        begins = np.zeros(len(found.probability), dtype=np.int64)
        begins[found.change_points] = 1
        return _pandas().DataFrame({"labels": begins.cumsum()}, index=getattr(X, "index", None))

    def transform_scores(self, X):
        """Posterior probability of a change at each row, given all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_features)

        Returns
        -------
        pandas.DataFrame
            With the index of X and the column "scores".
        """
        scores = np.asarray(self._segment(X).probability)
        return _pandas().DataFrame({"scores": scores}, index=getattr(X, "index", None))

    def fit_predict(self, X, y=None):
        """Fit, then :meth:`predict`.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        pandas.DataFrame
        """
        return self.fit(X).predict(X)

    def fit_transform(self, X, y=None):
        """Fit, then :meth:`transform`.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        pandas.DataFrame
        """
        return self.fit(X).transform(X)

    def _segment(self, X) -> Segmentation:
        return segment(X, model=self.model, hazard=self.hazard, max_runs=self.max_runs)


def _pandas():
    try:
        import pandas
    except ImportError as error:
        raise ImportError("EvidenceDetector needs pandas: install it, or use segment()") from error
    return pandas
