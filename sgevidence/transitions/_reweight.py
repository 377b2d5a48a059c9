"""Let new rows weigh on the cloud, and move nothing while its weights stay even (lazy annealing).

Rows that only weigh are *pending*: ``log_evidence`` is that of all rows at once, and they become history
when the weights ask for a move.

Symbols: ``ell`` = ℓ_i, log-likelihood of all pending rows, ``n`` = weight of the rows in the memory.
"""

from typing import NamedTuple

import numpy as np

from ..targets import Path
from ._base import State, Step, Streams


class Weighed(NamedTuple):
    """Rows that weigh on the cloud as they are, or on draws of the prior."""

    n_likelihoods: float = 0.0
    ess: float = np.inf
    lambdas: tuple = ()


class Reweight(NamedTuple):
    """Take rows in by their weights alone, while the effective sample size stays above target."""

    target_ess: float  #: of all particles: those that rows have ruled out count as lost
    for_escort: bool = True  #: leave a chunk of more than half the history to it, unseen: it does better

    def __call__(self, state: State, path: Path, rng: Streams) -> Step:
        n, seen = path.memory.n, 0 if state.pending is None else len(state.pending)
        new = path.chunk[seen:]
        capacity = path.memory.reservoir.capacity or np.inf
        too_many = path.chunk.total_weight > min(n, capacity / 2)
        unknown = state._replace(pending=None, ell=None)
        if self.for_escort and path.memory.anchor is not None and (too_many or new.total_weight > n / 2):
            return Step(unknown, Weighed(), crossed=False)
        ell, cost = state.ell, 0.0
        if ell is None or state.pending is not None:  # else a survey of the prior knows it
            ell = path.model.sum_log_likelihood(state.theta, new)
            cost = float(len(ell) * len(new))
            ell = ell if state.ell is None else state.ell + ell
        weights = state.cloud.weights.add(ell)
        if not too_many and weights.ess >= self.target_ess * weights.M:
            info = Weighed(cost, weights.ess, (1.0,))
            pending = path.chunk if seen else path.chunk.copy()  # a join is a copy already
            return Step(state._replace(pending=pending, ell=ell), info)
        return Step(unknown._replace(ell=ell), Weighed(cost), crossed=False)
