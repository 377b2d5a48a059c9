r"""Points away from the particles, and what they would have gained on them since they were last looked at.

Weights and densities follow the posterior around the cloud, and stay even while another mode, in
which no particle is, becomes the better one.  So each look from outside leaves the points a_r that it came
upon, and every later chunk is asked how well they foretell it:

    behind_r  ←  behind_r − [log p(y_n | a_r) − log p̂(y_n | y_<n)].

When one has caught up, it is time for the next look.  So it is when rows come that are unlike those of the
last look, of which a mode may be made that was none:

    |Σ w_i (log p(y_i | a_r) − μ_r)|  >  z σ_r √(v + m²/n) + B_r v/m    for any of the points,

the sum over the rows since then, of weights w_i, m = Σ w_i and v = Σ w_i².  Rows in random order seldom are
so.  Nothing else hangs on these points.

Symbols: a_r ``theta`` = points, (R, d); behind_r ``behind`` = nats that each may yet gain on the particles,
(R,); p̂(y_n|y_<n) argument = what the particles gave the chunk: by how much log Ẑ has changed; μ_r, σ_r, B_r
``usual`` = mean, standard deviation and largest deviation of log p(y_i | a_r) over n rows of the last look.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from ..history import Rows
from ..models import Model

#: Nats short of the particles' evidence at which a mode is looked at: it then holds less than a hundredth.
#: And the least that it must have gained, which one that particles hold by a seventh cannot.
SHORT_NATS, MIN_MODE_GAIN_NATS = 5.0, 2.0
#: Standard errors z beyond which rows are unlike those before, at the most telling of some thirty points.
UNLIKE_ERRORS = 4.0
#: How much farther from the next particle than is usual counts as away from all of them.
AWAY_FACTOR = 1.5


class Usual(NamedTuple):
    """The log-likelihood of a row at each of R points, over the rows of a look."""

    mean: np.ndarray  #: (R,)
    std: np.ndarray  #: (R,)
    most: np.ndarray  #: largest deviation from the mean, (R,)
    n: float  #: rows, by the effective number of their weights

    @classmethod
    def of(cls, model: Model, theta: np.ndarray, rows: Rows) -> "Usual":
        """At points (R, d)."""
        with np.errstate(all="ignore"):
            each, w = model.log_likelihood(theta, rows), rows.weight / rows.total_weight
            mean = each @ w
            away = each - mean[:, None]
            # one row of a sample stands for many, and tells no more of the mean than one
            n = float(np.sum(w**2) ** -1)
            return cls(mean, (away**2 @ w) ** 0.5, np.abs(away).max(axis=1, initial=0.0), n)


class Watchlist(NamedTuple):
    """Points and what they may yet gain, and what new rows are to them."""

    theta: np.ndarray
    behind: np.ndarray
    usual: Usual
    n_new: float = 0.0  #: rows since the look, by total weight
    excess: np.ndarray | float = 0.0  #: their log-likelihood beyond what is usual, (R,)
    squares: float = 0.0  #: their squared weights, summed

    @classmethod
    def of(cls, theta: np.ndarray, gap: np.ndarray, usual: Usual) -> "Watchlist":
        """Points (R, d) whose modes have ``gap`` (R,) nats less evidence than the particles."""
        return cls(theta, np.maximum(gap - SHORT_NATS, MIN_MODE_GAIN_NATS), usual)

    def after(self, model: Model, rows: Rows, log_predictive: float) -> "Watchlist":
        """When these rows have come, which the particles gave ``log_predictive``."""
        if not len(self.theta):
            return self
        n, squares = rows.total_weight, float(rows.weight @ rows.weight)
        with np.errstate(all="ignore"):
            total = model.sum_log_likelihood(self.theta, rows)
            gained, excess = total - log_predictive, self.excess + total - n * self.usual.mean
        behind = self.behind - np.where(np.isnan(gained), -np.inf, gained)
        return self._replace(
            behind=behind, n_new=self.n_new + n, squares=self.squares + squares, excess=excess
        )

    @property
    def foremost(self) -> np.ndarray:
        """Modes with little left to gain."""
        return self.theta[self.behind <= MIN_MODE_GAIN_NATS]

    @property
    def caught_up(self) -> bool:
        """Whether one of them deserves a look."""
        return bool(np.any(self.behind <= 0.0))

    @property
    def has_unlike_rows(self) -> bool:
        """Whether the rows since the look are unlike those before."""
        _, std, most, n = self.usual
        with np.errstate(all="ignore"):
            error = std * (self.squares + self.n_new**2 / n) ** 0.5
            most_of_row = most * (self.squares / max(self.n_new, 1e-300))
            return bool(np.any(np.abs(self.excess) > UNLIKE_ERRORS * error + most_of_row))


def nearest(points: np.ndarray, theta: np.ndarray, k: int = 1) -> np.ndarray:
    """How far points (R, d) are from the k-th next of the particles (M, d), in widths of these, (R,)."""
    width = np.std(theta, axis=0) + 1e-300
    return cKDTree(theta / width).query(points / width, [k])[0][:, 0]
