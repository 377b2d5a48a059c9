r"""Points away from the particles, and what they would have gained on them since they were last looked at.

Weights and densities follow the posterior around the cloud, and stay even while another mode, in
which no particle is, becomes the better one.  So each look from outside leaves the points a_r that it came
upon, and every later chunk is asked how well they foretell it:

    behind_r  ←  behind_r − [log p(y_n | a_r) − log p̂(y_n | y_<n)].

When one has caught up, it is time for the next look.  Nothing else hangs on these points.

Symbols: a_r ``theta`` = points, (R, d); behind_r ``behind`` = nats that each may yet gain on the particles,
(R,); p̂(y_n|y_<n) argument = what the particles gave the chunk: by how much log Ẑ has changed.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from ..history import Rows
from ..models import Model

#: Nats short of the particles' evidence at which a mode is looked at: it then holds less than a hundredth.
#: And the least that it must have gained, which one that particles hold by a seventh cannot.
SHORT_NATS, MIN_MODE_GAIN_NATS = 5.0, 2.0
#: How much farther from the next particle than is usual counts as away from all of them.
AWAY_FACTOR = 1.5


class Watchlist(NamedTuple):
    """Points and what they may yet gain."""

    theta: np.ndarray
    behind: np.ndarray

    @classmethod
    def of(cls, theta: np.ndarray, gap: np.ndarray) -> "Watchlist":
        """Points (R, d) whose modes have ``gap`` (R,) nats less evidence than the particles."""
        return cls(theta, np.maximum(gap - SHORT_NATS, MIN_MODE_GAIN_NATS))

    def after(self, model: Model, rows: Rows, log_predictive: float) -> "Watchlist":
        """When these rows have come, which the particles gave ``log_predictive``."""
        if not len(self.theta):
            return self
        with np.errstate(all="ignore"):
            gained = model.sum_log_likelihood(self.theta, rows) - log_predictive
        return self._replace(behind=self.behind - np.where(np.isnan(gained), -np.inf, gained))

    @property
    def foremost(self) -> np.ndarray:
        """Modes with little left to gain."""
        return self.theta[self.behind <= MIN_MODE_GAIN_NATS]

    @property
    def caught_up(self) -> bool:
        """Whether one of them deserves a look."""
        return bool(np.any(self.behind <= 0.0))


def nearest(points: np.ndarray, theta: np.ndarray, k: int = 1) -> np.ndarray:
    """How far points (R, d) are from the k-th next of the particles (M, d), in widths of these, (R,)."""
    width = np.std(theta, axis=0) + 1e-300
    return cKDTree(theta / width).query(points / width, [k])[0][:, 0]
