r"""An annealed answer, confirmed: by legs beyond the posterior, by a density, or by the way back.

Annealing knows its own error as long as the particles follow.  So an annealed answer of a user's model is

1. tempered beyond λ = 1 and back (:mod:`._hysteresis`), whether it follows;
2. answered by a density that is Gaussian given the parameters that change the widths of the others
   (:func:`~sgevidence.answers.nested_laplace_answer`);
3. where that declines and the cloud lags or the posterior is far from Gaussian, annealed in reverse: the mean
   of both ways, with half their gap as its error.

A density answers in place of annealing unless it is lower by more than four standard errors: an importance
sampling estimate is hardly ever much too high, and annealing that lags is too low.

Symbols: ``legs`` = test beyond the posterior.
"""

import numpy as np

from ..answers import nested_laplace_answer
from ..particles import systematic
from ..targets import Likelihood, Path, Target
from ._anneal import Anneal
from ._answer_cloud import without_history
from ._base import Info, State, Step, Streams
from ._hysteresis import bracketed, from_prior, hysteresis, way_back

#: Standard error of an annealed answer, nats, that is not worth a try.
SHARP_ENOUGH = 0.02
#: Standard errors, of both answers, beyond which they do not agree.
MAX_GAP_STD = 4.0
#: Third derivative of log p, in local widths, from which particles may lag though they close the loop.
NOT_GAUSSIAN = 0.5


def is_due(state: State, path: Path, anneal: Anneal) -> bool:
    """Whether the rows have doubled since the last test, of a model that may be annealed into a neck."""
    adaptation = state.adaptation
    model = path.model
    # parameters have names of their own, and the posterior need not be log-concave
    may_lag = model.slots is None and not (model.has_exact_posterior or model.has_one_mode)
    if not may_lag or anneal.resampling is None or not path.memory.complete:
        return False
    # gradients of each particle on all rows from which an answer is an annealed one: a survey of the prior
    # costs 8, the shortest annealing 30
    if adaptation.checks.spent < 15.0 * state.cloud.M * path.n_at_hand:
        return False
    return path.n >= 2.0 * adaptation.checks.confirmed


def confirmed(step: Step, path: Path, rng: Streams, anneal: Anneal) -> Step:
    """The step with an answer that was tested, and the words of all that was tried."""
    state, whole = step.state, from_prior(path)
    n_rows = max(path.n_at_hand, 1)
    # gradients, in particles, that each may cost in any case, and in particles × rows: a second
    spent, free = state.adaptation.checks.spent / n_rows, 1e7 / n_rows
    # part of what was spent since the last test that legs and nested densities may cost, in gradients
    for_legs = max(0.25 * spent, min(7.5e4, free / 4))
    for_nested = max(1.5 * spent, min(4e5, free))
    state = state._replace(adaptation=state.adaptation.checked(confirmed=path.n, spent=0.0))
    legs = hysteresis(anneal, state.cloud, state.adaptation, whole, rng, for_legs)
    info = legs.info._replace(hysteresis=legs.hysteresis)
    step = step._replace(state=state, info=info)
    if not legs.lags and state.cloud.log_evidence_std <= SHARP_ENOUGH:
        return step
    step, third = _by_density(step, path, rng, for_nested)
    if not step.crossed and (legs.lags or third > NOT_GAUSSIAN):
        back = way_back(anneal, legs, whole, rng)
        cloud = bracketed(step.state.cloud, legs, back)
        info = step.info
        if back is not None:
            info = info.plus(back.info._replace(n_returned=1))
        step = step._replace(state=step.state._replace(cloud=cloud), info=info)
    return step


def confirmed_at_once(step: Step, path: Path, rng: Streams, anneal: Anneal) -> Step | None:
    """The step of all rows with an answer that was tested; None where it need not be."""
    spent = step.state._replace(adaptation=step.state.adaptation.checked(spent=step.info.cost))
    if not is_due(spent, path, anneal):
        return None
    return confirmed(step._replace(state=spent), path, rng, anneal)


def _by_density(step: Step, path: Path, rng: Streams, most: float) -> tuple[Step, float]:
    """The step, crossed where a density has answered; and how far the posterior is from Gaussian."""
    state, n_rows = step.state, path.n_at_hand
    cloud, target = state.cloud, Target(path.model, Likelihood(path.all_rows))
    theta = cloud.theta[systematic(cloud.W, rng.resampling, cloud.M)]
    nested = nested_laplace_answer(target, theta, cloud.M, most, rng.noise, path.model.hyperparameters)
    info = Info(nested.n_likelihoods * n_rows, nested.n_gradients * n_rows)
    found, is_taken = nested.answer, False
    if found is not None:
        excess = found.log_evidence - cloud.log_evidence
        is_taken = not excess < -MAX_GAP_STD * np.hypot(found.log_evidence_std, cloud.log_evidence_std)
        info = info._replace(n_replaced=int(is_taken), disagreement=0.0 if is_taken else excess)
        state = state._replace(cloud=without_history(found)) if is_taken else state
    return step._replace(state=state, info=step.info.plus(info), crossed=is_taken), nested.third
