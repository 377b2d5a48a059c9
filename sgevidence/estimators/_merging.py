"""Estimators that have learnt from different rows become one, where sums say all of the rows.

Sums by level of two models with terms under the numbers of all levels, in the units of the first.
"""

import copy
from typing import Any

import numpy as np

from ..effects import BSpline, ColumnMaps, LevelSums, Monotone, Smooth, relaid
from ..exceptions import warn_caller
from ..history import Rows
from ..rows import checksum, joined_fingerprint
from ..samplers import ChunkRecord, thinned
from ..transitions import Info, State, merged
from ..units import Units, UnitWatch
from ._base import EvidenceEstimator
from ._calls import Stream
from ._conditional import DensityEstimator
from ._series import SeriesEstimator
from ._terms import set_sums, sums_of, terms_of, with_levels_of

#: Rows on which columns in two units are compared, for each column.
N_PROBES_PER_COLUMN = 4


def in_terms_of(whole: Any, other: Any) -> Any:
    """A copy of ``other`` with the sums that ``whole`` would have of its rows; ``whole`` learns its levels.

    ValueError where sums do not say them.
    """
    refuse_terms(whole, other)
    before, sums = other._units.coding, sums_of(other)
    maps = ColumnMaps.between(before.layout, *probed(whole, other))
    if maps is None:
        raise ValueError(
            "models with slopes without an intercept, or products without their main effects, cannot be "
            "merged in different units: give both the same units="
        )
    with_levels_of(whole, whole._read.united(other._read))
    out = copy.copy(other)
    layout, places = whole._units.coding.layout, before.places(whole._read)
    set_sums(out, relaid(sums, before.layout, layout, places, maps))
    return out


def refuse_terms(whole: Any, other: Any) -> None:
    """Only groups, factors and products of Gaussian y have sums that add up."""
    if not all(isinstance(sums_of(one), LevelSums) for one in (whole, other)) or whole.evidence_is_relative_:
        raise ValueError(
            "models with terms can be merged where y is Gaussian and a term is a Group, and not with "
            "prior='jzs': learn one after the other with partial_fit"
        )
    if any(isinstance(term, Smooth | BSpline | Monotone) for term in terms_of(whole)):
        raise ValueError(
            "models with curves or monotone effects cannot be merged: their knots and means are those of the "
            "first rows"
        )
    if (terms_of(whole), whole._read.linear) != (terms_of(other), other._read.linear):
        raise ValueError(f"models cannot be merged whose terms differ: {terms_of(whole)}, {terms_of(other)}")


def probed(whole: Any, other: Any) -> tuple[tuple, tuple]:
    """Columns and y of the same random rows, as the other one and the whole see them."""
    # seed of the rows: where a map is exact, any rows give it
    rng, units, columns = np.random.default_rng(0), whole._units.units, other._read
    n = N_PROBES_PER_COLUMN * other._units.coding.layout.n_columns + 20
    numbers = units.center + units.scale * rng.standard_normal((n, len(units.scale)))
    codes = [rng.integers(0, len(levels.number), n) for levels in columns.levels]
    rows = Rows.of(np.column_stack([numbers, *codes]), units.restored_y(rng.standard_normal(n)))
    seen = [one._units.rows(rows) for one in (other, whole)]
    return tuple((one.X, one.y) for one in seen)  # type: ignore[return-value]


