"""Selection by evidence in scikit-learn's searches: scorers, and a split that trains on all rows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from .._compat import num_samples
from ..exceptions import warn_caller
from ._candidates import ONE_MAX_ORDER, last_step

#: Warnings of the fits of a search by log evidence, while it runs: a score is a number.
WORDS_OF_FITS: ContextVar[dict[float, tuple[str, ...]] | None] = ContextVar("words_of_fits", default=None)


@contextmanager
def words_of_fits() -> Iterator[dict[float, tuple[str, ...]]]:
    """Warnings of the fits that are scored in this thread and block, by log evidence."""
    found: dict[float, tuple[str, ...]] = {}
    token = WORDS_OF_FITS.set(found)
    try:
        yield found
    finally:
        WORDS_OF_FITS.reset(token)


def _weighted(scorer: Callable[..., float]) -> Callable[..., float]:
    """Say to a search of scikit-learn that weights are in the score: it asks even functions since 1.9."""
    scorer._accept_sample_weight = lambda: True  # type: ignore[attr-defined]
    return scorer


@_weighted
def evidence_scorer(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    """Log evidence of the rows that an estimator was fitted on, as a scorer for ``GridSearchCV``.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator with ``log_evidence_``, also as the last step of a pipeline, frozen, or an
        :class:`EvidenceModelAverager`.
    X, y, sample_weight : object
        Not used: the evidence is that of the training rows.

    Returns
    -------
    float
        Nats.

    Raises
    ------
    TypeError
        If the estimator has no ``log_evidence_``.

    Warns
    -----
    EvidenceWarning
        If an autoregression is given as many rows as its order says, since other orders would be scored on
        other rows.  :class:`EvidenceSearch` compares the rows itself.

    See Also
    --------
    FullData : The split to use it with.
    evidence_scorers : Keeps the error bar too, for :func:`compare`.

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
    if getattr(model, "n_conditioned_", 0) and model.max_order is None:
        words = "a search may compare log evidences of different rows without seeing it"
        warn_caller(f"{words}{ONE_MAX_ORDER}")
    return _read(estimator, "log_evidence_")


@_weighted
def checked_scorer(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    """Log evidence, nats, for a search that compares the rows of its candidates itself."""
    return _read(estimator, "log_evidence_")


@_weighted
def _evidence_std_scorer(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    """Standard error of the log evidence, nats."""
    return _read(estimator, "log_evidence_std_")


@_weighted
def _n_samples_scorer(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    """Rows that the evidence is of."""
    return _read(estimator, "n_samples_seen_")


@_weighted
def _n_warnings_scorer(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    """Number of reasons that the fit gives to doubt its evidence."""
    words = tuple(getattr(last_step(estimator), "warnings_", ()))
    if (found := WORDS_OF_FITS.get()) is not None:
        log_Z = _read(estimator, "log_evidence_")
        found[log_Z] = words or found.get(log_Z, ())
    return float(len(words))


@_weighted
def _fingerprint_scorer(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    """Checksum of these rows, 32 bits, which a double holds exactly."""
    return _read(estimator, "data_fingerprint_")


def _read(estimator: Any, attribute: str) -> float:
    model = last_step(estimator)
    try:
        return float(getattr(model, attribute))
    except AttributeError:
        raise TypeError(
            f"{type(model).__name__} has no {attribute}: evidence_scorer needs a fitted estimator of "
            "sgevidence, alone or as the last step of a pipeline"
        ) from None


#: Scorers for ``GridSearchCV(..., scoring=evidence_scorers, refit="log_evidence", cv=FullData())`` that keep
#: what a comparison needs: the evidence, its error bar, which rows it is of, and whether the fit warned.  A
#: single scorer cannot keep the error bar: with one split ``std_test_score`` is 0, which reads as certainty.
evidence_scorers = {
    "log_evidence": evidence_scorer,
    "log_evidence_std": _evidence_std_scorer,
    "n_samples_seen": _n_samples_scorer,
    "data_fingerprint": _fingerprint_scorer,
    "n_warnings": _n_warnings_scorer,
}


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

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
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

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
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
