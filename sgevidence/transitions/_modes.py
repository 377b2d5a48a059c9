r"""Modes that the particles have missed, or hold by too few, take their share of the evidence from outside.

B is an ellipsoid around a mode that :class:`ModeSearch` has found, in all its labellings, and A the rest of
the space.  Z_B is K! times an importance sampling estimate in one labelling; then, with what particles say,

    Z = Z_A + Z_B    (Z_A is what those outside B weigh)    or    Z = Z_B / p(B | D).

The first needs no particle to be near the mode.  The second forgets all error of Z but that of the
share p(B | D), and needs particles that go in and out of B.  B is fixed by the data alone, so both are
right wherever its border lies; the one with the smaller variance is taken, if it improves.

Symbols: ``B`` = region around a mode, ``r`` = its squared radius in posterior widths per parameter, ``M`` =
particles, ``ell`` = ℓ_i.
"""

from functools import cached_property
from math import lgamma
from typing import Any, NamedTuple

import numpy as np

from ..answers import importance_draws
from ..history import Rows
from ..particles import Cloud, Genealogy, Weights, log_sum_exp, siblings, systematic
from ..targets import Likelihood, Path, Target, find_mode
from ._base import Info, State, Step, Streams
from ._mode_search import (
    GOOD_ENOUGH_NATS,
    SIGNIFICANT_ERRORS,
    SIGNIFICANT_GAIN_NATS,
    SMALL_RADII,
    Mode,
    ModeSearch,
    find_modes,
    subsample,
)

#: Share of importance weights that must be effective for their variance to be believed, and their number.
MIN_REGION_SHARE, MIN_REGION_DRAWS = 0.1, 20.0
#: Standard error of a region's log evidence, nats, that more draws are taken for; how many times M draws are
#: taken for it, and before importance sampling is given up.
PRECISE_REGION_NATS, MAX_REGION_ROUNDS, TRIAL_REGION_ROUNDS = 0.05, 16, 4
#: Share of the evidence that may depend on particles that were weighted by new rows but not moved.
MAX_OUTSIDE_SHARE = 0.02


class Draws(NamedTuple):
    """Importance sampling around a mode, in one labelling."""

    theta: np.ndarray
    log_w: np.ndarray
    distance: np.ndarray

    def within(self, r: float) -> "Draws":
        """All draws, those outside with weight zero."""
        return self._replace(log_w=np.where(self.distance < r, self.log_w, -np.inf))

    @property
    def weights(self) -> Weights:
        return Weights(self.log_w)

    @property
    def are_reliable(self) -> bool:
        """Whether the variance of the weights can be believed: enough of them count."""
        inside = np.sum(np.isfinite(self.log_w))
        return bool(self.weights.ess > max(MIN_REGION_SHARE * inside, MIN_REGION_DRAWS))


