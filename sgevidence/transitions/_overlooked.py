r"""Maxima that the particles do not know, in a model that may have several: a look from outside.

Tempering follows the bulk of the posterior.  Where a narrow peak holds most of the evidence in a volume that
no particle has met (a first-order phase transition: Skilling 2006), or where a mode has been lost on the way,
weights and genealogy look as they should.  Now and then, when n has doubled, the posterior is climbed from
draws of the prior and from particles.  A maximum whose Laplace evidence,

    log Z_L = log f(a) + (d/2) log 2π − ½ log |P|,

is not what the particles near it claim is given to importance sampling, and takes its share as the modes of a
mixture do: Z = Z_A + Z_B (:mod:`._modes`).  Mostly they claim too little; too much where few lineages found a
mode late.

Symbols: ``a, P`` = maximum and precision, ``B`` = ellipsoid around it, ``near`` = weight of particles in B.
"""

import numpy as np
from scipy.spatial import cKDTree
from scipy.stats import chi2

from ..particles import Cloud, spread
from ..targets import Likelihood, Path, Target, find_mode
from ._base import Step, Streams
from ._mode_search import SAME, Mode, ModeSearch, some
from ._modes import ModeImportance, Renewed

#: Draws of the prior, and particles, that are looked at; how many are climbed from.
N_TRIED, N_CLIMBED = 1000, 6
#: Nats by which particles must misrepresent a maximum to be looked into: Laplace's own error is less.
DOUBTFUL = 0.5
#: Weight of particles near a maximum that counts as none.
NONE = 1e-3
#: Mass of a Gaussian that the region around a maximum leaves outside.
OUTSIDE = 1e-4


class Overlooked:
    """The maxima of one path, against the cloud at its end."""

    def __init__(self, search: ModeSearch, path: Path, rng: Streams) -> None:
        self.search, self.path, self.rng = search, path, rng
        self.importance = ModeImportance(search, path, rng)

    @staticmethod
    def is_due(path: Path) -> bool:
        """Whether n has passed 1, 2, 4, 8, … of a model that does not rule several modes out."""
        before = np.floor(np.log2(path.memory.n)) if path.memory.n >= 1 else -1.0
        return not path.model.has_one_mode and np.floor(np.log2(max(path.n, 1.0))) > before

    def renewed(self, step: Step) -> Step:
        """The step with what was overlooked taken in; reported as missed where that cannot be done."""
        cloud, n_renewals, missed = step.state.cloud, 0, 0.0
        complete = self.path.memory.complete
        target = Target(self.path.model, Likelihood(self.importance.rows))
        for mode in self.maxima(cloud, target):
            near = float(cloud.W @ mode.near(self.path.model, cloud.theta))
            claimed = cloud.log_evidence + np.log(max(near, NONE))
            excess = laplace(mode) - claimed
            if not abs(excess) > DOUBTFUL:
                continue
            if complete:
                draws = self.importance.draws(mode, cloud.M)
                if draws.reliable(self.search):
                    std = np.hypot(cloud.log_evidence_std, draws.weights.relative_variance**0.5)
                    if abs(draws.weights.log_mean - claimed) > max(DOUBTFUL, self.search.significant * std):
                        cloud, n_renewals = self.importance.added(cloud, mode, draws), n_renewals + 1
                    continue
            gain = laplace(mode) - cloud.log_evidence
            missed = max(missed, gain if near < NONE and gain > self.search.significant else 0.0)
        info = Renewed(n_renewals, missed, self.importance.n_likelihoods)
        anchor = None if n_renewals else step.anchor
        return step._replace(state=step.state._replace(cloud=cloud), info=info, anchor=anchor)

    def maxima(self, cloud: Cloud, target: Target) -> list[Mode]:
        """Distinct maxima of the posterior on all rows at hand, each with its region."""
        model, d = self.path.model, cloud.theta.shape[1]
        radius = float(max(self.search.radius, chi2.isf(OUTSIDE, d) / d))
        few = Target(model, Likelihood(some(self.importance.rows, self.search.search_rows, self.rng.rows)))
        found: list[Mode] = []
        for start in self.starts(cloud, few):
            a, P = find_mode(few, start)
            if P is None or any(mode.distance(model, a[None])[0] < SAME for mode in found):
                continue
            if len(self.importance.rows) > self.search.search_rows:
                a, P = find_mode(target, a)
            if P is not None and not any(mode.near(model, a[None])[0] for mode in found):
                found.append(Mode(a, P, float(target.value(a[None])[0]), radius))
        return sorted(found, key=lambda mode: -mode.value)

    def starts(self, cloud: Cloud, target: Target) -> np.ndarray:
        """Draws of the prior and particles that are better than all points next to them, the best first."""
        prior = self.path.model.starts(self.importance.rows, N_TRIED, self.rng.rows)
        theta = np.concatenate([prior, cloud.theta[spread(cloud.W, min(N_TRIED, cloud.M))]])
        with np.errstate(all="ignore"):
            value = target.value(theta)
        theta, first = np.unique(theta[np.isfinite(value)], axis=0, return_index=True)
        value = value[np.isfinite(value)][first]
        if not len(theta):
            return theta
        widths = theta / (np.std(theta, axis=0) + 1e-300)
        neighbours = cKDTree(widths).query(widths, min(2 * theta.shape[1] + 8, len(theta)))[1]
        peaks = np.flatnonzero(value >= value[neighbours.reshape(len(theta), -1)].max(axis=1))
        return theta[peaks[np.argsort(-value[peaks])][:N_CLIMBED]]


def laplace(mode: Mode) -> float:
    """log Z_L, nats."""
    return float(mode.value + 0.5 * len(mode.a) * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(mode.P)[1])
