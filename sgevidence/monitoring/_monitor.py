"""The scikit-learn face of change-point detection by evidence.

Which watch a model needs: row by row, or chunk by chunk.

Rows of a stream that a monitor skips, since a cell is missing, and the numbers of the others.

A watch counts the rows that it has absorbed; what is reported counts the rows of the stream.
"""

import copy
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import column_or_1d

from .._compat import Interval, StrOptions, fit_context
from ..estimators import all_or_nothing
from ..exceptions import warn_caller
from ..rows import cells_named, last_time, refuse_unreadable, validated
from ._detection import Detection
from ._estimators import ChunkWatch, known_classes, watches_by_estimator
from ._input import (
    TimesInState,
    as_numbers,
    as_row,
    as_table,
    index_of,
    refuse_counters,
    refuse_model,
    with_times,
)
from ._series import SeriesSegment
from ._watch import Record, RowWatch, Watched


def present_rows(X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
    """Which rows have all their cells, (n,)."""
    present = ~np.isnan(X).any(axis=1)
    return present if y is None else present & ~np.isnan(y)


class SkippedRows(NamedTuple):
    """Numbers of the rows that were skipped, in order."""

    at: np.ndarray = np.zeros(0, dtype=np.int64)

    def extended(self, present: np.ndarray, first: int) -> "SkippedRows":
        """With those of a call whose first row is number ``first`` of the stream."""
        return SkippedRows(np.append(self.at, first + np.flatnonzero(~present)))

    def in_stream(self, absorbed: np.ndarray | int) -> np.ndarray:
        """Numbers in the stream of rows that are counted without those skipped."""
        before = np.searchsorted(self.at - np.arange(len(self.at)), absorbed, side="right")
        return np.asarray(absorbed) + before

    def absorbed(self, row: int) -> int | None:
        """Number without those skipped of a row of the stream; None if it was skipped."""
        before = int(np.searchsorted(self.at, row))
        return None if before < len(self.at) and self.at[before] == row else row - before

    def placed(self, detections: list[Detection]) -> list[Detection]:
        """Detections with rows and places as in the stream."""
        return [
            one._replace(
                declared_row=int(self.in_stream(one.declared_row)),
                change_row=int(self.in_stream(one.change_row)),
            )
            for one in detections
        ]


def make_watch(
    model: Any, hazard: float, threshold: float, max_runs: int | None, forget: bool
) -> RowWatch | ChunkWatch:
    """A watch that has seen nothing; it drops the segments before a declared change if it is to forget."""
    model = SeriesSegment() if model is None else clone(model)
    by_estimator = watches_by_estimator(model)
    if by_estimator and not hasattr(model, "partial_fit"):
        raise TypeError(
            f"{type(model).__name__} cannot be watched: it is no segment model and has no partial_fit"
        )
    names = {name.rsplit("__", 1)[-1] for name in model.get_params()}
    if "max_order" in names:  # every run would be given rows that the others have to explain
        raise TypeError(
            f"{type(model).__name__} cannot be watched: an autoregression that begins anew is given its "
            "first rows.  Watch RegressionSegment() with the values before each row as columns of X"
        )
    if any(name.rsplit("__", 1)[-1] == "formula" and value for name, value in model.get_params().items()):
        raise TypeError(
            f"{type(model).__name__} cannot be watched by its formula: rows are arrays here: "
            "give X and y, and terms= or columns= with numbers of columns in place of formula="
        )
    kind: type[RowWatch] | type[ChunkWatch] = ChunkWatch if by_estimator else RowWatch
    # twice as many runs change nothing that was measured
    max_runs = max_runs or (5 if by_estimator else 50)
    return kind(model, hazard, threshold, max_runs, forget)


class EvidenceMonitor(TimesInState, BaseEstimator):
    """Change points of a stream, declared as rows arrive, by the evidence of the segments between them.

    Changes come with probability ``hazard`` at each row; within a segment the rows follow ``model`` with
    parameters of their own.  The posterior of the last change is exact for conjugate models.

    Parameters
    ----------
    model : segment model, estimator or None, default=None
        The model of a segment.  None means :class:`~sgevidence.monitoring.SeriesSegment`: numbers in
        any units, with a level, a trend, an autoregression or a random walk.  Others with a closed form, from
        ``sgevidence.monitoring``: ``NormalSegment`` (many times faster, scaled rows), ``CategorySegment``,
        ``CountSegment``, ``RegressionSegment`` (y given X).  Or any estimator of this package or averager:
        each call of ``partial_fit`` is then one step.
    hazard : float, default=1/250
        Prior probability of a change at a row: one over the expected length of a segment.
    threshold : float, default=0.9
        A change is declared when the posterior probability of a change since the last declared one exceeds
        this.  A stream without changes has at most hazard · (1 − threshold) / threshold false alarms per row:
        1/2250 by default, and 1/5000 to 1/10 000 as measured (``false_alarm_rate_``).
    max_runs : int or None, default=None
        Number of hypotheses about the place of the last change; memory and the cost of a row are proportional
        to it.  None means 50 for models in closed form, and 5 for estimators.  A new hypothesis replaces the
        least probable one.
    reaction : {"none", "restart"} or callable, default="none"
        Reaction to a declared change.  "none" keeps all hypotheses, so that evidence and posterior
        stay exact and a false alarm can be outlived.  "restart" drops the segments that began before
        the declared place for good.  A callable is called as ``reaction(monitor, detection)`` when
        the update is complete.

    Attributes
    ----------
    change_points_ : ndarray of shape (n_detections,)
        Index of the first row of each new segment that was declared, counted from 0 over the stream.
    change_times_ : list
        Index entries of these rows, such as dates, where X came with a pandas index; else their numbers.
    detections_ : list of Detection
        ``declared_row``, ``change_row``, ``probability``, ``log_bayes_factor`` (nats).
    drift_detected, warning_detected : bool
        Whether the last update declared a change, and whether a change that is not declared is more probable
        than not, as in river.
    run_length_posterior_ : dict of str to ndarray
        ``start``, ``run_length`` and ``probability`` of each hypothesis about the present segment.
    log_evidence_ : float
        Log probability density of all rows under the segmented model, in nats, summed over all
        segmentations; after a "restart", the sum of the log predictive densities.
    log_predictive_ : ndarray
        Log predictive density given the rows before, of each row of the last update, or an estimator's chunk.
    log_predictive_path_ : dict of str to ndarray
        Log predictive density along the whole stream: ``n_samples``, the rows absorbed at the end of each
        step, and ``log_predictive``, the step's sum.  When there are 4096 steps, each two become one.
    change_probability_ : ndarray
        After each row of the last update, the probability of a change since the last declared one.
    false_alarm_rate_ : float
        Expected false alarms per row without a change: a measured fraction of the bound above (1 for
        estimators; by default 0.22 where rows have Gaussian noise about a level, 4.2 where volatility is seen
        to cluster, as that of returns does, 0.45 otherwise).  nan when ``miscalibration_`` is not None: then
        there is nothing to be promised.
    miscalibration_ : {"memory", "clusters", "tails", "columns"} or None
        How the rows are seen to differ from the predictions of the segments: rows lie on the same side of
        their predictions as those before them, rows far off come in clusters, too many are far off, or
        columns depend on each other.  None while nothing is seen, and with estimators, whose predictions
        are not tested.
    pruned_mass_ : float
        Sum of the posterior probabilities of the hypotheses that made room: the expected error of the
        posterior is at most this.
    n_samples_seen_, n_features_in_ : int
    n_skipped_ : int
        Rows that were skipped, since a cell is missing (NaN): they count as rows of the stream, and have no
        entry in ``log_predictive_`` and ``change_probability_``.  An estimator's rows must have all cells.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Only if X has column names.

    Warns
    -----
    EvidenceWarning
        Once a stream, if after 30 rows or more a column has shown 2 to 8 different values, none of them
        new in the second half: classes and counts are not for the default nor ``NormalSegment``.
        Once a stream, when ``miscalibration_`` is set.  Where the model is right, that happens to at most
        one stream in a thousand, however long the stream is and however often one looks.

    See Also
    --------
    segment : All rows at hand: the posterior of the changes given the whole series.

    Notes
    -----
    With r rows since the last declared change, ``log_bayes_factor`` is the log posterior odds of a change
    since less the log prior odds, log[(1 − (1 − hazard)^r) / (1 − hazard)^r].

    References
    ----------
    R. P. Adams, D. J. C. MacKay (2007), Bayesian Online Changepoint Detection, arXiv:0710.3742.
    P. Fearnhead, Z. Liu (2007), On-line inference for multiple changepoint problems, Journal of the
    Royal Statistical Society B 69, 589.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import EvidenceMonitor
    >>> from sgevidence.monitoring import NormalSegment
    >>> rng = np.random.default_rng(0)
    >>> monitor = EvidenceMonitor(NormalSegment())
    >>> for x in np.concatenate([rng.normal(0, 1, 300), rng.normal(3, 1, 50)]):
    ...     monitor = monitor.partial_fit([[x]])
    ...     if monitor.drift_detected:
    ...         found = monitor.detections_[-1]
    ...         print(f"at row {found.declared_row}: a change at row {found.change_row}")
    at row 301: a change at row 300
    """

    _parameter_constraints: dict = {
        "model": [BaseEstimator, None],
        "hazard": [Interval(Real, 0, 1, closed="neither")],
        "threshold": [Interval(Real, 0.5, 1, closed="left")],
        "max_runs": [Interval(Integral, 2, None, closed="left"), None],
        "reaction": [StrOptions({"none", "restart"}), callable],
    }

    detections_: list[Detection]
    n_samples_seen_: int
    _skipped: np.ndarray
    _record: Record
    _times: dict

    def __init__(
        self,
        model: BaseEstimator | None = None,
        *,
        hazard: float = 1 / 250,
        threshold: float = 0.9,
        max_runs: int | None = None,
        reaction: str | Callable = "none",
    ) -> None:
        self.model = model
        self.hazard = hazard
        self.threshold = threshold
        self.max_runs = max_runs
        self.reaction = reaction

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Forget what was seen and watch these rows as if they arrived one after the other.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples,) without y
            A one-dimensional X is a series, and not a row.  Times in the index of a pandas object must be in
            order, from call to call, too.  Rows with a missing cell (NaN), also in y, are skipped.
        y : array-like of shape (n_samples,), optional
            Needed if the model is one of y given X.

        Returns
        -------
        self : EvidenceMonitor

        Raises
        ------
        ValueError
            On bad input, a column that counts ten rows or more, as one of years does, which belongs into the
            index, or a row too far out for floating point; nothing has changed then.
        """
        return self._absorb(X, y, reset=True)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, classes=None):
        """Watch more rows, one or a chunk.  Parameters and errors as in :meth:`fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples,) without y
        y : array-like of shape (n_samples,), optional
        classes : array-like of shape (n_classes,), optional
            For a classifier, at the first call: all labels that may ever come.

        Returns
        -------
        self : EvidenceMonitor
        """
        return self._absorb(X, y, reset=False, classes=classes)

    def _absorb(self, X, y, reset: bool, classes=None) -> "EvidenceMonitor":
        with all_or_nothing(self):
            reset = reset or not hasattr(self, "_watch")
            # an estimator is copied before it learns, the arrays of a closed form are not
            watch = self._new_watch() if reset else self._copied()
            refuse_model(y)
            X = as_numbers(X)  # nan in an array is a missing cell, and None or pandas.NA a fault
            refuse_unreadable(X=X, y=y)
            self._last_time = last_time(None if reset else getattr(self, "_last_time", None), X=X, y=y)
            if reset and y is None:
                refuse_counters(X)
            index = index_of(X)
            X, y = self._validate(as_table(X, y), y, watch, reset)
            if isinstance(watch, ChunkWatch) and reset:
                watch.classes = known_classes(watch.model, y, classes)
            first, times = (0, {}) if reset else (self.n_samples_seen_, self._times)
            n_rows, skipped = len(X), SkippedRows() if reset else SkippedRows(self._skipped)
            if not isinstance(watch, ChunkWatch):
                present = present_rows(X, y)
                X, y, skipped = (
                    X[present],
                    None if y is None else y[present],
                    skipped.extended(present, first),
                )
            found = watch.learn(X, y) if len(X) else Watched.together([])
            names = getattr(self, "feature_names_in_", getattr(self, "_names", None))
            for words in watch.complaints(X, names) if len(X) else ():
                warn_caller(words)
            times, detections = with_times(skipped.placed(found.detections), times, index, first)
            found = found._replace(detections=detections)
            self._times = {
                row: time
                for row, time in times.items()
                if (at := skipped.absorbed(row)) is not None and watch.can_change_at(at)
            }
            self._store(watch, found, n_rows, skipped, reset)
        if callable(self.reaction):
            for detection in found.detections:
                self.reaction(self, detection)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.model is None or not watches_by_estimator(self.model)
        return tags

    def _new_watch(self) -> RowWatch | ChunkWatch:
        return make_watch(self.model, self.hazard, self.threshold, self.max_runs, self.reaction == "restart")

    def _copied(self) -> RowWatch | ChunkWatch:
        return copy.copy(self._watch) if isinstance(self._watch, ChunkWatch) else copy.deepcopy(self._watch)

    def _validate(self, X, y, watch: RowWatch | ChunkWatch, reset: bool):
        """Copies of the rows: the caller may go on using the buffers."""
        if isinstance(watch, ChunkWatch):
            X = validated(self, X, reset=reset, order="C", copy=True)
            return X, None if y is None else column_or_1d(y, warn=True).copy()
        checks = {"reset": reset, "order": "C", "copy": True, "ensure_all_finite": "allow-nan"}
        if not watch.model.needs_y:
            return validated(self, X, **checks), None
        if y is None:
            raise ValueError(
                f"{type(watch.model).__name__} is a model of y given X: requires y to be passed, "
                "but the target y is None"
            )
        with cells_named(self, takes_missing=True, y=y):
            y = column_or_1d(y, warn=True).astype(np.float64)
        X, _ = validated(self, X, np.where(np.isnan(y), 0.0, y), y_numeric=True, **checks)
        return X, y

    def _store(
        self, watch: RowWatch | ChunkWatch, found: Watched, n_rows: int, skipped: SkippedRows, reset: bool
    ) -> None:
        self._watch, self._skipped = watch, skipped.at
        old = [] if reset else self.detections_
        self.detections_ = [*old, *found.detections]
        self.change_points_ = np.array([d.change_row for d in self.detections_], dtype=np.int64)
        self.change_times_ = [d.change_row if d.time is None else d.time for d in self.detections_]
        self._detected_now = bool(found.detections)
        self.log_predictive_ = found.log_predictive
        self.change_probability_ = found.change_probability
        self.log_evidence_ = watch.log_evidence
        self.false_alarm_rate_ = watch.overshoot * self.hazard * (1.0 - self.threshold) / self.threshold
        self.miscalibration_ = watch.finding
        self.pruned_mass_ = watch.pruned
        self.n_samples_seen_ = n_rows + (0 if reset else self.n_samples_seen_)
        self.n_skipped_ = len(skipped.at)
        last = self.n_samples_seen_ - self.n_skipped_ - 1
        steps = skipped.in_stream(last - np.arange(len(found.log_predictive))[::-1]) + 1
        self._record = (Record() if reset else self._record).extended(steps, found.log_predictive)

    def update(self, x, y=None) -> None:
        """One row, as river's drift detectors take it: then ask ``drift_detected``.

        Parameters
        ----------
        x : float, dict of str to float or array-like of shape (n_features,)
            The features of a dict are the same at each call.
        y : float, optional
            Needed if the model is one of y given X.
        """
        row, names = as_row(x, getattr(self, "_names", None))
        self.partial_fit(row, None if y is None else [y])
        self._names = names

    def _must_have_rows(self, name: str) -> None:
        if not hasattr(self, "_watch"):
            raise AttributeError(f"EvidenceMonitor has no {name} before it has seen rows")

    @property
    def drift_detected(self) -> bool:
        """Did the last update declare a change?"""
        return getattr(self, "_detected_now", False)

    @property
    def warning_detected(self) -> bool:
        """Is a change more probable than not, and not declared yet?"""
        seen = getattr(self, "change_probability_", np.zeros(1))
        return not self.drift_detected and bool(seen[-1:].sum() > 0.5)

    @property
    def log_predictive_path_(self) -> dict[str, np.ndarray]:
        """Log predictive density of each step of the stream, and ``n_samples``, rows absorbed by then."""
        self._must_have_rows("log_predictive_path_")
        return {name: values.copy() for name, values in self._record._asdict().items()}

    @property
    def run_length_posterior_(self) -> dict[str, np.ndarray]:
        """First row, length and probability of each hypothesis about the present segment, longest first.

        Lengths are without rows that were skipped.
        """
        self._must_have_rows("run_length_posterior_")
        start, probability, n_seen = self._watch.posterior()
        rows = SkippedRows(self._skipped).in_stream(start)
        return {"start": rows, "run_length": n_seen - start, "probability": probability}
