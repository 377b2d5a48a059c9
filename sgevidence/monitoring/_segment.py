r"""All rows at hand: the posterior of the changes given the whole series, and the best segmentation.

The filter gives :math:`w_t(s)`, the probability that the segment of row t began at s, given the rows up
to t.  A segment that ends with row t began at s with that probability *whatever comes after*, so
backwards (Fearnhead 2006)

.. math:: P(\text{change at } s) = w_{n-1}(s) + \sum_{t>s} P(\text{change at } t)\, w_{t-1}(s).

The most probable segmentation comes from the same recursion with a maximum in the place of the sum:
:math:`M_t(s)`, the log joint density of the best segmentation in which the segment of row t began at s.

:class:`EvidenceDetector` is the same in the form of sktime's change point detectors.
"""

import math
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_array, check_X_y

from .._compat import Interval, fit_context, validate_params
from ..exceptions import warn_caller
from ..rows import cells_named, last_time, refuse_unreadable
from ._discrete import DISPERSED_SIZES, CategorySegment, CountSegment
from ._estimators import watches_by_estimator
from ._filter import RunFilter, SegmentModel
from ._input import FewValues, as_table, complaint, entry, index_of, refuse_counters, refuse_model
from ._series import SeriesSegment


class Segmentation(NamedTuple):
    """Changes of a series at hand.

    Parameters
    ----------
    change_points : ndarray of shape (n_changes,)
        First rows of the segments but the first, in the most probable segmentation.
    probability : ndarray or pandas.Series of shape (n_samples,)
        Posterior probability of a change at each row, given all rows; a Series if X has an index.
    log_evidence : float
        Log probability density of the rows, summed over all segmentations, in nats.
    n_skipped : int, default=0
        Rows that were left out, since a cell is missing; a change in a gap is found at the next row.
    model : segment model
        That of the segments, as given, or chosen from the rows.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sgevidence.monitoring import segment
    >>> x = np.repeat([1.0, 5.0], 40) + np.random.default_rng(0).normal(size=80)
    >>> found = segment(pd.Series(x, index=pd.date_range("2024-01-01", periods=80)))
    >>> found.change_points
    array([40])
    >>> found.change_times
    [Timestamp('2024-02-10 00:00:00')]
    """

    change_points: np.ndarray
    probability: Any
    log_evidence: float
    n_skipped: int = 0
    model: Any = None

    @property
    def change_times(self) -> list:
        """Index entries of the change points, such as dates; their row numbers if X has no index."""
        index = getattr(self.probability, "index", None)
        return [row if index is None else entry(index[row]) for row in self.change_points.tolist()]

    def __repr__(self) -> str:
        max_listed = 8  # changes that the printed form lists, from the first
        n = len(self.change_points)
        changes = "no change" if n == 0 else "1 change" if n == 1 else f"{n} changes"
        lines = [f"{changes} in {len(self.probability)} rows, log evidence {self.log_evidence:.1f}"]
        lines[0] += f", {self.n_skipped} rows skipped" if self.n_skipped else ""
        at_row = np.asarray(self.probability)
        for row, time in list(zip(self.change_points.tolist(), self.change_times))[:max_listed]:
            name = "" if time == row else f" ({str(time).removesuffix(' 00:00:00')[:30]})"
            lines.append(f"  row {row}{name}: probability {at_row[row]:.2f}")
        if n > max_listed:
            lines.append(f"  and {n - max_listed} more, in change_points")
        return "\n".join(lines)