class ModeImportance:
    """The modes of one path, sought when asked for: a transition before annealing, a repair after it."""

    def __init__(self, search: ModeSearch, path: Path, rng: Streams):
        self.search, self.path, self.rng = search, path, rng
        self.n_likelihoods = 0.0

    @cached_property
    def rows(self) -> Rows:
        """All rows at hand, weighted to stand for all that were seen."""
        return self.path.all_rows

    @cached_property
    def modes(self) -> list[Mode]:
        return find_modes(self.search, self.path.model, self.rows, self.rng.rows)

    def __call__(self, state: State, path: Path, rng: Streams) -> Step:
        """The modes in the place of the particles, if next to nothing is outside: nothing need be annealed.

        Particles outside are weighted by new rows without having been moved, so little may depend on them.
        """
        self.rng = rng
        modes, ell = self.modes, state.ell
        if not path.memory.complete:
            return Step(state, crossed=False)
        if ell is None:
            ell = path.increment(state.theta)
            self.n_likelihoods += len(ell) * len(path.chunk)
        cloud = state.cloud.weighted(ell)
        for mode in modes:
            draws = self.draws(mode, cloud.M)
            if not draws.are_reliable:
                return Step(state, self._info(), crossed=False)
            cloud = self.added(cloud, mode, draws)
        near = [mode.near(path.model, cloud.theta) for mode in modes]
        if not modes or np.mean(np.any(near, axis=0)) < 1 - MAX_OUTSIDE_SHARE:
            return Step(state, self._info(), crossed=False)
        info = self._info(n_renewals=len(modes))
        return Step(state._replace(cloud=cloud, ell=None), info, is_from_outside=True)

    def renewed(self, step: Step) -> Step:
        """After another transition: modes from outside, or reported as missed where rows are gone."""
        cloud = step.state.cloud
        if not self.path.memory.complete:
            return step._replace(info=self._info(missed_mode=self.missed_by(cloud)))
        n_renewals, anchor = 0, step.anchor
        for mode in self.modes:
            better = self._better(cloud, mode)
            if better is not None:
                cloud, planted = better
                anchor = None if planted else anchor
                n_renewals += 1
        state = step.state._replace(cloud=cloud)
        info = self._info(n_renewals=n_renewals)
        return Step(state, info, anchor=anchor, is_from_outside=n_renewals > 0)

    def _info(self, **words: Any) -> Info:
        spent, self.n_likelihoods = self.n_likelihoods, 0.0
        return Info(n_likelihoods=spent, **words)

    def _better(self, cloud: Cloud, mode: Mode) -> tuple[Cloud, bool] | None:
        """The better of the two estimates, and whether it has new particles; None if neither improves."""
        near = float(cloud.W @ mode.near(self.path.model, cloud.theta))
        if near > 0.5 and cloud.log_evidence_std < GOOD_ENOUGH_NATS:
            return None
        draws = self.draws(mode, cloud.M)
        error, candidates = cloud.log_evidence_std**2, []
        if draws.are_reliable or near == 0.0 or self.exceeds(draws, cloud):
            candidates.append((self.added(cloud, mode, draws), True))
            seen_from_outside = candidates[0][0].log_evidence - cloud.log_evidence
            error = max(error, seen_from_outside**2)
        if len(self.modes) == 1:
            # particles do not go from one mode to another: how many are there says little
            smaller = [self.shared(cloud, mode, draws, r) for r in SMALL_RADII]
            candidates += [(c, False) for c in smaller if c is not None]
        best = min(candidates, key=lambda c: c[0].log_evidence_std, default=None)
        return best if best is not None and best[0].log_evidence_std ** 2 < error / 2 else None

    def draws(self, mode: Mode, M: int) -> Draws:
        """Draws around a mode, as many as precision asks for; their mean weight estimates Z_B."""
        model = self.path.model
        target = Target(model, Likelihood(self.rows))
        log_copies = 0.0 if model.slots is None else lgamma(len(model.slots) + 1)
        a, P = find_mode(target, mode.a)
        parts: list[Draws] = []
        while len(parts) < MAX_REGION_ROUNDS:
            P_now = mode.P if P is None else P
            theta, weights = importance_draws(target.value, a, P_now, log_copies, M, self.rng.noise)
            self.n_likelihoods += M * len(self.rows)
            distance = mode.distance(model, theta)
            distance[~model.is_canonical(theta, mode.reference(model))] = np.inf
            parts.append(Draws(theta, weights.log_w, distance))
            draws = Draws(*map(np.concatenate, zip(*parts)))
            regions = map(draws.within, (*SMALL_RADII, mode.radius))
            good = [part for part in regions if part.are_reliable]
            if good and good[-1].weights.relative_variance < PRECISE_REGION_NATS**2:  # in the largest region
                break
            if not good and len(parts) == TRIAL_REGION_ROUNDS:
                break
        return draws.within(mode.radius)

    def added(self, cloud: Cloud, mode: Mode, draws: Draws) -> Cloud:
        """Z = Z_A + Z_B: the particles outside, and the draws in the place of those inside."""
        if draws.weights.ess == 0.0:
            return cloud
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

    def shared(self, cloud: Cloud, mode: Mode, draws: Draws, r: float) -> Cloud | None:
        """Z = Z_B / p(B | D): the particles stay, and their log Z is set by their share of B."""
        inside, draws = mode.distance(self.path.model, cloud.theta) < r, draws.within(r)
        W, root = cloud.W, cloud.genealogy.root
        share = float(W @ inside)
        if not draws.are_reliable or not 0.0 < share < 1.0:
            return None
        # what the descendants of each root have more than their share of B
        excess = np.bincount(root, weights=W * (inside - share))
        var = draws.weights.relative_variance + float(np.sum(excess**2)) / share**2
        log_Z = cloud.log_Z + draws.weights.log_mean - np.log(share) - cloud.log_evidence
        return cloud._replace(log_Z=log_Z, genealogy=Genealogy.planted(len(W), var), shared_var=0.0)

    def exceeds(self, draws: Draws, cloud: Cloud) -> bool:
        """Is the region alone found to have more evidence than the particles say there is in all?

        An estimate of Z_B without bias is hardly ever much too high (Eq. 3.10), so then they have lost some.
        """
        if draws.weights.ess < MIN_REGION_DRAWS:
            return False
        std = np.hypot(cloud.log_evidence_std, draws.weights.relative_variance**0.5)
        return bool(draws.weights.log_mean - cloud.log_evidence > SIGNIFICANT_ERRORS * std)

    def missed_by(self, cloud: Cloud) -> float:
        """Nats by which the best mode exceeds the particles' own, if none of them is near it; else nan.

        Where rows are gone a search that finds nothing does not disprove an earlier one.
        """
        model, modes = self.path.model, self.modes
        if not modes or modes[0].near(model, cloud.theta).any():
            return np.nan
        target = Target(model, Likelihood(subsample(self.rows, self.search.compare_rows, self.rng.rows)))
        own = find_mode(target, cloud.theta[np.argmax(target.value(cloud.theta))])[0]
        gain = float(np.diff(target.value(np.array([own, modes[0].a])))[0])
        return gain if gain > SIGNIFICANT_GAIN_NATS else np.nan
