r"""Carry the cloud with the posterior over a whole chunk (escorted free-energy estimation).

The posterior before the chunk is near N(m₁, P₁⁻¹), the one after it near N(m₂, P₂⁻¹).  The map T
between them takes every particle along, and its weight is multiplied by

    exp[ ℓ_C(Tθ) + log L_hist(Tθ) − log L_hist(θ) + log p(Tθ) − log p(θ) + log |det T| ].

Whatever the map, the estimate stays consistent: a bad map only costs effective sample size
(Vaikuntanathan and Jarzynski 2008).

Symbols: ``a`` = anchor, ``m, P`` = mode and precision, 1 before and 2 after the chunk, ``T`` = the map.

**Both directions** (Bennett 1976).  The weights of a cloud that a map has carried know nothing of where it is
too thin: the tail of a posterior that is not Gaussian, of which the map's image has a part only.  Then log Ẑ
is too low, chunk after chunk, by more than its error bar, which comes from the same weights.  So where they
are not even, or each of many maps has left them a little less so, or where the posterior before had a wall,
the cloud goes on to the new posterior by a move, and from there the map is taken *back*: with ω(θ) its weight
at its end θ,

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

from collections.abc import Callable
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from .._compat import Interval
from ..answers import bridge
from ..history import Anchor, Memory
from ..models import Model
from ..particles import EVEN_SHARE, AffineMap, Cloud, Weights
from ..targets import STRAY_SQUARED, Path, SampleEstimate, anchored_at_mode, estimate, gaussian
from ._anneal import Anneal
from ._base import Moved, State, Step, Streams

#: Nats of excess where one particle is all of it, of which a standard error knows nothing: whatever the
#: weights, a mean exceeds what it estimates by so much once in a thousand times at most (Markov).
MAX_CHANCE_NATS = 7.0


class Carried(NamedTuple):
    """A proposal of the map."""

    theta: np.ndarray  #: where the map takes the cloud, (M, d)
    increment: np.ndarray  #: of the log-weights, (M,)
    anchor: Anchor  #: of history and chunk together
    chunk: Memory  #: its rows, their sums, and those that samples of them must have
    noise_var: float  #: variance that the sub-sample of the history adds to log Ẑ
    spread: float  #: standard deviation over particles of its error, nats
    P: np.ndarray  #: precision of the Gaussian that the cloud is taken for, (d, d)
    T: AffineMap


class Escorted(NamedTuple):
    """An escort, taken or refused, and moves before or after it."""

    n_escorts: int = 0
    n_escorts_refused: int = 0
    n_likelihoods: float = 0.0
    ess: float = np.inf
    lambdas: tuple = ()
    n_moves: int = 0
    n_gradients: float = 0.0
    n_refused: int = 0
    acceptance: float = np.nan

    def with_move(self, moved: Moved) -> "Escorted":
        return self._replace(
            n_moves=self.n_moves + 1,
            n_gradients=self.n_gradients + moved.n_gradients,
            n_refused=self.n_refused + moved.n_refused,
            acceptance=moved.acceptance,
        )


class Escort(BaseEstimator):
    """An affine map that takes the cloud along with a posterior that is nearly Gaussian.

    Parameters
    ----------
    min_ess : float, default=0.5
        Effective sample size that it must leave, as a fraction of M.  From even weights the square of it will
        do: an escort takes the place of several annealing steps and may cost as much as two.
    min_width : float, default=0.75
        Least variance that the cloud must have in any direction, as a part of that of the Gaussian it is
        taken for, and of the least that so few draws may show (Marchenko and Pastur).  A narrower one, as of
        a posterior that ends at a wall, is carried to less than the whole of the next, with even weights.
    max_lost : float, default=0.02
        Share of the particles that it may take out of their labelling; their weight is zero.
    max_excess : float, default=3.0
        Standard errors by which the evidence that the cloud claims without the map may exceed the one with
        it: a map that leaves the posterior for a place where its density is small everywhere keeps the
        weights even.
    n_probes : int, default=256
        Particles that are asked for it, where the chunk was not weighed before: enough to see a mode of a
        half lost (log 2 at 0.1 to 0.2).
    first_rows : int, default=512
        Rows of history or chunk that it looks at first.
    whole_rows : int, default=2500
        So few that it may as well take all of them.
    max_noise : float, default=0.01
        Nats that a sub-sample of history or chunk may add to log Ẑ: the standard deviation that particles
        share, and half the variance of what differs between them, which is a bias.

    References
    ----------
    S. Vaikuntanathan, C. Jarzynski (2008), Escorted free energy simulations, Physical Review Letters 100.

    Examples
    --------
    >>> from sgevidence import SGAIS
    >>> from sgevidence.transitions import Escort
    >>> SGAIS(escort=Escort(min_ess=0.7)).escort
    Escort(min_ess=0.7)
    """

    _parameter_constraints: dict = {
        "min_ess": [Interval(Real, 0, 1, closed="right")],
        "min_width": [Interval(Real, 0, None, closed="left")],
        "max_lost": [Interval(Real, 0, 1, closed="both")],
        "max_excess": [Interval(Real, 0, None, closed="neither")],
        "n_probes": [Interval(Integral, 2, None, closed="left")],
        "first_rows": [Interval(Integral, 16, None, closed="left")],
        "whole_rows": [Interval(Integral, 1, None, closed="left")],
        "max_noise": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        min_ess: float = 0.5,
        min_width: float = 0.75,
        max_lost: float = 0.02,
        max_excess: float = 3.0,
        n_probes: int = 256,
        first_rows: int = 512,
        whole_rows: int = 2500,
        max_noise: float = 0.01,
    ) -> None:
        self.min_ess = min_ess
        self.min_width = min_width
        self.max_lost = max_lost
        self.max_excess = max_excess
        self.n_probes = n_probes
        self.first_rows = first_rows
        self.whole_rows = whole_rows
        self.max_noise = max_noise


class MapCheck(NamedTuple):
    """Whether a map leaves mass behind: evidence without it is hardly ever much too high (Eq. 3.10).

    Few particles make the most of plain weights.  Their mean may then exceed by more than three of its
    standard errors, which know nothing of the tail: Pr[x ≥ a] ≤ e^{−a} is all that is certain, whatever the
    weights.  Between the two another cloud decides: this one was noticed for its high weights.
    """

    excess: float  #: x = log Σ_i W_i p(y_n | θ_i) − log Ẑ_T, nats
    std: float
    ess: float  #: of the plain weights, a number of particles

    @classmethod
    def of(cls, plain: Weights, carried: Weights, claimed: float) -> "MapCheck":
        """From the weights without and with the map; ``claimed`` is the log of the latter's mean."""
        if plain.ess == 0.0:
            return cls(-np.inf, 0.0, 0.0)
        std = np.sqrt(plain.relative_variance + carried.relative_variance)
        return cls(plain.log_mean - claimed, float(std), plain.ess)

    def is_too_much(self, max_excess: float) -> bool:
        """More than ``max_excess`` standard errors, and than one particle may make of it."""
        return self.ess > 0.0 and self.excess > max(max_excess * self.std, MAX_CHANCE_NATS / self.ess)

    def may_be_chance(self, max_excess: float) -> bool:
        """Whether it is not more than both of them together, nor than is ever seen."""
        return self.ess > 0.0 and self.excess < min(
            max_excess * self.std + MAX_CHANCE_NATS / self.ess, MAX_CHANCE_NATS
        )


