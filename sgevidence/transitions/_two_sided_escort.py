r"""An escort in both directions (Bennett 1976).

The weights of a cloud that a map has carried know nothing of where it is too thin: the tail of a posterior
that is not Gaussian, of which the map's image has a part only.  Then log Ẑ is too low, chunk after chunk, by
more than its error bar, which comes from the same weights.  So where they are not even, or each of many maps
has left them a little less so, or where the posterior before had a wall, the cloud goes on to the new
posterior by a move, and from there the map is taken *back*: with ω(θ) its weight at its end θ,

    Z = bridge of ω at the ends of the map, and of ω at the draws of the new posterior,

the acceptance ratio method (:func:`~sgevidence.answers.bridge`).  Weights would have to be made even soon,
so that the move is no loss.

Symbols: θ_i ``state.cloud`` = particles before the chunk; T ``carried.T`` = the map; log ω ``there``,
``back`` = at T θ_i, and at θ'_i; θ'_i ``theta`` = draws of the new posterior; Z ``found.log_Z`` = p(y_n |
y_<n).

References
----------
C. H. Bennett (1976), Efficient estimation of free energy differences from Monte Carlo data; X.-L. Meng and
S. Schilling (2002), Warp bridge sampling.
"""

from typing import NamedTuple

import numpy as np

from ..answers import bridge
from ..targets import Path
from ._anneal import Anneal
from ._base import State, Step, Streams
from ._escort import MapEscort


class TwoSidedEscort(NamedTuple):
    """The escort, with a move after it and the way back where its weights are not even."""

    anneal: Anneal
    escort: MapEscort

    def __call__(self, state: State, path: Path, rng: Streams) -> Step:
        carried = self.escort.carried(path, state.theta, rng.rows)
        step = self.escort.step_along(carried, state, path, rng)
        if carried is None or not step.crossed:
            return step
        # effective sample size, as a part of M, that maps of which each leaves the weights even may leave
        # together
        is_even = (
            step.state.adaptation.map_is == "even"
            and step.state.cloud.weights.ess >= 0.75 * step.state.cloud.M
        )
        # particles whose mirror images are looked at: a wall with 2 % behind it is missed once in 180 times
        if is_even and not self._is_near_a_wall(state.cloud.spread_theta(256), carried.T.m1, path, rng.rows):
            return step
        before, escorted = state.cloud, step.state.cloud
        move = self.anneal.move.along(path, rng)
        cloud, adaptation, moved = self.anneal.renewed(escorted, move, 1.0, step.state.adaptation, path, rng)
        theta, info = path.model.canonicalize(cloud.theta, path.memory.labels), step.info.with_move(moved)
        back = self.escort.returned(carried, path, theta, rng.rows)
        info = info._replace(n_likelihoods=info.n_likelihoods + 2.0 * len(theta) * len(path.chunk))
        # share of the draws of the new posterior from which the map leads back to where the cloud was
        if np.mean(back < np.inf) < 0.5:
            return Step(state, info._replace(n_escorts=0, n_escorts_refused=1), crossed=False)
        there = np.where(escorted.weights.log_w > -np.inf, carried.increment, -np.inf)
        found = bridge(there, back[None], before.W)
        cloud = cloud._replace(
            theta=theta,
            log_Z=before.log_evidence + found.log_Z,
            shared_var=cloud.shared_var + found.var_p,  # what the way there varies by is in the genealogy
        )
        return step._replace(state=step.state._replace(cloud=cloud, adaptation=adaptation), info=info)

    def _is_near_a_wall(
        self, theta: np.ndarray, center: np.ndarray, path: Path, rng: np.random.Generator
    ) -> bool:
        """Whether the posterior before the chunk ends where the Gaussian that the map starts from goes on.

        Under it the mirror image of a particle is as likely as the particle; behind a wall the image is next
        to impossible.  The map then reaches only a part of the new posterior, with even weights.  A model
        that states that it has one mode is smooth; nothing is known of others.
        """
        if path.model.has_one_mode:
            return False
        images = 2 * center - theta
        with np.errstate(all="ignore"):
            change = self.escort.sum(path.model, lambda L: L(images) - L(theta), path.memory, rng).value
            change = change + path.model.log_prior(images) - path.model.log_prior(theta)
        # nats that a mirror image behind a wall is less likely than its particle, at least
        return bool(np.any(~(change > -30.0)))


class Rejuvenate(NamedTuple):
    """Even weights and one move at the posterior of the history, then the escort again.

    Earlier chunks may have left weights so uneven that no map can keep the effective sample size, or
    particles may by chance be where the chunk's likelihood is high, and have spoken against the map.  If the
    escort is refused again, the next transition goes on from there.
    """

    anneal: Anneal
    escort: TwoSidedEscort

    def __call__(self, state: State, path: Path, rng: Streams) -> Step:
        if path.memory.anchor is None or (state.cloud.is_even and state.adaptation.map_is != "disputed"):
            return Step(state, crossed=False)
        # no row of the chunk at all: at λ = 0 one that is impossible would weigh 0 · −∞
        move = self.anneal.move.along(path._replace(chunk=path.chunk[:0], high_leverage=None), rng)
        cloud, adaptation, moved = self.anneal.renewed(state.cloud, move, 0.0, state.adaptation, path, rng)
        theta = path.model.canonicalize(cloud.theta, path.memory.labels)
        fresh = state._replace(cloud=cloud._replace(theta=theta), adaptation=adaptation, ell=None)
        step = self.escort(fresh, path, rng)
        return step._replace(info=step.info.with_move(moved))
