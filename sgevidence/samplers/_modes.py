"""Modes that the particles have missed, or hold by too few, take their share of the evidence from outside.

A mixture with too few components has several modes, each a different way to merge groups.  The one
that is best in the end may hold a millionth of the posterior after a hundred rows: then no particle
is there, or one whose luck is the whole estimate, and the weights may not show it.  So modes are
sought from outside, by Newton ascent from merged k-means solutions.  B is an ellipsoid around a mode,
in all its labellings, and A the rest of the space.  Z_B is K! times an importance sampling estimate
in one labelling; then, with what the particles say,

    Z = Z_A + Z_B    (Z_A is what those outside B weigh)    or    Z = Z_B / p(B | D).

The first needs no particle to be near the mode.  The second forgets all error of Z but that of the
share p(B | D), and needs particles that go in and out of B.  B is fixed by the data alone, so both are
right wherever its border lies; the one with the smaller variance is taken, if it improves.

Symbols: ``a, P`` = mode and its precision, ``B`` = region around it, ``r`` = its squared radius in posterior
widths per parameter.
"""

from math import lgamma
from typing import NamedTuple

import numpy as np

from ..particles import Genealogy, Weights, log_sum_exp, systematic
from ._basin import basin
from ._mode import find_mode
from ._state import SGAISState
from ._target import Likelihood, Target

#: Rows for the search, and most rows for the comparison of what was found.
SEARCH_ROWS, COMPARE_ROWS = 1000, 10_000
N_STARTS, MOST_CLIMBS, MOST_MODES = 24, 8, 4
#: Nats below the best mode at which a mode no longer counts: its width may make up for a few.
NEGLIGIBLE = 8.0
#: Nats by which a mode must be better to be reported as missed; standard errors by which Z_B must exceed Z.
SIGNIFICANT = 3.0
#: r of the region that counts as the mode's own, beyond all of a Gaussian's mass for d > 10; and of smaller
#: ones, in which the posterior is nearer to Gaussian.
RADIUS, SMALLER = 4.0, (1.0, 1.5, 2.0)
#: Share of importance weights that must be effective for their variance to be believed.
RELIABLE = 0.1
#: And their number.
FEW = 20
#: Variance of log Z_B that more draws are taken for, 0.05² nats², and how many times more.
PRECISE, MOST_DRAWS = 0.0025, 16
#: Variance of log Z, nats², below which particles at the mode need no help.
GOOD_ENOUGH = 0.01
#: How many times more before importance sampling is given up.
ENOUGH_TO_SEE = 4
#: Share of the evidence that may depend on particles that have not moved.
NOTHING = 0.02


class Mode(NamedTuple):
    """A maximum of the posterior of at most COMPARE_ROWS rows."""

    a: np.ndarray
    P: np.ndarray
    value: float  #: log joint there, nats

    def distance(self, model, theta) -> np.ndarray:
        """Squared, in posterior widths per parameter, of the labelling that is next to it, (M,)."""
        u = model.canonicalize(theta, self.reference(model)) - self.a
        return np.sum((u @ self.P) * u, axis=1) / len(self.a)

    def near(self, model, theta) -> np.ndarray:
        """Which points are in its own region, (M,)."""
        return self.distance(model, theta) < RADIUS

    def reference(self, model):
        return self.a[model.slots], np.ones(model.slots.shape)


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
    def reliable(self) -> bool:
        """Whether the variance of the weights can be believed: enough of them count."""
        inside = np.sum(np.isfinite(self.log_w))
        return bool(self.weights.ess > max(RELIABLE * inside, FEW))


def find_modes(model, rows, rng) -> list[Mode]:
    """Distinct modes within NEGLIGIBLE nats of the best, best first."""
    few, many = _some(rows, SEARCH_ROWS, rng), _some(rows, COMPARE_ROWS, rng)
    search, compare = Target(model, Likelihood(few)), Target(model, Likelihood(many))
    starts = model.starts(few, 20 * N_STARTS, rng)  # only the best of them are climbed from
    value = search.value(starts)
    distinct = np.unique(np.round(value, 1), return_index=True)[1]
    best = distinct[np.argsort(-value[distinct])][:N_STARTS]
    found = np.array([find_mode(search, start)[0] for start in starts[best]])
    value = compare.value(found)
    modes: list[Mode] = []
    for start in found[np.argsort(-value)][:MOST_CLIMBS]:
        if any(mode.near(model, start[None])[0] for mode in modes):
            continue
        a, P = find_mode(compare, start)
        if P is not None:
            mode = Mode(a, P, float(compare.value(a[None])[0]))
            modes += [] if any(other.near(model, a[None])[0] for other in modes) else [mode]
        if len(modes) == MOST_MODES:
            break
    modes.sort(key=lambda mode: -mode.value)
    return [mode for mode in modes if mode.value > modes[0].value - NEGLIGIBLE]


def missed_by(model, state: SGAISState, rows, modes: list[Mode], rng) -> float:
    """Nats by which the best mode exceeds the particles' own, if none of them is near it; else 0."""
    if not modes or modes[0].near(model, state.theta).any():
        return 0.0
    target = Target(model, Likelihood(_some(rows, COMPARE_ROWS, rng)))
    own = find_mode(target, state.theta[np.argmax(target.value(state.theta))])[0]
    gain = float(np.diff(target.value(np.array([own, modes[0].a])))[0])
    return gain if gain > SIGNIFICANT else 0.0