class MapEscort(NamedTuple):
    """The map of a cloud, by the settings of an :class:`Escort`."""

    by: Escort

    def __call__(self, state: State, path: Path, rng: Streams) -> Step:
        """Take the map over the whole chunk, if its weights are even enough and better than plain ones."""
        return self.step_along(self.carried(path, state.theta, rng.rows), state, path, rng)

    def step_along(self, carried: Carried | None, state: State, path: Path, rng: Streams) -> Step:
        """The step to what the map proposes, or one that declines it."""
        if carried is None:
            return Step(state, Escorted(), crossed=False)
        cloud, cost = state.cloud, 2.0 * state.cloud.M * len(path.chunk)
        inside = path.model.is_canonical(carried.theta, path.memory.labels)
        weights = cloud.weights.add(np.where(inside, carried.increment, -np.inf))
        plain = 0.0 if state.ell is None else cloud.weights.add(state.ell).ess
        least = self.by.min_ess ** (2 if cloud.is_even else 1) * cloud.M
        lost = inside.mean() < 1 - self.by.max_lost or weights.ess < max(least, plain)
        lost = lost or narrowest(cloud, carried.P) < self.by.min_width
        left = None if lost else self._map_check(state, path, carried, weights, rng.rows)
        if left is None or left.is_too_much(self.by.max_excess):
            if left is not None and left.may_be_chance(self.by.max_excess):
                state = state._replace(adaptation=state.adaptation._replace(map_is="disputed"))
            return Step(state, Escorted(n_escorts_refused=1, n_likelihoods=cost), crossed=False)
        is_even = weights.ess >= EVEN_SHARE * cloud.weights.ess
        adaptation = state.adaptation._replace(sample_noise=carried.spread, map_is="even" if is_even else "")
        cloud = cloud._replace(
            theta=np.where(inside[:, None], carried.theta, cloud.theta),
            weights=weights,
            shared_var=cloud.shared_var + carried.noise_var,
        )
        info = Escorted(n_escorts=1, n_likelihoods=cost, ess=weights.ess, lambdas=(1.0,))
        return Step(state._replace(cloud=cloud, adaptation=adaptation, ell=None), info, anchor=carried.anchor)

    def carried(self, path: Path, theta: np.ndarray, rng: np.random.Generator) -> Carried | None:
        """The map and what it does to the weights; None where there is no Gaussian to follow."""
        model, memory, chunk, _ = path
        if memory.anchor is None:
            return None
        try:
            sums = memory.sums
            m1, P1 = gaussian(model, sums)
            after, m2 = None, m1
            if chunk.total_weight < memory.n / 4:
                new = Anchor.of(model, sums.a, chunk)
                after = sums.plus(new)
                m2, P2 = gaussian(model, after)
            if after is None or (m2 - sums.a) @ P2 @ (m2 - sums.a) > STRAY_SQUARED * len(m2):
                new, after = anchored_at_mode(path, m2, rng)
                m2, P2 = gaussian(model, after)
            T = AffineMap.between(m1, P1, m2, P2)
        except np.linalg.LinAlgError:
            return None
        moved, rows = T(theta), path.chunk_memory._replace(anchor=new)
        increment, common_var, spread = self._increment(path, rows, theta, moved, T, rng)
        return Carried(moved, increment, after, rows, common_var, spread, P1, T)

    def returned(
        self, carried: Carried, path: Path, theta: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Increments of the log-weights of particles that the map would have taken to θ."""
        before = carried.T.inverse(theta)
        increment = self._increment(path, carried.chunk, before, theta, carried.T, rng)[0]
        return np.where(path.model.is_canonical(before, path.memory.labels), increment, np.inf)

    def _increment(
        self,
        path: Path,
        chunk: Memory,
        theta: np.ndarray,
        moved: np.ndarray,
        T: AffineMap,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, float, float]:
        """Moments of the log-weights from θ to Tθ: variance that all share, and spread of the rest."""
        model, memory = path.model, path.memory
        with np.errstate(all="ignore"):  # −∞ less −∞, of a particle that weighs nothing already
            chunk_part = self.sum(model, lambda L: L(moved), chunk, rng)
            history_part = self.sum(model, lambda L: L(moved) - L(theta), memory, rng)
            prior = model.log_prior(moved) - model.log_prior(theta)
            increment = chunk_part.value + history_part.value + prior + T.log_det
        increment = np.where(np.isnan(increment), -np.inf, increment)
        common_var = chunk_part.common_var + history_part.common_var
        return increment, common_var, (chunk_part.spread_var + history_part.spread_var) ** 0.5

    def _map_check(
        self, state: State, path: Path, carried: Carried, weights: Weights, rng: np.random.Generator
    ) -> MapCheck:
        """Mass of the cloud where it was, against the mass that the map claims there is."""
        cloud, claimed = state.cloud, weights.log_mean
        if state.ell is not None:
            plain = cloud.weights.add(state.ell)
        else:  # as few particles in proportion to their weights, which then are even
            theta = cloud.spread_theta(self.by.n_probes)
            plain = Weights(self.sum(path.model, lambda L: L(theta), carried.chunk, rng).value)
            claimed -= cloud.weights.log_mean
        return MapCheck.of(plain, weights, claimed)

    def sum(self, model: Model, of: Callable, memory: Memory, rng: np.random.Generator) -> SampleEstimate:
        """A function of the log likelihood of rows, from their anchor and as few of them as will do."""
        sizes = {"first_rows": self.by.first_rows, "whole_rows": self.by.whole_rows}
        return estimate(model, of, memory, rng, **sizes, noise=self.by.max_noise)


def narrowest(cloud: Cloud, P: np.ndarray) -> float:
    """Least variance of the cloud in any direction, over that of N(·, P⁻¹) and what so few draws may show."""
    phi = (cloud.theta - cloud.mean) @ np.linalg.cholesky(P)
    least = np.linalg.eigvalsh((phi.T * cloud.W) @ phi)[0]
    return float(least / max(1.0 - np.sqrt(len(P) / cloud.weights.ess), 0.1) ** 2)


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
