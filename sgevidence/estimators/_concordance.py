"""How well predictions order times of which some are censored.

    C = Σ w_i w_j [ t̂_i < t̂_j ] / Σ w_i w_j    over pairs whose event i came before time j,

with one half for equal predictions.

References
----------
F. E. Harrell, K. L. Lee, D. B. Mark (1996), Multivariable prognostic models, Statistics in Medicine 15, 361.
"""

from typing import Any

import numpy as np

from ..models import Times


def has_times(model: Any) -> bool:
    """Whether it is a regression of times."""
    return isinstance(getattr(model, "_family", None), Times)


def concordance(y: np.ndarray, predicted: np.ndarray, event: Any, sample_weight: Any = None) -> float:
    """C of times (n,) and predicted times (n,); ``event`` None: all times are of events.

    If an event and a censored time are equal, the event came first.  nan where the order of no pair is
    known.
    """
    event = np.broadcast_to(1.0 if event is None else np.asarray(event, float), y.shape)
    w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
    right = total = 0.0
    for i in np.flatnonzero(event):
        later = (y > y[i]) | ((y == y[i]) & (event == 0))
        pairs = w[i] * w[later]
        total += pairs.sum()
        right += pairs @ ((predicted[later] > predicted[i]) + 0.5 * (predicted[later] == predicted[i]))
    return float(right / total) if total else np.nan
