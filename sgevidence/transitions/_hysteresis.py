r"""Whether annealing has kept up: the cloud is tempered beyond the posterior and back, and to the prior.

Where the width of a posterior changes along a coordinate, as in hierarchies and funnels, most of its mass
flows into the narrow part only while λ comes near 1.  Particles do not follow, and the answer is too low;
neither weights nor genealogy nor more particles show it.  Tempered to λ = 1.3 the cloud is drawn into the
narrow part, and coming back it is still there, so that the two legs disagree on log Z(1.3)/Z(1).

From the cloud that has come back, annealing in reverse,

    log Ẑ_b = −log Z(0)/Z(1),    log Z ≲ log Ẑ_b,                                 (3.10)

is as much too high as the cloud lags behind, so that forward and backward bracket log Z (thesis §3.1.4).

Beyond λ = 1 the tempered posterior may be improper although the prior is proper.  The legs are a test, and a
way to move the cloud: they estimate nothing.

Symbols: λ, Δ ``lam`` = annealing parameter and its step; ℓ_i ``ell`` = log likelihood of all rows.

References
----------
R. B. Grosse, S. Ancha, D. M. Roy (2016), Measuring the reliability of MCMC inference with bidirectional Monte
Carlo.
"""

from typing import NamedTuple

import numpy as np

from ..history import Memory
from ..particles import Cloud, Genealogy, Weights, next_step
from ..targets import Path
from ._anneal import Anneal
from ._base import Adaptation, Info, Streams

#: λ at which the cloud turns: at 1.1 gaps are a third, and eight schools do not show.
TURNING_LAMBDA = 1.3
#: Rungs of a leg, and of the way back: more mean that the cloud goes nowhere.
MAX_LEG_RUNGS, MAX_RUNGS = 12, 200
#: Error of an answer over the gap of its legs: 2 to 6.5 for hierarchies and funnels of 10 parameters.
ERROR_PER_GAP = 4.0
#: Error of an answer whose legs go nowhere, or farther apart than that, nats: it is warned of.
MAX_LAG_NATS = 5.0


class Leg(NamedTuple):
    """A cloud that was tempered from one λ to another."""

    cloud: Cloud
    adaptation: Adaptation
    log_ratio: float  #: log Z at the end over that at the start, nats
    has_arrived: bool
    info: Info


class Hysteresis(NamedTuple):
    """Two legs, beyond the posterior and back."""

    #: log Z(1.3)/Z(1) as found going, plus log Z(1)/Z(1.3) as found coming, nats: 0 where the cloud follows;
    #: infinite where it goes nowhere, nan where it was not asked
    hysteresis: float
    std: float  #: its standard error
    returned: Leg  #: the way back to λ = 1
    info: Info

    @property
    def lags(self) -> bool:
        """Whether the cloud does not follow."""
        # gap of the legs, nats and standard errors, from which the cloud lags behind
        return abs(self.hysteresis) > max(0.05, 3.0 * self.std)


def from_prior(path: Path) -> Path:
    """The path of all rows at once."""
    return Path(path.model, Memory.empty(), path.all_rows)


def hysteresis(
    anneal: Anneal, cloud: Cloud, adaptation: Adaptation, path: Path, rng: Streams, most: float
) -> Hysteresis:
    """The legs of a cloud at the end of a path that begins at the prior, for ``most`` gradients.

    Where these are too few no leg is begun, and nothing is known.
    """
    # gradients that the legs cost a particle: five rungs of 30
    # particles of the legs: five hundred know gaps to 0.06 nats, and two hundred are too few
    M = int(min(cloud.M, 500, most / 150))
    if M < min(200, cloud.M):
        return Hysteresis(np.nan, np.nan, Leg(cloud, adaptation, 0.0, True, Info()), Info())
    anneal = anneal._replace(schedule=None, watch=None, n_particles=lambda n: M, max_steps=MAX_LEG_RUNGS)
    cloud = cloud._replace(genealogy=Genealogy.planted(cloud.M), shared_var=0.0)
    up = tempered(anneal, cloud, adaptation, path, (1.0, TURNING_LAMBDA), rng)
    down = tempered(anneal, up.cloud, up.adaptation, path, (TURNING_LAMBDA, 1.0), rng)
    arrived = up.has_arrived and down.has_arrived
    return Hysteresis(
        up.log_ratio + down.log_ratio if arrived else np.inf,
        down.cloud.log_evidence_std,
        down,
        up.info.plus(down.info),
    )


def tempered(
    anneal: Anneal, cloud: Cloud, adaptation: Adaptation, path: Path, ends: tuple[float, float], rng: Streams
) -> Leg:
    """The cloud tempered from one λ to another, up or down."""
    (lam, end), move = ends, anneal.move.along(path, rng)
    sign, before, info = np.sign(end - lam), cloud.log_evidence, Info()
    for _ in range(anneal.max_steps):
        ell = sign * path.increment(cloud.theta)
        info = info.plus(Info(cloud.M * len(path.chunk)))
        rest = abs(end - lam)
        delta = next_step(ell, cloud.weights.log_w, rest, anneal.target_ess)
        lam = end if delta == rest else lam + sign * delta
        cloud = cloud.weighted(delta * ell)
        if lam == 0.0:  # no move tells more
            break
        cloud, adaptation, moved = anneal.renewed(cloud, move, lam, adaptation, path, rng)
        info = info.plus(Info(n_gradients=moved.n_gradients))
        if lam == end:
            break
    ratio = cloud.log_evidence - before
    return Leg(cloud, adaptation, ratio, bool(lam == end), info)


def way_back(anneal: Anneal, legs: Hysteresis, path: Path, rng: Streams) -> Leg | None:
    """From the cloud that has come back to the prior; None where much of the prior is impossible.

    ``log_ratio`` is the log of the prior mass over the evidence.
    """
    cloud = legs.returned.cloud
    prior = path.increment(path.model.sample_prior(rng.noise, cloud.M))
    possible = float(np.mean(np.isfinite(prior)))
    # share of draws of the prior that must be possible for the way back to end at the prior
    if possible < 0.1 or np.isinf(legs.hysteresis):
        return None
    anneal = anneal._replace(schedule=None, watch=None, n_particles=lambda n: cloud.M, max_steps=MAX_RUNGS)
    cloud = cloud._replace(genealogy=Genealogy.planted(cloud.M))
    leg = tempered(anneal, cloud, legs.returned.adaptation, path, (1.0, 0.0), rng)
    info = leg.info.plus(Info(cloud.M * len(path.chunk)))
    return leg._replace(log_ratio=leg.log_ratio - np.log(possible), info=info) if leg.has_arrived else None


def bracketed(cloud: Cloud, legs: Hysteresis, back: Leg | None) -> Cloud:
    """The mean of forward and backward, and particles of both; the gap is in the error."""
    lag = min(ERROR_PER_GAP * abs(legs.hysteresis), MAX_LAG_NATS) if legs.lags else 0.0
    if back is None:
        return cloud._replace(shared_var=cloud.shared_var + lag**2)
    forward, backward = cloud.log_evidence, -back.log_ratio
    std = 0.5 * np.hypot(cloud.log_evidence_std, back.cloud.log_evidence_std)
    half_gap = 0.5 * abs(backward - forward)
    parts = cloud.spread_theta(cloud.M // 2), legs.returned.cloud.spread_theta(cloud.M - cloud.M // 2)
    theta = np.concatenate(parts)
    error = np.hypot(std, max(half_gap, lag))
    M = len(theta)
    return Cloud(theta, Weights.ones(M), 0.5 * (forward + backward), Genealogy.planted(M, float(error**2)))
