"""Rows of a Dask collection: fit of sums over all of them, predictions that stay lazy.

Few rows are fetched and learnt as arrays are.  Where there are more than the sampler's reservoir holds, a
uniform sample of that size says what the rows look like, and sums over the parts make the answer
(:class:`~sgevidence.transitions.FromFolds`).  The sample is of the same rows however they are cut.

Questions are put to each part of a collection, where it is: how many rows, some of them, sums of all.
"""

import copy
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets

from .._compat import num_samples
from ..answers import FoldsDoNotSuffice
from ..history import FoldedRows, Rows
from ..rows import (
    Collection,
    Part,
    WithKnown,
    arrays_of,
    blocks,
    fingerprint,
    generator,
    is_dask,
    joined_fingerprint,
    read_labels,
    together,
)
from ..units import Units, UnitWatch
from ._calls import settings

#: Child of the user's generator that chooses the sample: the sampler has the first three.
SAMPLE_STREAM = 3


class Survey(NamedTuple):
    """Report of a part on all of its rows."""

    n_rows: int
    weight: float
    lightest: float
    heaviest: float
    fingerprint: int
    n_bytes: int  #: that the fingerprint is of
    doubt: str | None


class ReadParts(NamedTuple):
    """Validated rows in parts."""

    estimator: Any
    collection: Collection
    units: Units | None

    def fold(self, function: Callable[[Rows], Any]) -> Any:
        """Σ over the parts."""
        return self.collection.fold(partial(of_read_rows, light(self.estimator), self.units, function))

    def each(self, function: Callable[[Rows], Any]) -> list[Any]:
        """Results of the function for each part."""
        return self.collection.each(partial(of_read_rows, light(self.estimator), self.units, function))


def learn_by_sums(estimator: Any, collection: Collection, X: Any, y: Any) -> None:
    """Forget what was seen and learn from the rows of a collection.

    ValueError on bad input, naming the part, and if sums do not tell the posterior of rows that cannot be
    read here.
    """
    sampler = estimator._sampler()
    counted = collection.each(
        partial(counted_rows, is_classifier(estimator), get_tags(estimator).input_tags.allow_nan)
    )
    lengths = np.array([part.n_rows for part in counted])
    try:
        # rows that are fetched for a sampler that does not say how many it keeps
        if lengths.sum() <= (getattr(sampler, "reservoir_size", None) or 100_000):
            return _learn_whole(estimator, collection)
        if not getattr(sampler, "takes_folded_rows", False):
            raise FoldsDoNotSuffice(f"{type(sampler).__name__} as it is set needs all rows at once")
        labels = [part.labels for part in counted if part.labels is not None and part.n_rows]
        _learn(estimator, sampler, collection, lengths, _all(labels), X, y)
    except FoldsDoNotSuffice as reason:
        if not collection.can_be_read:
            raise ValueError(
                f"{reason}; partial_fit(X, y) takes the parts of the collection one by one, which such a "
                "model can learn from"
            ) from None
        _learn_whole(estimator, collection)


def _learn_whole(estimator: Any, collection: Collection) -> None:
    estimator._absorb(*arrays_of(together(collection.each(whole))), True, None)


def _learn(
    estimator: Any, sampler: Any, collection: Any, lengths: np.ndarray, labels: Any, X: Any, y: Any
) -> None:
    estimator._doubts = []
    # a copy: the sampler will draw from the user's generator as it does of arrays
    rng = generator(copy.deepcopy(estimator.random_state)).spawn(SAMPLE_STREAM + 1)[SAMPLE_STREAM]
    drawn_numbers = np.sort(rng.choice(int(lengths.sum()), sampler.reservoir_size, replace=False))
    stops = np.cumsum(lengths)
    cut = np.split(drawn_numbers, np.searchsorted(drawn_numbers, stops[:-1]))
    numbers = [inside - (stop - length) for inside, stop, length in zip(cut, stops, lengths)]
    drawn = together(
        [part for part, inside in zip(collection.each(partial(taken, numbers)), numbers) if len(inside)]
    )
    shown = _levels_shown(estimator, collection)
    sample = estimator._rows(*arrays_of(together([drawn, *shown])), True, labels)[: len(drawn_numbers)]
    estimator._held = None
    estimator._take_units(sample, may_wait=False, fold=ReadParts(estimator, collection, None).fold)
    if estimator._units is not None:
        sample = estimator._units.rows(sample)
    estimator._model, estimator._settings = estimator._make_model(sample.X, sample.y), settings(estimator)
    estimator.n_samples_seen_, estimator._weight_seen, estimator._watch = 0, 0.0, UnitWatch.none()
    surveys = ReadParts(estimator, collection, None).each(partial(_survey, light(estimator)))
    found = [survey for survey in surveys if survey is not None]
    for words in dict.fromkeys(survey.doubt for survey in found):
        if words is not None and words not in estimator._doubts:
            estimator._doubt(words)
    weight = float(np.sum([survey.weight for survey in found]))
    equal = min(survey.lightest for survey in found) == max(survey.heaviest for survey in found)
    order = rng.permutation(len(sample))
    parts = ReadParts(estimator, collection, estimator._units)
    rows = FoldedRows(parts, lengths, weight, equal, sample.take(order), drawn_numbers[order])
    estimator._add(sampler, rows, weight, True, X, y)
    estimator.data_fingerprint_ = 0
    for survey in found:
        joint = joined_fingerprint(estimator.data_fingerprint_, survey.fingerprint, survey.n_bytes)
        estimator.data_fingerprint_ = joint
    estimator._watch_units(sample, starts=True)
    estimator._judge(sample, starts=True)


