r"""Maxima that the particles do not know, in a model that may have several: a look from outside.

Tempering follows the bulk of the posterior.  Where a narrow peak holds most of the evidence in a volume that
no particle has met (a first-order phase transition: Skilling 2006), or where a mode has been lost on the way,
weights and genealogy look as they should.  Now and then, when n has doubled, a maximum that was found has
caught up or rows are unlike those before (:mod:`._watchlist`), the posterior is climbed from draws of the
prior and from particles.  A maximum whose Laplace evidence,

    log Z_L = log f(a) + (d/2) log 2π − ½ log |P|,

is not what the particles near it claim is given to importance sampling, and takes its share: with B the
ellipsoid around it and A the rest of the space,

    Z = Z_A + Z_B    (Z_A is what the particles outside B weigh).

B is fixed by the data alone, so this is right wherever its border lies.  Mostly the particles claim too
little; too much where few lineages found a mode late.  A maximum whose particles know their evidence badly
takes its share, too.  While rows are at hand Laplace's evidence alone is no reason to call a maximum missed:
along a ridge, whose curvature vanishes, it has no bound.

At a wall, where the density jumps, there is no such ellipsoid: when one has caught up that no particle is
near, all rows are annealed again from the prior.

Symbols: ``a, P`` = maximum and precision, ``B`` = ellipsoid around it, ``near`` = weight of particles in B,
``M`` = particles.
"""

from typing import NamedTuple

import numpy as np

from ..answers import importance_draws
from ..particles import Cloud, Weights, log_sum_exp, siblings, systematic
from ..targets import Likelihood, Path, Target
from ._base import Info, State, Step, Streams
from ._mode_search import MODE_SEARCH_ROWS, N_LOOKED_AT, Ends, Mode, climbed, subsample
from ._prior_survey import PriorSurvey
from ._watchlist import AWAY_FACTOR, SHORT_NATS, Usual, Watchlist, nearest

#: Nats by which particles must misrepresent a maximum to be looked into: Laplace's own error is less.
DOUBTFUL_MASS_NATS = 0.5
#: Weight of particles near a maximum that counts as none.
NEGLIGIBLE_WEIGHT = 1e-3
#: Nats by which a mode must be better to be reported as missed; standard errors by which the evidence of its
#: region alone must exceed that of the particles to call them wrong.
SIGNIFICANT_GAIN_NATS, SIGNIFICANT_ERRORS = 3.0, 3.0
#: Standard error of log Z, nats, below which particles at the mode need no help.
GOOD_ENOUGH_NATS = 0.1
#: Share of importance weights that must be effective for their variance to be believed, and their number.
MIN_REGION_SHARE, MIN_REGION_DRAWS = 0.1, 20.0
#: Standard error of a region's log evidence, nats, that more draws are taken for; how many times M draws are
#: taken for it, and before importance sampling is given up.
PRECISE_REGION_NATS, MAX_REGION_ROUNDS, TRIAL_REGION_ROUNDS = 0.05, 16, 4


class Draws(NamedTuple):
    """Importance sampling around a mode; those outside of its region have weight zero."""

    theta: np.ndarray
    log_w: np.ndarray

    @property
    def weights(self) -> Weights:
        return Weights(self.log_w)

    @property
    def are_reliable(self) -> bool:
        """Whether the variance of the weights can be believed: enough of them count."""
        inside = np.sum(np.isfinite(self.log_w))
        return bool(self.weights.ess > max(MIN_REGION_SHARE * inside, MIN_REGION_DRAWS))


