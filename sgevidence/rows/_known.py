"""Columns beside X that are known: offset of a linear predictor, trials of a binomial, event of a time.

They travel with X to where all of it is validated, and are columns of the model's X then.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length

from ._bad_cells import cells_named
from ._input import refuse_unreadable


class WithKnown(NamedTuple):
    """Rows and what is known of them, not validated."""

    X: Any
    offset: Any = None  #: a number, or (n,); None: zero
    trials: Any = None  #: a number, or (n,); None: the family has none
    event: Any = None  #: a truth value, or (n,); None: all times are of events

    @property
    def given(self) -> dict[str, Any]:
        """Known columns that are given, by name."""
        return {name: value for name in KNOWN if (value := getattr(self, name)) is not None}


#: Names of known columns, in their order after X.
KNOWN = WithKnown._fields[1:]


def with_known(X: Any, offset: Any = None, trials: Any = None, event: Any = None) -> WithKnown:
    """All of it, made once on the way through methods that call each other."""
    return X if isinstance(X, WithKnown) else WithKnown(X, offset, trials, event)


def joined(X: np.ndarray, known: WithKnown) -> np.ndarray:
    """X followed by the columns that are known, all checked; else X itself, which may be large.

    ValueError if one of them is neither a finite number nor one per row, trials are no whole numbers, or
    events neither 0 nor 1.
    """
    columns = {name: column(value, name, X) for name, value in known.given.items()}
    trials, event = columns.get("trials", np.ones(1)), columns.get("event", np.ones(1))
    if np.any((trials < 0) | (trials != np.round(trials))):
        raise ValueError("trials must be whole numbers from zero")
    if np.any((event != 0) & (event != 1)):
        wrong = event[(event != 0) & (event != 1)][0]
        raise ValueError(
            f"event must be 1 where the event came and 0 where it is censored, but has {wrong:g}"
        )
    return np.column_stack([X, *columns.values()]) if columns else X


def column(values: Any, name: str, X: np.ndarray) -> np.ndarray:
    """One number per row, (n,)."""
    refuse_unreadable(**{name: values})
    if np.ndim(values) == 0:
        values = np.full(len(X), values)
    with cells_named(**{name: values}):
        values = check_array(values, dtype=np.float64, ensure_2d=False, input_name=name)
    check_consistent_length(X, values)
    if values.ndim != 1:
        raise ValueError(f"{name} must have one number per row, got shape {values.shape}")
    return values
