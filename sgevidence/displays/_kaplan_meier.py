r"""The share of a group whose event has not come yet, with censored times (Kaplan and Meier 1958).

    S(t) = Π_{t_j ≤ t} (1 − d_j / n_j)

The interval is Greenwood's, of log(−log S).

Symbols: ``events`` = d, at a time; ``at_risk`` = n, just before it.

References
----------
E. L. Kaplan, P. Meier (1958), Nonparametric estimation from incomplete observations, JASA 53, 457;
J. D. Kalbfleisch, R. L. Prentice (2002), The Statistical Analysis of Failure Time Data, section 1.4.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm


class KaplanMeier(NamedTuple):
    """Steps of the estimate, from time zero."""

    times: np.ndarray  #: 0 and those of events, (k,)
    survival: np.ndarray  #: from each of them on, (k,)
    low: np.ndarray  #: of a pointwise interval, nan where there is none, (k,)
    high: np.ndarray
    censored: np.ndarray  #: times that are censored

    @classmethod
    def of(cls, y: np.ndarray, event: np.ndarray, level: float = 0.9) -> "KaplanMeier":
        """From times (n,) and whether each is of an event (n,)."""
        times = np.unique(y[event])
        at_risk = np.array([np.sum(y >= t) for t in times], dtype=float)
        events = np.array([np.sum(event & (y == t)) for t in times], dtype=float)
        survival = np.cumprod(1 - events / at_risk)
        with np.errstate(divide="ignore", invalid="ignore"):
            greenwood = np.cumsum(events / (at_risk * (at_risk - events)))
            spread = norm.isf((1 - level) / 2) * np.sqrt(greenwood) / np.abs(np.log(survival))
            low, high = survival ** np.exp(spread), survival ** np.exp(-spread)
        start = np.ones(1)
        return cls(
            np.r_[0.0, times],
            np.r_[start, survival],
            np.r_[start, np.where(survival > 0, low, np.nan)],
            np.r_[start, np.where(survival > 0, high, np.nan)],
            np.sort(y[~event]),
        )

    def at(self, t: np.ndarray) -> np.ndarray:
        """S at times."""
        return self.survival[np.searchsorted(self.times, t, side="right") - 1]
