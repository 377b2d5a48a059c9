"""Estimators that have learnt from different rows become one, where exact sums say all of the rows."""

import copy
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..exceptions import EvidenceWarning
from ..samplers import ChunkRecord, thinned
from ..transitions import Proposed, State, merged
from ._base import EvidenceEstimator
from ._density import DensityEstimator
from ._input import joined_fingerprint
from ._levels import checksum
from ._series import SeriesEstimator
from ._stream import Stream


def merge(first: Any, *others: Any) -> Any:
    """An estimator that has learnt the rows of several: of partitions, machines or days.

    The sums that a linear regression or a mixture of one component keeps are without rounding, so that the
    log evidence has the digits of one ``fit`` on all rows, in whatever order they are merged.

    Parameters
    ----------
    first, *others : fitted estimators
        :class:`~sgevidence.BayesianLinearRegression` or :class:`~sgevidence.BayesianGMM` with one component,
        with the same parameters.  No row may have been seen by two of them.  They are left as they are.

    Returns
    -------
    estimator
        Its ``evidence_path_`` is that of ``first`` with one more entry for each of the others.

    Raises
    ------
    ValueError
        If they differ in a parameter, as of the prior, in the columns, or in the units that
        ``standardize=True`` has taken; if the model or the sampler has no exact sums.
    TypeError
        If they are not estimators of one class, or learn a series.
    sklearn.exceptions.NotFittedError
        If one has not learnt.

    Warns
    -----
    EvidenceWarning
        If two have the same ``data_fingerprint_``: the rows are then counted twice.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianLinearRegression, merge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 2))
    >>> y = X[:, 0] + rng.standard_normal(100)
    >>> parts = [BayesianLinearRegression().fit(X[k::2], y[k::2]) for k in range(2)]
    >>> merge(*parts).log_evidence_ == BayesianLinearRegression().fit(X, y).log_evidence_
    True
    """
    for estimator in (first, *others):
        if not isinstance(estimator, EvidenceEstimator) or type(estimator) is not type(first):
            kinds = " and ".join(dict.fromkeys(type(e).__name__ for e in (first, *others)))
            raise TypeError(f"merge takes fitted estimators of one class of this package, got {kinds}")
        estimator._must_be_fitted()
        if isinstance(estimator, SeriesEstimator):
            raise TypeError(
                "parts of a series cannot be merged, since each is given the end of the one before: learn "
                "one after the other with partial_fit"
            )
    whole = copy.copy(first)
    for other in others:
        _refuse_differences(whole, other)
        _add(whole, other)
    return whole


def _add(whole: EvidenceEstimator, other: EvidenceEstimator) -> None:
    """Let ``whole``, which is nobody else's, take in what ``other`` has seen."""
    if not all(one._stream is not None and isinstance(one._stream.state, State) for one in (whole, other)):
        name = type(whole._sampler()).__name__
        raise ValueError(f"{name} keeps no exact sums that could be merged: learn with SGAIS(), the default")
    assert whole._stream is not None and other._stream is not None
    rng, before = copy.deepcopy(whole._stream.rng), whole._stream.state
    state = merged(before, other._stream.state, whole._model, rng.spawn(1)[0])
    record = ChunkRecord.of(before, state, [Proposed(1)])
    if whole.data_fingerprint_ == other.data_fingerprint_ and whole.n_samples_seen_ == other.n_samples_seen_:
        warnings.warn(
            "two estimators have seen the same rows, by data_fingerprint_: merged, each row counts twice",
            EvidenceWarning,
            stacklevel=3,
        )
    whole._stream = Stream(rng, state, thinned([*whole._stream.records, record]))
    whole._doubts = list(dict.fromkeys([*whole._doubts, *other._doubts]))
    n_columns = 1 + (other.n_features_in_ if isinstance(other, DensityEstimator) else 1)  # and the weight
    n_bytes = 8 * n_columns * other.n_samples_seen_
    whole.data_fingerprint_ = joined_fingerprint(whole.data_fingerprint_, other.data_fingerprint_, n_bytes)
    whole.n_samples_seen_ += other.n_samples_seen_
    whole._weight_seen += other._weight_seen
    whole._report(state, state.all_weights.W)


def _refuse_differences(one: EvidenceEstimator, other: EvidenceEstimator) -> None:
    """Two evidences add up only if they are of one model and one set of columns.

    Raises
    ------
    ValueError
        Naming what differs.
    """
    for name in one._settings | other._settings:
        a, b = one._settings.get(name), other._settings.get(name)
        if a != b:
            raise ValueError(f"models cannot be merged that differ in {name}: {a!r} and {b!r}")
    for name in ("n_features_in_", "feature_names_in_", "columns_"):
        left, right = getattr(one, name, None), getattr(other, name, None)
        if not _same([left], [right]):
            raise ValueError(f"rows with other columns cannot be merged: {name} is {left} and {right}")
    if checksum(getattr(one, "categories_", [])) != checksum(getattr(other, "categories_", [])):
        raise ValueError("models cannot be merged whose levels differ: give the levels of all as categories=")
    if not _same(one._units or (), other._units or ()):
        raise ValueError(
            "models cannot be merged whose units differ: standardize=True takes them from the first call's "
            "rows, so state standardize=False and divide the columns of all parts by the same numbers"
        )
    if one._model != other._model:
        raise ValueError(f"models cannot be merged that differ: {one._model} and {other._model}")


def _same(some: Iterable[Any], others: Iterable[Any]) -> bool:
    return [np.ravel(a).tolist() for a in some] == [np.ravel(b).tolist() for b in others]