def renewed(model, state: SGAISState, rows, modes: list[Mode], rng, tally) -> SGAISState:
    """The state with modes taken from outside, where that makes a better estimate of Z."""
    for mode in modes:
        near = float(state.weights.W @ mode.near(model, state.theta))
        if near > 0.5 and state.log_evidence_std**2 < GOOD_ENOUGH:
            continue
        draws = importance(model, rows, mode, len(state.theta), rng, tally)
        error, candidates = state.log_evidence_std**2, []
        if draws.reliable or near == 0.0 or exceeds(draws, state):
            candidates.append(added(model, state, mode, draws, rng))
            error = max(error, (candidates[0].log_evidence - state.log_evidence) ** 2)  # seen from outside
        if len(modes) == 1:  # particles do not go from one mode to another: how many are there says little
            smaller = [shared(model, state, mode, draws, r) for r in SMALLER]
            candidates += [c for c in smaller if c is not None]
        best = min(candidates, key=lambda c: c.log_evidence_std, default=state)
        if best.log_evidence_std**2 < error / 2:
            state = best
            tally.n_renewals += 1
    return state


def exceeds(draws: Draws, state: SGAISState) -> bool:
    """Is the region alone found to have more evidence than the particles say there is in all?

    An estimate of Z_B without bias is hardly ever much too high (Eq. 3.10), so then they have lost some.
    """
    if draws.weights.ess < FEW:
        return False
    std = np.hypot(state.log_evidence_std, draws.weights.relative_variance**0.5)
    return bool(draws.weights.log_mean - state.log_evidence > SIGNIFICANT * std)


def jumped(model, state: SGAISState, rows, modes: list[Mode], rng, tally) -> SGAISState | None:
    """The state with all modes added, if next to nothing is left outside: then nothing need be annealed.

    Particles outside are weighted by new rows without having been moved, so little may depend on them.
    """
    for mode in modes:
        draws = importance(model, rows, mode, len(state.theta), rng, tally)
        if not draws.reliable:
            return None
        state = added(model, state, mode, draws, rng)
    near = [mode.near(model, state.theta) for mode in modes]
    if not modes or np.mean(np.any(near, axis=0)) < 1 - NOTHING:
        return None
    tally.n_renewals += len(modes)
    return state


def importance(model, rows, mode: Mode, M: int, rng, tally) -> Draws:
    """Draws around a mode, as many as precision asks for; their mean weight estimates Z_B."""
    target, log_copies = Target(model, Likelihood(rows)), lgamma(len(model.slots) + 1)
    a, P = find_mode(target, mode.a)
    parts: list[Draws] = []
    while len(parts) < MOST_DRAWS:
        theta, weights = basin(target, a, mode.P if P is None else P, log_copies, M, rng)
        tally.n_likelihoods += M * len(rows)
        distance = mode.distance(model, theta)
        distance[~model.is_canonical(theta, mode.reference(model))] = np.inf
        parts.append(Draws(theta, weights.log_w, distance))
        draws = Draws(*map(np.concatenate, zip(*parts)))
        good = [part for part in map(draws.within, (*SMALLER, RADIUS)) if part.reliable]
        if good and good[-1].weights.relative_variance < PRECISE:  # in the largest region
            break
        if not good and len(parts) == ENOUGH_TO_SEE:
            break
    return draws.within(RADIUS)


def added(model, state: SGAISState, mode: Mode, draws: Draws, rng) -> SGAISState:
    """Z = Z_A + Z_B: the particles outside, and the draws in the place of those inside."""
    if draws.weights.ess == 0.0:
        return state
    outside = Weights(np.where(mode.near(model, state.theta), -np.inf, state.weights.log_w))
    log_Z_A, log_Z_B = state.log_Z + outside.log_mean, draws.weights.log_mean
    log_Z = log_sum_exp(np.array([log_Z_A, log_Z_B]))
    share_A, share_B = np.exp(log_Z_A - log_Z), np.exp(log_Z_B - log_Z)
    W_A, M = outside.W if share_A > 0 else np.zeros(outside.M), len(state.theta)
    parents = systematic(np.r_[share_A * W_A, share_B * draws.weights.W], rng, M)
    var_A = state.genealogy.variance(W_A) + state.noise_var
    var = share_A**2 * var_A + share_B**2 * draws.weights.relative_variance
    return state._replace(
        theta=np.concatenate([state.theta, draws.theta])[parents],
        weights=Weights.ones(M),
        log_Z=float(log_Z),
        genealogy=_siblings(parents, float(var)),
        noise_var=0.0,
        anchor=None,
    )


def shared(model, state: SGAISState, mode: Mode, draws: Draws, r: float) -> SGAISState | None:
    """Z = Z_B / p(B | D): the particles stay, and their log Z is set by their share of B."""
    inside, draws = mode.distance(model, state.theta) < r, draws.within(r)
    W, root = state.weights.W, state.genealogy.root
    share = float(W @ inside)
    if not draws.reliable or not 0.0 < share < 1.0:
        return None
    # what the descendants of each root have more than their share of B
    excess = np.bincount(root, weights=W * (inside - share))
    var = draws.weights.relative_variance + float(np.sum(excess**2)) / share**2
    log_Z = state.log_Z + draws.weights.log_mean - np.log(share) - state.log_evidence
    return state._replace(log_Z=log_Z, genealogy=Genealogy.planted(len(W), var), noise_var=0.0)


def _siblings(parents, var: float) -> Genealogy:
    """Duplicates share a root; what their numbers vary by is in ``var`` already."""
    _, root = np.unique(parents, return_inverse=True)
    planted = Genealogy(root, int(root.max()) + 1, 0.0)
    return planted._replace(var=max(var - planted.variance(np.full(len(root), 1 / len(root))), 0.0))


def _some(rows, most, rng):
    return rows.take(rng.choice(len(rows), most, replace=False)) if most < len(rows) else rows
