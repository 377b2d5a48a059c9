"""Sequences of rows: where they start, and which of their rows are left out."""

from typing import Any

import numpy as np


def positions(n_rows: int, lengths: Any, before: int) -> np.ndarray:
    """The place of each row in its sequence, from 0; the first sequence has ``before`` rows already, (n,).

    ValueError in words for lengths that do not add up, or are no lengths.
    """
    if lengths is None:
        return before + np.arange(n_rows)
    given = np.asarray(lengths)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu":
        raise ValueError(f"lengths must be a list of whole numbers, the rows of each sequence: {lengths!r}")
    if given.sum() != n_rows:
        raise ValueError(f"lengths add up to {given.sum()}, and X has {n_rows} rows")
    if (short := np.flatnonzero(given < 2)).size:
        which = int(short[0])
        raise ValueError(
            f"sequence {which} has {given[which]} row{'s' * int(given[which] != 1)}, which says nothing of "
            "transitions: a sequence has two rows or more, and independent rows are those of a mixture"
        )
    starts = np.repeat(np.cumsum(given) - given, given)
    place = np.arange(n_rows) - starts
    return np.where(starts == 0, place + before, place)
