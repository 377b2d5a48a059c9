r"""Maxima that the particles do not know, in a model that may have several: a look from outside.

Tempering follows the bulk of the posterior.  Where a narrow peak holds most of the evidence in a volume that
no particle has met (a first-order phase transition: Skilling 2006), or where a mode has been lost on the way,
weights and genealogy look as they should.  Now and then, when n has doubled or a maximum that was found has
caught up (:mod:`._watchlist`), the posterior is climbed from draws of the prior and from particles.  A
maximum whose Laplace evidence,

    log Z_L = log f(a) + (d/2) log 2π − ½ log |P|,

is not what the particles near it claim is given to importance sampling, and takes its share as the modes of a
mixture do: Z = Z_A + Z_B (:mod:`._modes`).  Mostly they claim too little; too much where few lineages found a
mode late.  So does a maximum whose particles know their evidence badly.  While rows are at hand Laplace's
evidence alone is no reason to call a maximum missed: along a ridge, whose curvature vanishes, it has no
bound.

At a wall, where the density jumps, there is no such ellipsoid: when one has caught up that no particle is
near, all rows are annealed again from the prior.

Symbols: ``a, P`` = maximum and precision, ``B`` = ellipsoid around it, ``near`` = weight of particles in B.
"""

import numpy as np

from ..particles import Cloud
from ..targets import Likelihood, Path, Target
from ._base import State, Step, Streams
from ._climbs import N_LOOKED_AT, Ends, climbed
from ._mode_search import GOOD_ENOUGH_NATS, SIGNIFICANT_ERRORS, SIGNIFICANT_GAIN_NATS, ModeSearch
from ._modes import ModeImportance, Renewed
from ._prior_survey import Restart
from ._watchlist import AWAY_FACTOR, SHORT_NATS, Watchlist, nearest

#: Nats by which particles must misrepresent a maximum to be looked into: Laplace's own error is less.
DOUBTFUL_MASS_NATS = 0.5
#: Weight of particles near a maximum that counts as none.
NEGLIGIBLE_WEIGHT = 1e-3


class MissedModes:
    """The maxima of one path, against the cloud at its end."""

    def __init__(self, search: ModeSearch, path: Path, rng: Streams, restart: Restart) -> None:
        self.search, self.path, self.rng, self.restart = search, path, rng, restart
        self.importance = ModeImportance(search, path, rng)

    @staticmethod
    def is_due(state: State, path: Path) -> bool:
        """Whether n has passed 1, 2, 4, 8, … of a model that may have several modes, or one has caught up."""
        before = np.floor(np.log2(path.memory.n)) if path.memory.n >= 1 else -1.0
        doubled = np.floor(np.log2(max(path.n, 1.0))) > before
        return bool(not path.model.has_one_mode and (doubled or state.is_rivalled))

    def renewed(self, step: Step) -> Step | None:
        """The step with what was overlooked taken in, or reported as missed; None where no look is due."""
        if not self.is_due(step.state, self.path):
            return None
        cloud, n_renewals = step.state.cloud, 0
        complete, importance = self.path.memory.complete, self.importance
        missed = 0.0 if complete else np.nan
        target = Target(self.path.model, Likelihood(importance.rows))
        ends = climbed(self.path.model, importance.rows, step.state, self.search, self.rng.rows)
        known = np.array([mode.log_evidence for mode in ends.maxima])  # their log evidence
        for i, mode in enumerate(ends.maxima):
            near = float(cloud.W @ mode.near(self.path.model, cloud.theta))
            claimed = cloud.log_evidence + np.log(max(near, NEGLIGIBLE_WEIGHT))
            mass = mode.log_evidence
            is_vague = near > NEGLIGIBLE_WEIGHT and cloud.log_evidence_std > GOOD_ENOUGH_NATS
            if not abs(mass - claimed) > DOUBTFUL_MASS_NATS and not is_vague:
                continue
            if complete:
                draws = importance.draws(mode, cloud.M)
                mass = draws.weights.log_mean
                if draws.are_reliable:
                    known[i] = mass
                    renewed = importance.added(cloud, mode, draws)
                    std = np.hypot(cloud.log_evidence_std, draws.weights.relative_variance**0.5)
                    is_wrong = abs(mass - claimed) > max(DOUBTFUL_MASS_NATS, SIGNIFICANT_ERRORS * std)
                    if is_wrong or (is_vague and 2 * renewed.log_evidence_std < cloud.log_evidence_std):
                        cloud, n_renewals = renewed, n_renewals + 1
                    continue
            # unreliable draws hardly ever give too much; Laplace does, along a ridge
            gain = mass - cloud.log_evidence
            if near < NEGLIGIBLE_WEIGHT and gain > SIGNIFICANT_GAIN_NATS:
                missed = float(np.fmax(missed, gain))
        info, adaptation = Renewed(n_renewals, missed, importance.n_likelihoods), step.state.adaptation
        if n_renewals:
            adaptation = adaptation._replace(alike=np.nan)
        state, anchor = step.state._replace(cloud=cloud, adaptation=adaptation), step.anchor
        step = Step(state, info, anchor=None if n_renewals else anchor, is_from_outside=n_renewals > 0)
        step, gap = self.past_walls(step, ends, target)
        points = [*(mode.a for mode in ends.maxima), *ends.walls, *ends.outposts]
        theta = np.array(points).reshape(-1, cloud.theta.shape[1])
        held = np.where(np.isinf(gap), 0.0, gap)  # and may be lost
        rivals = Watchlist.of(theta, np.concatenate([step.state.cloud.log_evidence - known, held, ends.gap]))
        return step._replace(
            state=step.state._replace(adaptation=step.state.adaptation._replace(rivals=rivals))
        )

    def past_walls(self, step: Step, ends: Ends, target: Target) -> tuple[Step, np.ndarray]:
        """The step, from the prior again where no particle is near a wall that is good enough; gaps of walls.

        A neck of the posterior may look like one.  Particles that have been annealed past it know better.
        """
        gap = gaps(step.state.cloud, ends, target)
        if not np.any(gap < SHORT_NATS):
            return step, gap
        again = self.restart(step.state, self.path, self.rng)
        if not again.crossed:
            is_missed = step.state.is_rivalled and -gap.min() > SIGNIFICANT_GAIN_NATS
            info = step.info.plus(Renewed(missed_mode=-gap.min() if is_missed else np.nan))
            return step._replace(info=info), gap
        info = step.info.plus(Renewed(1, n_likelihoods=again.info.n_likelihoods))
        return Step(again.state, info, is_from_outside=True), np.zeros(len(gap))


def gaps(cloud: Cloud, ends: Ends, target: Target) -> np.ndarray:
    """By how many nats the best particle is better than each wall; infinite for walls that are theirs.

    These are near particles, and not better by more than the top of what they are drawn from may be.
    """
    if not len(ends.walls):
        return np.zeros(0)
    theta = cloud.spread_theta(N_LOOKED_AT)
    usual = nearest(theta, theta, 2).max()
    away = nearest(ends.walls, theta) > AWAY_FACTOR * usual
    gap = target.value(theta).max() - ends.values
    return np.where(away | (-gap > SIGNIFICANT_GAIN_NATS + theta.shape[1] / 2), gap, np.inf)