@validate_params(
    {
        "X": ["array-like"],
        "y": ["array-like", BaseEstimator, type, None],  # a model in its place is refused in words
        "model": [BaseEstimator, None],
        "hazard": [Interval(Real, 0, 1, closed="neither")],
        "max_runs": [Interval(Integral, 2, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def segment(X, y=None, model=None, *, hazard: float = 1 / 250, max_runs: int = 200) -> Segmentation:
    """Changes of a series at hand, from its past and its future.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or (n_samples,) without y
        The index of a pandas object, such as dates, is that of the answer; times must be in order.  Rows with
        a missing cell (NaN) are skipped.
    y : array-like of shape (n_samples,), optional
        Needed if the model is one of y given X.
    model : segment model or None, default=None
        As in :class:`EvidenceMonitor`, in closed form.  None is :class:`CategorySegment` where all values are
        0 or 1; :class:`CountSegment` of any dispersion where they are whole numbers from 0, of a mean below
        30 and a variance above half of it, as counts have; :class:`SeriesSegment` for other numbers, and
        for values that hardly ever move.
    hazard : float, default=1/250
        Prior probability of a change at a row.
    max_runs : int, default=200
        Hypotheses about the last change that are followed; exact where it is at least n_samples.

    Returns
    -------
    segmentation : Segmentation
        ``change_points`` of the most probable segmentation, ``probability`` of a change at each row,
        ``log_evidence``.

    Raises
    ------
    TypeError
        If a model is in the place of y.
    ValueError
        On bad input, times out of order, a column that counts the rows, as one of years does, which belongs
        into the index, and for a model without a closed form.

    Warns
    -----
    EvidenceWarning
        As :class:`EvidenceMonitor` does, of rows of few values.

    References
    ----------
    P. Fearnhead (2006), Exact and efficient Bayesian inference for multiple changepoint problems,
    Statistics and Computing 16, 203.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.monitoring import segment
    >>> rng = np.random.default_rng(0)
    >>> series = np.concatenate([rng.normal(0, 1, 40), rng.normal(4, 1, 40)])
    >>> segment(series).change_points
    array([40])
    """
    refuse_model(y)
    refuse_unreadable(X=X, y=y)
    last_time(None, X=X, y=y)
    if model is not None and watches_by_estimator(model):
        raise ValueError(f"segment needs a segment model in closed form, got {type(model).__name__}")
    if y is None:
        refuse_counters(X)
    index, X = index_of(X), as_table(X, y)
    n_rows, needs_y = len(X), model is not None and model.needs_y
    with cells_named(takes_missing=True, X=X, y=y if needs_y else None):
        if needs_y:
            X, y = check_X_y(X, y, dtype=np.float64, order="C", y_numeric=True, ensure_all_finite="allow-nan")
        else:
            X, y = check_array(X, dtype=np.float64, order="C", ensure_all_finite="allow-nan"), None
    present = ~np.isnan(X).any(axis=1) if y is None else ~np.isnan(np.column_stack([X, y])).any(axis=1)
    if not present.any():
        raise ValueError("every row has a missing cell (NaN): there is nothing to segment")
    rows, X, y = np.flatnonzero(present), X[present], None if y is None else y[present]
    chosen: Any = clone(model) if model is not None else suited(X)
    chosen.check(X, 0)
    values = FewValues()
    if chosen.is_density and (found := values.look(X)):
        warn_caller(complaint(found, values.n_seen, None, chosen))
    runs = RunFilter(chosen, hazard, max_runs, X.shape[1])
    if chosen.warm_up:
        chosen.settle(runs.runs, X[: chosen.warm_up], None if y is None else y[: chosen.warm_up])
    posteriors, before, place = _forward(runs, X, y)
    changes = []
    while place:
        changes.append(place)
        place = before[place]
    probability: Any = np.zeros(n_rows)
    probability[rows] = _backward(posteriors)
    if index is not None:
        import pandas  # the caller has it: the rows came in one of its objects

        probability = pandas.Series(probability, index=index, name="probability")
    change_points = rows[np.array(changes[::-1], dtype=np.int64)]
    return Segmentation(change_points, probability, runs.log_evidence, n_rows - len(rows), chosen)


def suited(X: np.ndarray) -> SegmentModel:
    """A segment model for rows of which nothing is known: classes, counts, or numbers."""
    if all(rests(x) for x in X.T):
        return SeriesSegment()
    if np.all((X == 0) | (X == 1)):
        return CategorySegment(n_categories=2)
    is_whole = np.all((X >= 0) & (X == np.floor(X))) and X.max() < 2.0**53
    # mean up to which a density of numbers does not do for counts, and the share of it that a variance of
    # counts has at least: of Poisson counts it is 1
    mean = X.mean(axis=0)
    if is_whole and np.all(mean < 30.0) and np.all(X.var(axis=0) > 0.5 * mean):
        return CountSegment(sizes=DISPERSED_SIZES)
    return SeriesSegment()


def rests(x: np.ndarray) -> bool:
    """Whether a column moves less than a quarter as often as if its values came in any order."""
    _, times = np.unique(x, return_counts=True)
    return len(times) == 1 or bool(np.mean(np.diff(x) != 0) < 0.25 * (1 - np.sum((times / len(x)) ** 2)))


def _forward(runs: RunFilter, X: np.ndarray, y: np.ndarray | None):
    """Posterior (starts, weights) after each row; the best predecessor of each start; the best last start."""
    stay, change = math.log1p(-runs.hazard), math.log(runs.hazard)
    posteriors: list[tuple[np.ndarray, np.ndarray]] = []
    before = np.zeros(len(X), dtype=np.int64)
    best = np.zeros(0)  # M of each run that is followed
    done = 0
    while done < len(X):
        stop = min(len(X), done + runs.room())
        R = runs.count
        block = runs.absorb(X[done:stop], None if y is None else y[done:stop])
        start = runs.start[: runs.count].copy()
        for i, t in enumerate(range(done, stop)):
            new = 0.0
            if t:
                leader = int(best.argmax())
                before[t], new = start[leader], best[leader] + change
            best = np.append(best + stay, new) + block.log_p[i, : R + i + 1]
            weight = block.weight[i, : R + i + 1]
            posteriors.append((start[: R + i + 1], weight / weight.sum()))
        runs.prune()
        best = best[np.isin(start, runs.start[: runs.count])]
        done = stop
    return posteriors, before, int(runs.start[: runs.count][best.argmax()])


def _backward(posteriors: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Probability of a change at each row, given all."""
    n = len(posteriors)
    p = np.zeros(n + 1)
    p[n] = 1.0  # after the last row the segment surely ends
    for t in range(n, 0, -1):
        start, weight = posteriors[t - 1]
        p[start] += p[t] * weight
    p[0] = 0.0  # the first row begins a segment without a change
    return p[:n]


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
    >>> x = np.repeat([0.0, 6.0, 0.0], 25) + np.random.default_rng(0).normal(size=75)
    >>> series = pd.Series(x, index=pd.date_range("2024-01-01", periods=75))
    >>> detector = EvidenceDetector().fit(series)
    >>> detector.predict(series)["ilocs"].tolist()
    [25, 50]
    >>> detector.transform(series)["labels"].value_counts().tolist()
    [25, 25, 25]
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