def _levels_shown(estimator: Any, collection: Collection) -> list[Part]:
    """Rows of all levels that columns have, by which the first call knows them."""
    if not (get_tags(estimator).input_tags.categorical or getattr(estimator, "_has_terms", False)):
        return []
    return [
        part for part in collection.each(partial(showing_levels, light(estimator))) if num_samples(part.X)
    ]


def _all(labels: list[np.ndarray]) -> np.ndarray | None:
    """Labels of all parts; None where there are none."""
    if not labels:
        return None
    if len({label.dtype.kind in "OUST" for label in labels}) > 1:
        raise ValueError("y has numbers in some parts and text in others")
    return np.unique(np.concatenate(labels))


def _survey(estimator: Any, rows: Rows) -> Survey:
    data = estimator._identity(rows)
    n_bytes = 8 * (1 if data.ndim == 1 else data.shape[1]) * len(rows) + 8 * len(rows)
    extremes = float(rows.weight.min()), float(rows.weight.max())
    return Survey(
        len(rows),
        rows.total_weight,
        *extremes,
        fingerprint(data, rows.weight, 0),
        n_bytes,
        estimator._doubt_of(rows),
    )


class Counted(NamedTuple):
    """Report of a part."""

    n_rows: int  #: of positive weight
    labels: np.ndarray | None  #: of these; None where y are numbers


def counted_rows(has_labels: bool, allows_gaps: bool, number: int, part: Part) -> Counted:
    """Rows of positive weight, and their labels; a value that is missing is refused by name."""
    kept = positive(part)
    if not allows_gaps:
        refuse_gaps(part)
    if not has_labels or part.y is None:
        return Counted(len(kept), None)
    y = read_labels(np.asarray(take_rows(part.y, kept)).ravel())
    if len(y):
        check_classification_targets(y)
    return Counted(len(kept), np.unique(y))


def taken(numbers: list[np.ndarray], number: int, part: Part) -> Part:
    """Rows by their numbers among those of positive weight, for each part."""
    indices = positive(part)[numbers[number]]
    return Part(*(take_rows(column, indices) for column in part))


def showing_levels(estimator: Any, number: int, part: Part) -> Part:
    """Rows of positive weight that show all levels of the part, where columns have levels."""
    kept = positive(part)
    indices = kept[estimator._first_of_levels(take_rows(part.X, kept))] if len(kept) else kept
    return Part(*(take_rows(column, indices) for column in part))


def of_read_rows(estimator: Any, units: Any, function: Callable[[Rows], Any], number: int, part: Part) -> Any:
    """A function of the validated rows of a part, in the units of the model.

    The estimator knows its columns and classes.
    """
    if not len(positive(part)):
        return None
    rows = estimator._rows(*arrays_of(part), False, None)
    return function(rows if units is None else units.rows(rows))


def light(estimator: Any) -> Any:
    """A copy that knows how to read rows, and has learnt nothing; doubts of rows are told by the sample."""
    out = copy.copy(estimator)
    # attributes of an estimator that stay here: what it has learnt, and who watches it
    for name in ("particles_", "particle_weights_", "_stream", "_result", "_skl_callbacks"):
        vars(out).pop(name, None)
    out.sampler = out.random_state = None
    out._doubt = _unheard
    return out


def _unheard(*doubts: str | None) -> None:
    """In the place of a warning where nobody would see it."""


def whole(number: int, part: Part) -> Part:
    """All of it."""
    return part


def positive(part: Part) -> np.ndarray:
    """Numbers of the rows that count.

    ValueError if columns have different lengths, or a weight is negative or missing.
    """
    n = num_samples(part.X)
    for name, column in zip(part._fields, part):
        if np.ndim(column) and num_samples(column) != n:
            raise ValueError(f"X has {n} rows and {name} {num_samples(column)}")
    if part.sample_weight is None or np.ndim(part.sample_weight) == 0:
        return np.arange(n)
    weight = np.asarray(part.sample_weight, dtype=float).ravel()
    if not np.all(weight >= 0):
        raise ValueError("sample_weight has values that are negative or missing")
    return np.flatnonzero(weight > 0)


