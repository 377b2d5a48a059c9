"""A fresh cloud for the escort.

Earlier chunks may have left weights so uneven that no map can keep the effective sample size, or particles
may by chance be where the chunk's likelihood is high, and have spoken against the map.  Then the cloud is
resampled and moved once at the posterior of the history, before anything of the chunk is let in.
"""

from typing import NamedTuple

from ..targets import Path
from ._anneal import Anneal
from ._base import State, Step, Streams
from ._two_sided_escort import TwoSidedEscort


class Rejuvenate(NamedTuple):
    """Even weights and one move at the posterior of the history, then the escort again.

    If the escort is refused again, the next transition goes on from there.
    """

    anneal: Anneal
    escort: TwoSidedEscort

    def __call__(self, state: State, path: Path, rng: Streams) -> Step:
        if path.memory.anchor is None or (state.cloud.is_even and not state.adaptation.disputed):
            return Step(state, crossed=False)
        # no row of the chunk at all: at λ = 0 one that is impossible would weigh 0 · −∞
        move = self.anneal.move.along(path._replace(chunk=path.chunk[:0], high_leverage=None), rng)
        cloud, adaptation, moved = self.anneal.renewed(state.cloud, move, 0.0, state.adaptation, path, rng)
        theta = path.model.canonicalize(cloud.theta, path.memory.labels)
        fresh = state._replace(cloud=cloud._replace(theta=theta), adaptation=adaptation, ell=None)
        step = self.escort(fresh, path, rng)
        return step._replace(info=step.info.with_move(moved))
