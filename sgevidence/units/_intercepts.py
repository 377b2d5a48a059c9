r"""Where an intercept is measured from: the link of the mean, which a change of the unit of exposure moves
along.

    times:     b₀ = log Σ w (t − e) e^(−o) / (Σ w event + ½)
    log link:  b₀ = log (Σ w y + ½) / Σ w e^o          logit, probit:  Σ w m p(b₀ + o) = N (s + ½) / (N + 1)
    softmax:   b₀ₖ = log (n_k + ½) / (n + K/2)

=====  ==========================================================
o, m   offset and trials of a row, 0 and 1 by default; w its weight
e      entry of a time, 0 by default; an event is a time with an upper bound
s, N   successes Σ w y and trials Σ w m
n_k    weight of class k, n of all K
=====  ==========================================================

A mean of positive numbers needs no half (``gamma``): it is never zero.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import logit, ndtri

from ..history import Rows
from ..models import Family, Times
from ._moments import BLOCK_ROWS

#: Prior standard deviation of the intercept about the link of the mean, where a link has no unit: at 1 a
#: Poisson slope of 2 or 3 loses 1.8 and 8.6 nats by the centring, at 2.5 0.3 and 1.4.
LINK_SCALE = 2.5

Fold = Callable[[Callable[[Rows], Any]], Any]


def intercept_center(family: Family, rows: Rows, has_offset: bool, fold: Fold | None) -> float:
    """b₀ of a family of numbers or counts."""
    fold = partial(_folded, rows) if fold is None else fold
    at = -1 - family.n_known if has_offset else None
    if isinstance(family.plain, Times):
        longest = 0.0 if at is None else float(np.max(-rows.X[:, at]))
        total, n_events = fold(partial(_times, at, longest))
        return float(np.log(total) + longest - np.log(n_events + 0.5))
    if family.link == "log":
        top = 0.0 if at is None else float(np.max(rows.X[:, at]))
        total, exposure = fold(partial(_log_sums, at, top))
        return float(np.log(total + family.half_a_count) - np.log(exposure) - top)
    if family.link in ("logit", "probit"):
        inverse: Any = logit if family.link == "logit" else ndtri
        successes, trials = fold(partial(_successes, bool(family.known)))
        p = (successes + 0.5) / (trials + 1)
        if at is None:
            return float(inverse(p))
        offsets = rows.X[:, at]
        low, high = inverse(p) - np.max(offsets) - 1, inverse(p) - np.min(offsets) + 1

        def excess(b: float) -> float:
            return float(fold(partial(_expected, family, at, b))) - trials * p

        while excess(low) > 0:  # rows elsewhere may have other offsets
            low -= high - low
        while excess(high) < 0:
            high += high - low
        return float(brentq(excess, low, high, xtol=1e-12))
    return 0.0


def class_centers(rows: Rows, n_classes: int, fold: Fold | None) -> tuple[float, ...]:
    """b₀ₖ of a softmax."""
    fold = partial(_folded, rows) if fold is None else fold
    n = fold(partial(_class_weights, n_classes))
    return tuple(np.log((n + 0.5) / (n.sum() + n_classes / 2)).tolist())


def _folded(rows: Rows, function: Callable[[Rows], Any]) -> Any:
    return rows.fold(function, BLOCK_ROWS)


def _log_sums(at: int | None, top: float, rows: Rows) -> np.ndarray:
    assert rows.y is not None
    exposure = np.ones(len(rows)) if at is None else np.exp(rows.X[:, at] - top)
    return np.array([rows.weight @ rows.y, rows.weight @ exposure])


def _times(at: int | None, longest: float, rows: Rows) -> np.ndarray:
    assert rows.y is not None
    pace = np.ones(len(rows)) if at is None else np.exp(-rows.X[:, at] - longest)
    upper, entry = rows.X[:, -2:].T
    return np.array(
        [rows.weight @ ((rows.y - np.maximum(entry, 0.0)) * pace), rows.weight @ (upper < np.inf)]
    )


def _successes(has_known: bool, rows: Rows) -> np.ndarray:
    assert rows.y is not None
    trials = rows.X[:, -1] if has_known else np.ones(len(rows))
    return np.array([rows.weight @ rows.y, rows.weight @ trials])


def _expected(family: Any, at: int, b: float, rows: Rows) -> float:
    trials = rows.X[:, -1] if family.known else 1.0
    return float(rows.weight @ (trials * family.probability(b + rows.X[:, at])))


def _class_weights(n_classes: int, rows: Rows) -> np.ndarray:
    assert rows.y is not None
    return np.bincount(rows.y, weights=rows.weight, minlength=n_classes)