def merge(first: Any, *others: Any) -> Any:
    """An estimator that has learnt the rows of several: of partitions, machines or days.

    The sums that a linear regression or a mixture of one component keeps say all of its rows, so that the
    log evidence is that of one ``fit`` on all rows, to about 10⁻⁹ nats and in whatever order they are
    merged.  With ``standardize=True`` the units are those of ``first``, in which the sums of the others are
    stated: the evidence is that of ``fit`` with ``units=first.units_``.  A column that is constant in
    ``first`` has the unit of the first of the others in which it is not.

    Parameters
    ----------
    first, *others : fitted estimators
        :class:`~sgevidence.BayesianLinearRegression` or :class:`~sgevidence.BayesianGMM` with one component,
        with the same parameters.  No row may have been seen by two of them.  They are left as they are.
        Each may have levels of groups of its own; factors and products are centred at the rows of ``first``.

    Returns
    -------
    estimator
        Its ``evidence_path_`` is that of ``first`` with one more entry for each of the others.

    Raises
    ------
    ValueError
        If they differ in a parameter, as of the prior, or in the columns; if the model or the sampler has no
        sums, or terms without a group, with curves or with ``prior="jzs"``.
    TypeError
        If they are not estimators of one class, or learn a series.
    sklearn.exceptions.NotFittedError
        If one has not learnt.

    Warns
    -----
    EvidenceWarning
        If two have the same ``data_fingerprint_``: the rows are then counted twice; and if all rows together
        have left the units of ``first``.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianLinearRegression, merge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 2))
    >>> y = X[:, 0] + rng.standard_normal(100)
    >>> parts = [BayesianLinearRegression().fit(X[k::2], y[k::2]) for k in range(2)]
    >>> whole = BayesianLinearRegression(units=parts[0].units_).fit(X, y)
    >>> abs(merge(*parts).log_evidence_ - whole.log_evidence_) < 1e-9
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
        _add(whole, _in_units_of(whole, other))
    return whole


def _add(whole: EvidenceEstimator, other: EvidenceEstimator) -> None:
    """Let ``whole``, which is nobody else's, take in what ``other`` has seen."""
    if not all(one._stream is not None and isinstance(one._stream.state, State) for one in (whole, other)):
        name = type(whole._sampler()).__name__
        raise ValueError(f"{name} keeps no sums that could be merged: learn with SGAIS(), the default")
    assert whole._stream is not None and other._stream is not None
    rng, before = copy.deepcopy(whole._stream.rng), whole._stream.state
    state = merged(before, other._stream.state, whole._model, rng.spawn(1)[0])
    record = ChunkRecord.of(before, state, [Info(n_proposals=1)])
    if whole.data_fingerprint_ == other.data_fingerprint_ and whole.n_samples_seen_ == other.n_samples_seen_:
        warn_caller(
            "two estimators have seen the same rows, by data_fingerprint_: merged, each row counts twice"
        )
    whole._stream = Stream(rng, state, thinned([*whole._stream.records, record]))
    whole._doubts = list(dict.fromkeys([*whole._doubts, *other._doubts]))
    n_columns = 1 + (other.n_features_in_ if isinstance(other, DensityEstimator) else 1)  # and the weight
    n_bytes = 8 * n_columns * other.n_samples_seen_
    whole.data_fingerprint_ = joined_fingerprint(whole.data_fingerprint_, other.data_fingerprint_, n_bytes)
    whole.n_samples_seen_ += other.n_samples_seen_
    whole._weight_seen += other._weight_seen
    slopes = whole._slopes_seen[-1][1] + other._slopes_seen[-1][1]
    whole._slopes_seen = (*whole._slopes_seen, (whole._weight_seen, slopes))
    whole._report(state)
    if whole._units is not None and whole.standardize:
        whole._watch = _watch_of_both(whole, other, state.memory.statistics)
        are_given, centred = whole.units is not None, whole._is_centred
        whole._doubt(whole._watch.doubt(whole._units, whole._column_names, are_given, centred))


def _watch_of_both(whole: Any, other: Any, sums: Any) -> UnitWatch:
    if getattr(whole, "_has_terms", False):
        return whole._watch.plus(other._watch, *_map(other._units.units, whole._units.units))
    weight, mean, scatter = sums.by_column()
    return UnitWatch(weight, weight * mean, scatter + weight * mean**2)


def _in_units_of(whole: EvidenceEstimator, other: EvidenceEstimator) -> EvidenceEstimator:
    """A copy whose sums are of rows in the units of the whole, which takes those of late columns from it."""
    if whole._units is None or other._units is None or other._stream is None:
        return other
    if getattr(whole, "_has_terms", False):
        return in_terms_of(whole, other)
    state = other._stream.state
    if not isinstance(state, State) or state.memory.statistics is None:
        return other
    whole._units = _with_late_columns(whole._units, other._units)
    factor, shift = _map(other._units, whole._units)
    sums, n = state.memory.statistics, state.memory.statistics.n_values
    sums = sums.affine(factor[:n], shift[:n])
    out = copy.copy(other)
    memory = state.memory._replace(statistics=sums)
    out._stream = other._stream._replace(state=state._replace(memory=memory))
    return out


def _with_late_columns(units: Units, other: Units) -> Units:
    """Units with those of others where a column has not varied, or the distance of two constants."""
    if units.spread is None or other.spread is None:
        return units
    are_two = other.waits & (units.center != other.center)
    scale = np.where(are_two, np.abs(units.center - other.center), other.scale)
    return units._replace(
        scale=np.where(units.waits, scale, units.scale),
        spread=np.where(units.waits, np.where(are_two, np.nan, other.spread), units.spread),
    )


def _map(before: Units, after: Units) -> tuple[np.ndarray, np.ndarray]:
    """Factors and shifts of the columns, and of y."""
    c, d = (np.append(units.center, units.y_center) for units in (before, after))
    s, t = (np.append(units.scale, units.y_scale) for units in (before, after))
    return s / t, (c - d) / t


def _refuse_differences(one: EvidenceEstimator, other: EvidenceEstimator) -> None:
    """Two evidences add up only if they are of one model and one set of columns."""
    for name in (one._settings | other._settings).keys() - {"units"}:
        a, b = one._settings.get(name), other._settings.get(name)
        if a != b:
            raise ValueError(f"models cannot be merged that differ in {name}: {a!r} and {b!r}")
    for name in ("n_features_in_", "feature_names_in_", "columns_"):
        left, right = (np.asarray(getattr(each, name, None)) for each in (one, other))
        if left.tolist() != right.tolist():
            raise ValueError(f"rows with other columns cannot be merged: {name} is {left} and {right}")
    if checksum(getattr(one, "categories_", [])) != checksum(getattr(other, "categories_", [])):
        raise ValueError("models cannot be merged whose levels differ: give the levels of all as categories=")
    if getattr(one, "_std_unit", None) != getattr(other, "_std_unit", None):
        raise ValueError(
            "parts whose standard errors known_std= differ in size cannot be merged: fit all rows"
        )
    if one._units is None and one._model != other._model:
        raise ValueError(f"models cannot be merged that differ: {one._model} and {other._model}")