def take_rows(column: Any, indices: np.ndarray) -> Any:
    """Rows of an array, a dataframe or a table; a number, and None, as it is."""
    if np.ndim(column) == 0 and not hasattr(column, "take"):
        return column
    if hasattr(column, "iloc"):
        return column.iloc[indices]
    return column.take(indices) if hasattr(column, "column_names") else column[indices]


def refuse_gaps(part: Part) -> None:
    """Values that are missing or infinite: ValueError names the column and the row in the part."""
    if hasattr(part.X, "column_names"):  # of a file, whose reader has looked
        return
    names = getattr(part.X, "columns", None)
    for k, column in enumerate(np.asarray(part.X).T):
        _refuse_gap(column, f"column {k if names is None else repr(names[k])}")
    for name, column in zip(part._fields[1:], part[1:]):
        if column is not None and np.ndim(column):
            _refuse_gap(np.asarray(column).ravel(), name)


def _refuse_gap(column: np.ndarray, name: str) -> None:
    has_value = np.isfinite(column) if column.dtype.kind == "f" else np.equal(column, column)
    if not np.all(has_value):
        row = int(np.argmin(has_value))
        raise ValueError(f"{name} has the value {column[row]} in row {row} of the part")


def by_parts(method: Callable) -> Callable:
    """A method that returns a number, or some, for each row: a Dask array for rows in a Dask collection.

    The array has the parts of X.  What else is in Dask must be cut as X is.
    """

    @wraps(method)
    def of_any(self: Any, X: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not is_dask(X.X if isinstance(X, WithKnown) else X):
            return method(self, X, *args, **kwargs)
        return _mapped(self, method.__name__, X, args, kwargs)

    return of_any


def _mapped(model: Any, name: str, X: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Parts of the answer, computed when they are asked for."""
    from dask import delayed

    model._must_be_fitted()  # what it warns of is told here, and not by workers
    model = copy.copy(model)  # as it is now: what it learns later is in values of its own
    known, shape = X if isinstance(X, WithKnown) else None, _shape(model, name)
    rows = X if known is None else known.X
    given: dict[Any, Any] = dict(enumerate(args)) | kwargs
    if known is not None:
        given |= known.given
    in_parts = {key: value for key, value in given.items() if is_dask(value) or num_rows(value) is not None}
    whole = {key: value for key, value in given.items() if key not in in_parts}
    pieces = [blocks(rows, rows, "X"), *(blocks(value, rows, str(key)) for key, value in in_parts.items())]
    if len({len(column) for column in pieces}) > 1:
        raise ValueError(f"X and {sorted(map(str, in_parts))} have different numbers of parts")
    travelling, of_part = delayed(model, pure=False, traverse=False), delayed(_of_part, pure=False)
    keys = list(in_parts)
    returns_std = name == "predict" and bool(whole.get("return_std", whole.get(0, False)))
    values = [of_part(travelling, name, keys, whole, returns_std, shape, *piece) for piece in zip(*pieces)]
    lengths = getattr(rows, "chunks", [[np.nan] * len(values)])[0]
    if not returns_std:
        return _joined(values, lengths, *shape)
    return tuple(_joined([value[k] for value in values], lengths, *shape) for k in range(2))


def _joined(values: list[Any], lengths: Any, rest: tuple[int, ...], dtype: Any) -> Any:
    import dask.array as da

    parts = [da.from_delayed(value, (length, *rest), dtype) for value, length in zip(values, lengths)]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _of_part(
    model: Any, name: str, keys: list[Any], whole: dict, returns_std: bool, shape: Any, X: Any, *columns: Any
) -> Any:
    given = whole | dict(zip(keys, columns))
    args = [given.pop(k) for k in range(len(given)) if k in given]
    if not num_samples(X):
        nothing = np.empty((0, *shape[0]), shape[1])
        return (nothing, nothing) if returns_std else nothing
    return getattr(model, name)(X, *args, **given)


def num_rows(value: Any) -> int | None:
    """Number of rows of an array that has one entry for each row; None of anything else."""
    return len(value) if np.ndim(value) and hasattr(value, "__array__") else None


def _shape(model: Any, name: str) -> tuple[tuple[int, ...], Any]:
    """Shape and type of what a method returns for each row."""
    n, dtype = model._choices
    if name == "predict":
        return (), dtype
    is_table = name in ("predict_proba", "predict_log_proba") or (name == "decision_function" and n > 2)
    return (n,) if is_table else (), np.float64
