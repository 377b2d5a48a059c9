r"""When is a change declared, and where is it put?

A change is declared when P(the present segment began after the last declared change | rows) passes
the threshold τ.  Its place is the most probable beginning.  The beginnings that are then plausible,
up to the one beyond which 5 % of the posterior are left, are all taken to be this change: the next
one has to begin after them.

**False alarms.**  On a stream without changes the odds of a change divided by the hazard are the
Shiryaev–Roberts statistic

.. math:: S_t = \sum_s p(y_{s:t} \mid \text{run } s) \,/\, p(y_{s:t} \mid \text{old run}),

and :math:`S_t - t` is a martingale under the old run's predictive.  Stopped at T,
when the odds pass τ/(1 − τ), :math:`E[T] = E[S_T] \ge \tau/((1-\tau)h)`: on average there are

.. math:: h\,(1 - \tau)/\tau

false alarms a row at most (Pollak 1985).  The threshold is not met but overshot, so the true rate is a
fraction of this; a segment model's ``overshoot`` is that fraction, measured.
"""

import math
from typing import Any, NamedTuple

import numpy as np

TAIL_SHARE = 0.05  # of the posterior may lie beyond the beginnings that belong to a declared change


class Detection(NamedTuple):
    """A declared change.

    Parameters
    ----------
    declared_row : int
        Index of the row at which it was declared, counted from 0 over the whole stream.
    change_row : int
        Index of the first row of the new segment: where the change happened.
    probability : float
        Posterior probability, at ``declared_row``, of a change since the last declared one.
    log_bayes_factor : float
        Log Bayes factor of "a change since" against "none", in nats: the log posterior odds less the log
        prior odds.
    time : object, default=None
        Index entry of the row ``change_row``, such as a date, where the rows came with an index.
    """

    declared_row: int
    change_row: int
    probability: float
    log_bayes_factor: float
    time: Any = None


class Alarm:
    """Remembers up to where changes have been declared."""

    def __init__(self, threshold: float, hazard: float) -> None:
        self.threshold, self.hazard = threshold, hazard
        self.boundary = 0  # a run that began here or before is no news

    def check(self, start: np.ndarray, weight: np.ndarray, first: int) -> tuple[np.ndarray, list[Detection]]:
        """Go through rows ``first``, ``first`` + 1, … with the posteriors ``weight`` (rows, runs).

        Returns the probability of a change since the last one declared, at each row, and what is declared.
        """
        p, found, i = np.empty(len(weight)), [], 0
        while i < len(weight):
            rest = weight[i:]
            p[i:] = rest @ (start > self.boundary) / rest.sum(1)  # a pruned weight is on neither side
            passed = np.flatnonzero(p[i:] > self.threshold)
            if not len(passed):
                break
            i += int(passed[0])
            found.append(self._declare(start, weight[i], float(p[i]), first + i))
            i += 1
        return p, found

    def _declare(self, start: np.ndarray, weight: np.ndarray, p: float, row: int) -> Detection:
        new = start > self.boundary
        place = int(start[np.where(new, weight, -1.0).argmax()])
        # odds of a change that nothing speaks against stay finite
        log_odds = math.log(weight[new].sum()) - math.log(max(weight[~new].sum(), 1e-300))
        log_bayes_factor = log_odds - log_prior_odds_of_change(row - self.boundary, self.hazard)
        self.boundary = max(place, last_plausible(start, weight))
        return Detection(row, place, p, log_bayes_factor)


def log_prior_odds_of_change(n_rows: int, hazard: float) -> float:
    """Log prior odds of a change at one of ``n_rows`` rows, at least one."""
    none = n_rows * math.log1p(-hazard)  # log prior probability of none
    return math.log(-math.expm1(none)) - none


def last_plausible(start: np.ndarray, weight: np.ndarray) -> int:
    """The latest beginning s with P(begun at s or later) > TAIL_SHARE; ``start`` is in order."""
    later = np.cumsum(weight[::-1])[::-1] / weight.sum()
    return int(start[np.flatnonzero(later > TAIL_SHARE)[-1]])
