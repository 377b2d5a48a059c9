r"""Whether a map leaves mass behind: the evidence that a cloud has where it is, against what the map claims.

Even weights do not show that a map has left the posterior for a place where its density is small everywhere.
The estimate without the map is hardly ever much too high (Eq. 3.10): its excess does,

    x = log Σ_i W_i p(y_n | θ_i) − log Ẑ_T.

Few particles make the most of plain weights.  Their mean may then exceed by more than three of its standard
errors, which come from the same particles and know nothing of the tail: Pr[x ≥ a] ≤ e^{−a} is all that is
certain, whatever the weights.  Between the two it is another cloud that decides: this one was noticed for
its high weights, and an estimate that goes on from it would be too high by what it was noticed for.

Symbols
-------
=====  ==========  ========================================================
x      ``excess``  of the evidence without the map over that with it, nats
s      ``std``     its standard error
ESS    ``ess``     of the plain weights, a number of particles
=====  ==========  ========================================================
"""

from typing import NamedTuple

import numpy as np

from ..particles import Weights

#: Nats of excess where one particle is all of it, of which a standard error knows nothing: whatever the
#: weights, a mean exceeds what it estimates by so much once in a thousand times at most (Markov).
SURE = 7.0


class MapCheck(NamedTuple):
    """A test of a map by the plain weights."""

    excess: float
    std: float
    ess: float

    @classmethod
    def of(cls, plain: Weights, carried: Weights, claimed: float) -> "MapCheck":
        """From the weights without and with the map; ``claimed`` is the log of the latter's mean."""
        if plain.ess == 0.0:
            return cls(-np.inf, 0.0, 0.0)
        std = np.sqrt(plain.relative_variance + carried.relative_variance)
        return cls(plain.log_mean - claimed, float(std), plain.ess)

    def is_too_much(self, max_excess: float) -> bool:
        """More than ``max_excess`` standard errors, and than one particle may make of it."""
        return self.ess > 0.0 and self.excess > max(max_excess * self.std, SURE / self.ess)

    def may_be_chance(self, max_excess: float) -> bool:
        """Whether it is not more than both of them together, nor than is ever seen."""
        return self.ess > 0.0 and self.excess < min(max_excess * self.std + SURE / self.ess, SURE)
