"""Labels of classifiers as indices into ``classes_``, the same in every call of a stream."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d

#: Labels that are looked up at a time: a megabyte of numbers.
LABELS_AT_A_TIME = 100_000


def label_indices(
    estimator: Any,
    y: np.ndarray,
    reset: bool,
    classes: Any,
    of_first: Callable = np.unique,
    ordered: bool = False,
) -> np.ndarray:
    """Index of each label; a first call sets ``classes_``, by default to the labels ``of_first`` rows.

    Classes that are given are sorted, unless they are ``ordered``.

    ValueError if there are labels, or classes, that the first call did not have.
    """
    classes = None if classes is None else ordered_levels(classes) if ordered else all_labels(classes)
    if reset:
        estimator.classes_ = of_first(y) if classes is None else classes
    elif classes is not None and not np.array_equal(classes, estimator.classes_):
        raise ValueError(f"classes={classes!r} is not the same as on the first call: {estimator.classes_!r}")
    known, order = estimator.classes_, np.argsort(estimator.classes_)
    index, unknown = np.empty(len(y), dtype=np.intp), np.zeros(len(y), dtype=bool)
    for start in range(0, len(y), LABELS_AT_A_TIME):
        part = slice(start, start + LABELS_AT_A_TIME)
        index[part] = order[np.minimum(np.searchsorted(known, y[part], sorter=order), len(known) - 1)]
        unknown[part] = known[index[part]] != y[part]
    if np.any(unknown):
        raise ValueError(
            f"y has labels {np.unique(y[unknown])[:5].tolist()} that are not among the classes "
            f"{known.tolist()}: give all labels as classes= at the first call of partial_fit"
        )
    return index


def all_labels(classes: Any) -> np.ndarray:
    """All labels that may come, sorted."""
    if not np.size(classes):
        raise ValueError("classes is empty: give all labels that may ever come, or None if y has them all")
    return np.unique(column_or_1d(check_array(classes, ensure_2d=False, dtype=None, input_name="classes")))


def ordered_levels(classes: Any) -> np.ndarray:
    """Levels from the lowest to the highest, as they are given; ValueError if one of them is there twice."""
    found = all_labels(classes)
    given = np.asarray(classes)
    if len(given) != len(found):
        raise ValueError(f"classes={classes!r} has a level twice")
    return given


def levels_in(y: np.ndarray) -> np.ndarray:
    """Numbers of y in their order; ValueError for strings, whose order is not that of the alphabet."""
    found = np.unique(y)
    if found.dtype.kind not in "biuf":
        raise ValueError(
            f"y has levels {found[:5].tolist()}, whose order is not known: give classes=[lowest, ..., "
            "highest], or an ordered pandas categorical"
        )
    if len(found) < 2:
        raise ValueError(f"y has one level, {found[0]!r}: give all of them as classes= at the first call")
    return found


def categories_of(y: Any) -> Any:
    """Categories of an ordered pandas categorical, from the lowest to the highest; None of anything else."""
    dtype: Any = getattr(y, "dtype", None)
    return dtype.categories.to_numpy() if getattr(dtype, "ordered", False) else None


def two_labels(y: np.ndarray) -> np.ndarray:
    """The two labels of y; 0 and 1 also if only one of them is there.  ValueError for one other label."""
    found = np.unique(y)
    if len(found) == 1 and found.dtype.kind in "biuf" and found[0] in (0, 1):
        return np.array([0, 1], dtype=found.dtype)
    if len(found) == 1:
        raise ValueError(
            f"y has one class, {found[0]!r}: give both as classes= at the first call of partial_fit"
        )
    return found
