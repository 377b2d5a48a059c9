"""``fit`` of rows that nobody holds: validated where they are, a sample of them here, and sums of all.

Few rows are fetched and learnt as arrays are.  Where there are more than the sampler's reservoir holds, a
uniform sample of that size says what the rows look like, and sums over the parts make the answer
(:class:`~sgevidence.transitions.FromFolds`).  The sample is of the same rows however they are cut.
"""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from .._compat import num_samples
from ..answers import FoldsDoNotSuffice
from ..history import FoldedRows, Rows
from ..rows import Collection, Part, arrays_of, fingerprint, generator, joined_fingerprint, together
from ..units import Units, UnitWatch
from ._parts import Counter, LevelTaker, Reader, Taker, light, whole
from ._settings import settings

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
        return self.collection.fold(Reader(self.estimator, self.units, function))

    def each(self, function: Callable[[Rows], Any]) -> list[Any]:
        """Results of the function for each part."""
        return self.collection.each(Reader(self.estimator, self.units, function))


def learn_by_sums(estimator: Any, collection: Collection, X: Any, y: Any) -> None:
    """Forget what was seen and learn from the rows of a collection.

    ValueError on bad input, naming the part, and if sums do not tell the posterior of rows that cannot be
    read here.
    """
    sampler = estimator._sampler()
    counted = collection.each(Counter(is_classifier(estimator), get_tags(estimator).input_tags.allow_nan))
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
    drawn = together([part for part, inside in zip(collection.each(Taker(numbers)), numbers) if len(inside)])
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
    estimator._judge(sample, starts=True)


def _levels_shown(estimator: Any, collection: Collection) -> list[Part]:
    """Rows of all levels that columns have, by which the first call knows them."""
    if not (get_tags(estimator).input_tags.categorical or getattr(estimator, "_has_terms", False)):
        return []
    return [part for part in collection.each(LevelTaker(light(estimator))) if num_samples(part.X)]


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