class MissedModes:
    """The maxima of one path, against the cloud at its end."""

    def __init__(self, path: Path, rng: Streams, survey: PriorSurvey) -> None:
        self.path, self.rng, self.survey = path, rng, survey
        self.rows = path.all_rows  #: weighted to stand for all that were seen
        self.target = Target(path.model, Likelihood(self.rows))
        self.n_likelihoods = 0.0

    @staticmethod
    def is_due(state: State, path: Path) -> bool:
        """Whether n has passed 1, 2, 4, 8, … of a model that may have several modes, or it has rivals.

        Or nothing is known of other modes, as after an answer for all rows at once.
        """
        before = np.floor(np.log2(path.memory.n)) if path.memory.n >= 1 else -1.0
        doubled = np.floor(np.log2(max(path.n, 1.0))) > before
        unknown = state.adaptation.rivals is None
        return bool(not path.model.has_one_mode and (doubled or unknown or state.is_rivalled))

    def renewed(self, step: Step) -> Step:
        """The step with what was overlooked taken in, or reported as missed."""
        cloud, n_renewals = step.state.cloud, 0
        complete = self.path.memory.complete
        missed = 0.0 if complete else np.nan
        ends = climbed(self.path.model, self.rows, step.state, self.rng.rows)
        known = np.array([mode.log_evidence for mode in ends.maxima])  # their log evidence
        for i, mode in enumerate(ends.maxima):
            near = float(cloud.W @ mode.near(self.path.model, cloud.theta))
            claimed = cloud.log_evidence + np.log(max(near, NEGLIGIBLE_WEIGHT))
            mass = mode.log_evidence
            is_vague = near > NEGLIGIBLE_WEIGHT and cloud.log_evidence_std > GOOD_ENOUGH_NATS
            if not abs(mass - claimed) > DOUBTFUL_MASS_NATS and not is_vague:
                continue
            if complete:
                draws = self.draws(mode, cloud.M)
                mass = draws.weights.log_mean
                if draws.are_reliable:
                    known[i] = mass
                    renewed = self.added(cloud, mode, draws)
                    std = np.hypot(cloud.log_evidence_std, draws.weights.relative_variance**0.5)
                    is_wrong = abs(mass - claimed) > max(DOUBTFUL_MASS_NATS, SIGNIFICANT_ERRORS * std)
                    if is_wrong or (is_vague and 2 * renewed.log_evidence_std < cloud.log_evidence_std):
                        cloud, n_renewals = renewed, n_renewals + 1
                    continue
            # unreliable draws hardly ever give too much; Laplace does, along a ridge
            gain = mass - cloud.log_evidence
            if near < NEGLIGIBLE_WEIGHT and gain > SIGNIFICANT_GAIN_NATS:
                missed = float(np.fmax(missed, gain))
        adaptation = step.state.adaptation
        info = Info(self.n_likelihoods, n_renewals=n_renewals, missed_mode=missed)
        if n_renewals:
            adaptation = adaptation._replace(alike=np.nan)
        state, anchor = step.state._replace(cloud=cloud, adaptation=adaptation), step.anchor
        step = Step(state, info, anchor=None if n_renewals else anchor, is_from_outside=n_renewals > 0)
        step, gap = self.past_walls(step, ends)
        points = [*(mode.a for mode in ends.maxima), *ends.walls, *ends.outposts]
        theta = np.array(points).reshape(-1, cloud.theta.shape[1])
        held = np.where(np.isinf(gap), 0.0, gap)  # and may be lost
        gap = np.concatenate([step.state.cloud.log_evidence - known, held, ends.gap])
        few = subsample(self.rows, MODE_SEARCH_ROWS, self.rng.rows)
        rivals = Watchlist.of(theta, gap, Usual.of(self.path.model, theta, few))
        return step._replace(
            state=step.state._replace(adaptation=step.state.adaptation._replace(rivals=rivals))
        )

    def past_walls(self, step: Step, ends: Ends) -> tuple[Step, np.ndarray]:
        """The step, from the prior again where no particle is near a wall that is good enough; gaps of walls.

        A neck of the posterior may look like one.  Particles that have been annealed past it know better.
        """
        gap = gaps(step.state.cloud, ends, self.target)
        if not np.any(gap < SHORT_NATS):
            return step, gap
        again = self.survey.restarted(step.state, self.path, self.rng)
        if not again.crossed:
            is_missed = step.state.is_rivalled and -gap.min() > SIGNIFICANT_GAIN_NATS
            info = step.info.plus(Info(missed_mode=-gap.min() if is_missed else np.nan))
            return step._replace(info=info), gap
        info = step.info.plus(Info(again.info.n_likelihoods, n_renewals=1))
        return Step(again.state, info, is_from_outside=True), np.zeros(len(gap))

    def draws(self, mode: Mode, M: int) -> Draws:
        """Draws around a mode, as many as precision asks for; their mean weight estimates Z_B."""
        parts: list[Draws] = []
        while len(parts) < MAX_REGION_ROUNDS:
            theta, weights = importance_draws(self.target.value, mode.a, mode.P, 0.0, M, self.rng.noise)
            self.n_likelihoods += M * len(self.rows)
            is_near = mode.near(self.path.model, theta)
            parts.append(Draws(theta, np.where(is_near, weights.log_w, -np.inf)))
            draws = Draws(*map(np.concatenate, zip(*parts)))
            is_precise = draws.weights.relative_variance < PRECISE_REGION_NATS**2
            if is_precise if draws.are_reliable else len(parts) == TRIAL_REGION_ROUNDS:
                break
        return draws

    def added(self, cloud: Cloud, mode: Mode, draws: Draws) -> Cloud:
        """Z = Z_A + Z_B: the particles outside, and the draws in the place of those inside."""
        outside = Weights(np.where(mode.near(self.path.model, cloud.theta), -np.inf, cloud.weights.log_w))
        log_Z_A, log_Z_B = cloud.log_Z + outside.log_mean, draws.weights.log_mean
        log_Z = log_sum_exp(np.array([log_Z_A, log_Z_B]))
        share_A, share_B = np.exp(log_Z_A - log_Z), np.exp(log_Z_B - log_Z)
        W_A = outside.W if share_A > 0 else np.zeros(outside.M)
        parents = systematic(np.r_[share_A * W_A, share_B * draws.weights.W], self.rng.noise, cloud.M)
        var_A = cloud.genealogy.variance(W_A) + cloud.shared_var
        var = share_A**2 * var_A + share_B**2 * draws.weights.relative_variance
        theta = np.concatenate([cloud.theta, draws.theta])[parents]
        return Cloud(theta, Weights.ones(cloud.M), float(log_Z), siblings(parents, float(var)))


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
