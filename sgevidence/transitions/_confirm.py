r"""An annealed answer, confirmed: by legs beyond the posterior, by a density, or by the way back.

Annealing knows its own error as long as the particles follow.  So an annealed answer of a user's model is

1. tempered beyond λ = 1 and back (:mod:`._hysteresis`), whether it follows;
2. if it does, bridged to a density fitted to the cloud (:mod:`._sharpen`);
3. else, or where that bridge declines, answered by a density that is Gaussian given the parameters that
   change the widths of the others (:func:`~sgevidence.targets.nested_laplace_answer`);
4. where that declines, too, and the cloud lags or the posterior is far from Gaussian, annealed in reverse:
   the mean of both ways, with half their gap as its error.

A density answers in place of annealing unless it is lower by more than four standard errors: an importance
sampling estimate is hardly ever much too high, and annealing that lags is too low.

Symbols: ``legs`` = test beyond the posterior, ``allowed`` = cost that a bridge may have.
"""

from typing import Any, NamedTuple

import numpy as np

from ..models import Model
from ..particles import systematic
from ..targets import Likelihood, Path, Target, nested_laplace_answer
from ._anneal import Anneal
from ._base import State, Step, Streams
from ._from_proposal import without_history
from ._hysteresis import bracketed, from_prior, hysteresis, way_back
from ._sharpen import DISAGREE, SHARP_ENOUGH, Effort, cost, effort, is_annealed, sharpened

#: Part of what was spent since the last test that legs and nested densities may cost, in gradients.
MAX_LEGS_COST, MAX_NESTED_COST = 0.25, 1.5
#: Gradients, in particles, that each may cost in any case, and in particles × rows: a second.
AFFORDABLE_LEGS, AFFORDABLE_NESTED, AFFORDABLE_VALUES = 7.5e4, 4e5, 1e7
#: Gradients of each particle on all rows from which an answer is an annealed one: a survey of the prior costs
#: 8, the shortest annealing 30.
MIN_SPENT = 15.0
#: Third derivative of log p, in local widths, from which there is anything to find.
MIN_THIRD = 0.05
#: Third derivative from which a posterior is one in which particles may lag though
#: they close the loop.
NOT_GAUSSIAN = 0.5


class Confirmed(NamedTuple):
    """The test of an annealed answer, and what has taken its place."""

    #: gap of two estimates of log Z(1.3)/Z(1), from the posterior and back to it, nats
    hysteresis: float = np.nan
    n_sharpened: int = 0  #: a density has answered
    n_returned: int = 0  #: the mean of annealing both ways is the answer
    disagreement: float = np.nan
    n_likelihoods: float = 0.0
    n_gradients: float = 0.0


def is_due(state: State, path: Path, anneal: Anneal) -> bool:
    """Whether the rows have doubled since the last test, of a model that may be annealed into a neck."""
    adaptation = state.adaptation
    if not may_lag(path.model) or anneal.resampling is None or not path.memory.complete:
        return False
    if adaptation.spent < MIN_SPENT * state.cloud.M * path.n_at_hand:
        return False
    return path.n >= 2.0 * adaptation.confirmed


def may_lag(model: Model) -> bool:
    """Whether its parameters have names of their own, and its posterior need not be log-concave."""
    return is_annealed(model) and not model.has_one_mode


def confirmed(
    step: Step, path: Path, rng: Streams, anneal: Anneal, allowed: Effort | None
) -> tuple[Step, list[Any]]:
    """The step with an answer that was tested, and the words of all that was tried."""
    state, whole = step.state, from_prior(path)
    n_rows = max(path.n_at_hand, 1)
    spent, free = state.adaptation.spent / n_rows, AFFORDABLE_VALUES / n_rows
    for_legs = max(MAX_LEGS_COST * spent, min(AFFORDABLE_LEGS, free / 4))
    for_nested = max(MAX_NESTED_COST * spent, min(AFFORDABLE_NESTED, free))
    state = state._replace(adaptation=state.adaptation._replace(confirmed=path.n))
    legs = hysteresis(anneal, state.cloud, state.adaptation, whole, rng, for_legs)
    infos: list[Any] = [Confirmed(legs.hysteresis, 0, 0, np.nan, legs.n_likelihoods, legs.n_gradients)]
    step = step._replace(state=state)
    if not legs.lags:
        is_sharp = state.cloud.log_evidence_std <= SHARP_ENOUGH
        if not is_sharp:  # a Student t density may agree with a cloud that has lost a neck
            step, info, _ = _by_density(step, path, rng, for_nested, NOT_GAUSSIAN)
            infos.append(info)
            if info.n_sharpened:
                return step._replace(info=info), infos
        if allowed:
            step = sharpened(step, path, rng, allowed)
            infos.append(step.info)
            is_sharp = step.info.n_sharpened > 0
        if is_sharp:
            return step, infos
    step, info, third = _by_density(step, path, rng, for_nested, MIN_THIRD)
    infos.append(info)
    if not info.n_sharpened and (legs.lags or third > NOT_GAUSSIAN):
        back = way_back(anneal, legs, whole, rng)
        cloud = bracketed(step.state.cloud, legs, back, rng.resampling)
        step = step._replace(state=step.state._replace(cloud=cloud))
        infos.append(
            Confirmed(
                n_returned=int(back is not None),
                n_likelihoods=0.0 if back is None else back.n_likelihoods,
                n_gradients=0.0 if back is None else back.n_gradients,
            )
        )
    return step._replace(info=infos[-1]), infos


def confirmed_at_once(step: Step, path: Path, rng: Streams, anneal: Anneal) -> tuple[Step, list[Any]]:
    """The step of all rows with an answer that was tested, where it may be; and the words of it."""
    spent = step.state._replace(adaptation=step.state.adaptation._replace(spent=cost(step.info)))
    if not is_due(spent, path, anneal):
        return step, []
    return confirmed(step._replace(state=spent), path, rng, anneal, effort(spent, path))


def _by_density(
    step: Step, path: Path, rng: Streams, most: float, least: float
) -> tuple[Step, Confirmed, float]:
    """The step with the answer of a density, or as it is; and how far the posterior is from Gaussian."""
    state, n_rows = step.state, path.n_at_hand
    cloud, target = state.cloud, Target(path.model, Likelihood(path.all_rows))
    theta = cloud.theta[systematic(cloud.W, rng.resampling, cloud.M)]
    nested = nested_laplace_answer(target, theta, cloud.M, most, rng.noise, least, path.model.hyperparameters)
    found, third = nested.answer, nested.third
    info = Confirmed(n_likelihoods=nested.n_likelihoods * n_rows, n_gradients=nested.n_gradients * n_rows)
    if found is None:
        return step, info, third
    excess = found.log_evidence - cloud.log_evidence
    if excess < -DISAGREE * np.hypot(found.log_evidence_std, cloud.log_evidence_std):
        return step, info._replace(disagreement=excess), third
    state = state._replace(cloud=without_history(found))
    return step._replace(state=state), info._replace(n_sharpened=1, disagreement=0.0), third
