r"""An annealed answer, confirmed: by legs beyond the posterior, by a density, or by the way back.

Annealing knows its own error as long as the particles follow.  So an annealed answer of a user's model is

1. tempered beyond λ = 1 and back, whether it follows;
2. answered by a density that is Gaussian given the parameters that change the widths of the others
   (:func:`~sgevidence.answers.nested_laplace_answer`);
3. where that declines and the cloud follows, bridged to a density fitted to it (:mod:`._sharpen`);
4. where the cloud lags or the posterior is far from Gaussian, annealed in reverse: the mean of both ways,
   with half their gap as its error.

The density comes before the bridge.  A cloud that has lost a neck is smooth where it is, by its legs and its
third derivatives, and its halves agree on a bridge; a density draws wider than the cloud and finds the neck.

A density answers in place of annealing unless it is lower by more than four standard errors: an importance
sampling estimate is hardly ever much too high, and annealing that lags is too low.

Symbols: ``legs`` = test beyond the posterior, ``allowed`` = cost that a bridge may have.

**Hysteresis.**  The cloud is tempered beyond the posterior and back, and to the prior, to see whether
annealing has kept up.  Where the width of a posterior changes along a coordinate, as in hierarchies and
funnels, most of its mass flows into the narrow part only while λ comes near 1.  Particles do not follow, and
the answer is too low; neither weights nor genealogy nor more particles show it.  Tempered to λ = 1.3 the
cloud is drawn into the narrow part, and coming back it is still there, so that the two legs disagree on log
Z(1.3)/Z(1).

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

from ..answers import nested_laplace_answer
from ..history import Memory
from ..models import Model
from ..particles import Cloud, Genealogy, Weights, next_step, systematic
from ..targets import Likelihood, Path, Target
from ._anneal import Anneal
from ._answer_cloud import without_history
from ._base import Adaptation, State, Step, Streams
from ._sharpen import MAX_GAP_STD, SHARP_ENOUGH, Effort, Tested, cost, effort, is_annealed, sharpened

#: Third derivative of log p, in local widths, from which particles may lag though they close the loop.
NOT_GAUSSIAN = 0.5


def is_due(state: State, path: Path, anneal: Anneal) -> bool:
    """Whether the rows have doubled since the last test, of a model that may be annealed into a neck."""
    adaptation = state.adaptation
    if not may_lag(path.model) or anneal.resampling is None or not path.memory.complete:
        return False
    # gradients of each particle on all rows from which an answer is an annealed one: a survey of the prior
    # costs 8, the shortest annealing 30
    if adaptation.checks.spent < 15.0 * state.cloud.M * path.n_at_hand:
        return False
    return path.n >= 2.0 * adaptation.checks.confirmed


def may_lag(model: Model) -> bool:
    """Whether its parameters have names of their own, and its posterior need not be log-concave."""
    return is_annealed(model) and not model.has_one_mode


def confirmed(step: Step, path: Path, rng: Streams, anneal: Anneal, allowed: Effort | None) -> Step:
    """The step with an answer that was tested, and the words of all that was tried."""
    state, whole = step.state, from_prior(path)
    n_rows = max(path.n_at_hand, 1)
    # gradients, in particles, that each may cost in any case, and in particles × rows: a second
    spent, free = state.adaptation.checks.spent / n_rows, 1e7 / n_rows
    # part of what was spent since the last test that legs and nested densities may cost, in gradients
    for_legs = max(0.25 * spent, min(7.5e4, free / 4))
    for_nested = max(1.5 * spent, min(4e5, free))
    state = state._replace(adaptation=state.adaptation.checked(confirmed=path.n))
    legs = hysteresis(anneal, state.cloud, state.adaptation, whole, rng, for_legs)
    info = Tested(0, np.nan, legs.n_likelihoods, legs.n_gradients, legs.hysteresis)
    step = step._replace(state=state, info=info)
    if not legs.lags and state.cloud.log_evidence_std <= SHARP_ENOUGH:
        return step
    step, third = _by_density(step, path, rng, for_nested)
    if allowed and not step.crossed and not legs.lags:
        info, step = step.info, sharpened(step, path, rng, allowed)
        step = step._replace(info=info.plus(step.info))
    if not step.crossed and (legs.lags or third > NOT_GAUSSIAN):
        back = way_back(anneal, legs, whole, rng)
        cloud = bracketed(step.state.cloud, legs, back)
        info = step.info
        if back is not None:
            info = info.plus(
                Tested(n_returned=1, n_likelihoods=back.n_likelihoods, n_gradients=back.n_gradients)
            )
        step = step._replace(state=step.state._replace(cloud=cloud), info=info)
    return step


def confirmed_at_once(step: Step, path: Path, rng: Streams, anneal: Anneal) -> Step | None:
    """The step of all rows with an answer that was tested; None where it need not be."""
    spent = step.state._replace(adaptation=step.state.adaptation.checked(spent=cost(step.info)))
    if not is_due(spent, path, anneal):
        return None
    return confirmed(step._replace(state=spent), path, rng, anneal, effort(spent, path))


def _by_density(step: Step, path: Path, rng: Streams, most: float) -> tuple[Step, float]:
    """The step, crossed where a density has answered; and how far the posterior is from Gaussian."""
    state, n_rows = step.state, path.n_at_hand
    cloud, target = state.cloud, Target(path.model, Likelihood(path.all_rows))
    theta = cloud.theta[systematic(cloud.W, rng.resampling, cloud.M)]
    nested = nested_laplace_answer(target, theta, cloud.M, most, rng.noise, path.model.hyperparameters)
    info = Tested(n_likelihoods=nested.n_likelihoods * n_rows, n_gradients=nested.n_gradients * n_rows)
    found, is_taken = nested.answer, False
    if found is not None:
        excess = found.log_evidence - cloud.log_evidence
        is_taken = not excess < -MAX_GAP_STD * np.hypot(found.log_evidence_std, cloud.log_evidence_std)
        info = info._replace(n_sharpened=int(is_taken), disagreement=0.0 if is_taken else excess)
        state = state._replace(cloud=without_history(found)) if is_taken else state
    return step._replace(state=state, info=step.info.plus(info), crossed=is_taken), nested.third


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
    n_likelihoods: float
    n_gradients: float


class Hysteresis(NamedTuple):
    """Two legs, beyond the posterior and back."""

    #: log Z(1.3)/Z(1) as found going, plus log Z(1)/Z(1.3) as found coming, nats: 0 where the cloud follows;
    #: infinite where it goes nowhere, nan where it was not asked
    hysteresis: float
    std: float  #: its standard error
    returned: Leg  #: the way back to λ = 1
    n_likelihoods: float
    n_gradients: float

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
        return Hysteresis(np.nan, np.nan, Leg(cloud, adaptation, 0.0, True, 0.0, 0.0), 0.0, 0.0)
    anneal = anneal._replace(schedule=None, watch=None, n_particles=lambda n: M, max_steps=MAX_LEG_RUNGS)
    cloud = cloud._replace(genealogy=Genealogy.planted(cloud.M), shared_var=0.0)
    up = tempered(anneal, cloud, adaptation, path, (1.0, TURNING_LAMBDA), rng)
    down = tempered(anneal, up.cloud, up.adaptation, path, (TURNING_LAMBDA, 1.0), rng)
    arrived = up.has_arrived and down.has_arrived
    return Hysteresis(
        up.log_ratio + down.log_ratio if arrived else np.inf,
        down.cloud.log_evidence_std,
        down,
        up.n_likelihoods + down.n_likelihoods,
        up.n_gradients + down.n_gradients,
    )


def tempered(
    anneal: Anneal, cloud: Cloud, adaptation: Adaptation, path: Path, ends: tuple[float, float], rng: Streams
) -> Leg:
    """The cloud tempered from one λ to another, up or down."""
    (lam, end), move = ends, anneal.move.along(path, rng)
    sign, before, n_likelihoods, n_gradients = np.sign(end - lam), cloud.log_evidence, 0.0, 0.0
    for _ in range(anneal.max_steps):
        ell = sign * path.increment(cloud.theta)
        n_likelihoods += cloud.M * len(path.chunk)
        rest = abs(end - lam)
        delta = next_step(ell, cloud.weights.log_w, rest, anneal.target_ess)
        lam = end if delta == rest else lam + sign * delta
        cloud = cloud.weighted(delta * ell)
        if lam == 0.0:  # no move tells more
            break
        cloud, adaptation, moved = anneal.renewed(cloud, move, lam, adaptation, path, rng)
        n_gradients += moved.n_gradients
        if lam == end:
            break
    ratio = cloud.log_evidence - before
    return Leg(cloud, adaptation, ratio, bool(lam == end), n_likelihoods, n_gradients)


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
    n_likelihoods = leg.n_likelihoods + cloud.M * len(path.chunk)
    return (
        leg._replace(log_ratio=leg.log_ratio - np.log(possible), n_likelihoods=n_likelihoods)
        if leg.has_arrived
        else None
    )


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
