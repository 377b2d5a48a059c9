r"""The posterior after a chunk, from t densities at the modes to which it has moved.

The anchored sums tell where the mode is after the chunk, and how wide: mostly it is one Newton step from the
mode before.  Draws of a t density there (:func:`~sgevidence.answers.adapted_draws`) are weighed by all rows;
sums and a sample stand for the rows that are gone.  So the evidence is known afresh, whatever the particles
have lost on the way, and nothing is annealed.

A posterior may have several modes.  Then some of the particles are weighed, too.  From one that is likelier
than the densities know, a climb leads to another mode.  Where one still is, or where the draws do not
suffice, this transition declines.  It is not for exchangeable components: in a mixture an allocation of rows
may lead that no particle has.

Symbols: f = ``log_joint``, log p(rows, θ); ``a, P`` = mode and precision; q = mixture of t densities;
``M, d`` = particles and parameters.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..answers import ROUNDS, Adapted, TDensity, TMixture, adapted_draws, laplace
from ..history import Anchor, Memory
from ..particles import Weights, log_sum_exp
from ..targets import (
    MODE_ROWS,
    STRAY_SQUARED,
    Likelihood,
    Path,
    SampleEstimate,
    Target,
    anchored_at_mode,
    estimate,
    find_mode,
    gaussian,
    of_history,
)
from ._answer_cloud import without_history
from ._base import Info, State, Step, Streams

#: Rows of history or chunk up to which all of them are weighed; nats that a sample of more may add to log Z.
MAX_WHOLE_ROWS, MAX_WEIGHED_NOISE = 2500, 0.01
#: Rounds of draws, as ROUNDS of adapted draws: an error of 0.02 nats is less than weights alone add until the
#: next look.  A t fitted to the first draws mostly suffices, at an eighth of the price of a mixture.
FOLLOWED_ROUNDS = ((256, 20, 0, 0.02, 0.3, 0.008), (512, 40, 0, 0.02, 0.3, 0.008), *ROUNDS[2:])
#: Particles that are held against q: a mode of a hundredth is missed once in 13 times.
N_PROBES = 256
#: Nats by which a particle is likelier than q knows, from which a climb starts there; and modes at most.
OUTSTANDING_NATS, MAX_FOLLOWED_MODES = 4.0, 4
#: Widths beyond √d at which a particle is not of the mode at hand, as one of 10⁴ draws is; climbs from there.
APART_WIDTHS, MAX_STARTS = 4.0, 6

#: Mode (d,) and precision (d, d).
Peak = tuple[np.ndarray, np.ndarray]


class FromModes(NamedTuple):
    """Take evidence and particles from t densities at the modes of the new posterior."""

    n_particles: Callable[[float], int]  #: M after rows of this total weight
    tolerance: float  #: standard error, nats, that is asked for

    def __call__(self, state: State, path: Path, rng: Streams) -> Step:
        if path.memory.anchor is None:
            return Step(state, crossed=False)
        try:
            new, after = anchored(path, rng.rows)
            if not np.isfinite(after.S):
                raise np.linalg.LinAlgError("some of the rows are impossible at the mode")
            weighed = Weighing(path, new, after, rng.rows)
            found = self._draws(state, gaussian(path.model, after), weighed, rng)
        except np.linalg.LinAlgError:
            return Step(state, crossed=False)
        cost = weighed.n_likelihoods
        if found is None:
            return Step(state, Info(cost), crossed=False)
        std = float(np.hypot(found.draws.std, weighed.common_var**0.5))
        answer = found.answer(std, path.n_at_hand, self.n_particles(path.n), rng.noise)
        adaptation = state.adaptation._replace(sample_noise=weighed.spread_var**0.5)
        state = state._replace(cloud=without_history(answer), adaptation=adaptation, pending=None, ell=None)
        return Step(state, Info(cost, n_proposals=1), anchor=after)

    def _draws(self, state: State, peak: Peak, log_joint: "Weighing", rng: Streams) -> Adapted | None:
        """Draws that suffice, of q that no particle speaks against; else None."""
        path, peaks, log_f = log_joint.path, [peak], np.empty(0)
        probes = state.cloud.spread_theta(N_PROBES)
        if not path.model.has_one_mode:
            log_f = log_joint(probes)
            peaks = followed(peaks, probes, log_f, log_joint, rng.rows)
        mass = laplace(log_joint, peaks)
        if not np.isfinite(mass).all():  # a mode of the sums that is impossible for the rows
            return None
        found = adapted_draws(
            log_joint,
            peaks,
            0.5 * Weights(mass).W + 0.5 / len(mass),
            self.n_particles(path.n),
            rng.noise,
            self.tolerance,
            rounds=FOLLOWED_ROUNDS,
        )
        if found is None or not found.suffices:
            return None
        if len(log_f) and found.draws.are_outweighed_by(np.max(log_f - found.q.log_density(probes))):
            return None
        return found


class Weighing:
    """log p(rows, θ) at the end of a path, and what it is in doubt by, where rows are sampled."""

    def __init__(self, path: Path, new: Anchor, after: Anchor, rng: np.random.Generator) -> None:
        self.path, self.rng = path, rng
        self.parts: list[Memory] = [
            path.memory._replace(anchor=after.plus(new, -1.0)),
            path.chunk_memory._replace(anchor=new),
        ]
        self.common_var = self.spread_var = self.n_likelihoods = 0.0

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        """(M,), −∞ where it is not a number."""
        model = self.path.model
        with np.errstate(all="ignore"):
            history, chunk = (self._estimated(theta, part) for part in self.parts)
            value = history.value + chunk.value + model.log_prior(theta)
        self.common_var = history.common_var + chunk.common_var
        self.spread_var = history.spread_var + chunk.spread_var
        self.n_likelihoods += float(len(theta) * min(self.path.n_at_hand, MAX_WHOLE_ROWS))
        return np.where(np.isnan(value), -np.inf, value)

    def _estimated(self, theta: np.ndarray, part: Memory) -> SampleEstimate:
        noise, model = MAX_WEIGHED_NOISE, self.path.model
        return estimate(model, theta, part, self.rng, whole_rows=MAX_WHOLE_ROWS, noise=noise)


def anchored(path: Path, rng: np.random.Generator) -> tuple[Anchor, Anchor]:
    """Anchored sums of the chunk, and of history and chunk, where they know the mode after the chunk.

    LinAlgError where the curvature is not that of a maximum.
    """
    model, memory, chunk, _ = path
    mode = gaussian(model, memory.sums)[0]
    if chunk.total_weight < memory.n / 4:
        new = Anchor.of(model, memory.sums.a, chunk)
        after = memory.sums.plus(new)
        mode, P = gaussian(model, after)
        if (mode - after.a) @ P @ (mode - after.a) <= STRAY_SQUARED * len(mode):
            return new, after
    return anchored_at_mode(path, mode, rng)


def followed(
    peaks: list[Peak], probes: np.ndarray, log_f: np.ndarray, log_joint: Weighing, rng: np.random.Generator
) -> list[Peak]:
    """The modes, and others to which probes (R, d) of log f (R,) lead.

    Each mode of the particles is followed, however low it is now: where rows have moved the best one, those
    that equal it by symmetry have moved with it.  Then whatever is likelier than the modes explain.
    """
    path = log_joint.path
    past = of_history(path.model, path.memory, MODE_ROWS, rng)
    target = Target(path.model, Likelihood(path.chunk).plus(past))
    for start in apart(probes, *peaks[0]):
        peaks = with_climb(peaks, target, start)
    while len(peaks) < MAX_FOLLOWED_MODES:
        mass = laplace(log_joint, peaks)
        if not np.isfinite(mass).all():
            break
        q = TMixture([TDensity.at_mode(a, P) for a, P in peaks], Weights(mass).W)
        excess = log_f - log_sum_exp(mass) - q.log_density(probes)
        if not excess.max() > OUTSTANDING_NATS:
            break
        known, peaks = len(peaks), with_climb(peaks, target, probes[np.argmax(excess)])
        if len(peaks) == known:
            break
    return peaks


def apart(probes: np.ndarray, a: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Probes outside of the mode's own width, each far from those before it, the farthest first."""
    d, phi = len(a), (probes - a) @ np.linalg.cholesky(P)
    away = np.sum(phi**2, axis=1)
    found: list[int] = []
    while len(found) < MAX_STARTS and away.max() > (d**0.5 + APART_WIDTHS) ** 2:
        found.append(int(np.argmax(away)))
        away = np.minimum(away, np.sum((phi - phi[found[-1]]) ** 2, axis=1))
    return probes[found]


def with_climb(peaks: list[Peak], target: Target, start: np.ndarray) -> list[Peak]:
    """The peaks, and that to which a climb leads, if it is another one and there is room."""
    if len(peaks) == MAX_FOLLOWED_MODES:
        return peaks
    a, P = find_mode(target, start)
    if P is None or any((a - b) @ Q @ (a - b) < len(a) for b, Q in peaks):
        return peaks
    return [*peaks, (a, P)]
