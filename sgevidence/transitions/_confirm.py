r"""An annealed answer, confirmed or replaced by a density.

Where the width of a posterior changes along a coordinate, as in hierarchies and funnels, most of its mass
flows into the narrow part only while λ comes near 1.  Particles do not follow, and the answer is too low;
neither weights nor genealogy nor more particles show it.  So a density answers, too, that is Gaussian given
the parameters that change the widths of the others (:func:`~sgevidence.answers.nested_laplace_answer`).

It answers in place of annealing unless it is lower by more than four standard errors: an importance sampling
estimate is hardly ever much too high, and annealing that lags is too low.  Where it declines, and the
posterior is far from Gaussian, or the annealed answer is uncertain, nothing confirms it, which is said.
"""

import numpy as np

from ..answers import nested_laplace_answer
from ..particles import systematic
from ..targets import Likelihood, Path, Target
from ._anneal import Anneal
from ._answer_cloud import without_history
from ._base import Info, State, Step, Streams

#: Standard error of an annealed answer, nats, that is not worth a try.
SHARP_ENOUGH = 0.02
#: Standard errors, of both answers, beyond which they do not agree.
MAX_GAP_STD = 4.0
#: Third derivative of log p, in local widths, from which particles may lag.
NOT_GAUSSIAN = 0.5
#: Standard error of an annealed answer, nats, from which it is doubted where no density answers.
UNCERTAIN_NATS = 0.5


def is_due(state: State, path: Path, anneal: Anneal) -> bool:
    """Whether the rows have doubled since the last test, of a model that may be annealed into a neck."""
    adaptation = state.adaptation
    model = path.model
    # parameters have names of their own; a posterior of one mode may have a neck, too
    may_lag = model.slots is None and not (model.has_exact_posterior or model.is_log_concave)
    if not may_lag or anneal.resampling is None or not path.memory.complete:
        return False
    # gradients of each particle on all rows from which an answer is an annealed one: a survey of the prior
    # costs 8, the shortest annealing 30
    if adaptation.checks.spent < 15.0 * state.cloud.M * path.n_at_hand:
        return False
    return path.n >= 2.0 * adaptation.checks.confirmed


def confirmed(step: Step, path: Path, rng: Streams) -> Step:
    """The step with an answer that was tested."""
    state, n_rows = step.state, max(path.n_at_hand, 1)
    cloud, target = state.cloud, Target(path.model, Likelihood(path.all_rows))
    # gradients, in particles, that a density may cost: of those since the last test, and in any case a second
    # of particles × rows
    most = max(1.5 * state.adaptation.checks.spent / n_rows, min(4e5, 1e7 / n_rows))
    state = state._replace(adaptation=state.adaptation.checked(confirmed=path.n, spent=0.0))
    if cloud.log_evidence_std <= SHARP_ENOUGH:
        return step._replace(state=state, info=Info())
    theta = cloud.theta[systematic(cloud.W, rng.resampling, cloud.M)]
    nested = nested_laplace_answer(target, theta, cloud.M, most, rng.noise, path.model.hyperparameters)
    found, is_taken, excess = nested.answer, False, np.nan
    if found is not None:
        excess = found.log_evidence - cloud.log_evidence
        is_taken = not excess < -MAX_GAP_STD * np.hypot(found.log_evidence_std, cloud.log_evidence_std)
        state = state._replace(cloud=without_history(found)) if is_taken else state
    elif nested.third > NOT_GAUSSIAN or cloud.log_evidence_std > UNCERTAIN_NATS:
        excess = np.inf
    info = Info(
        nested.n_likelihoods * n_rows,
        nested.n_gradients * n_rows,
        n_replaced=int(is_taken),
        disagreement=0.0 if is_taken else excess,
    )
    return step._replace(state=state, info=info)


def confirmed_at_once(step: Step, path: Path, rng: Streams, anneal: Anneal) -> Step | None:
    """The step of all rows with an answer that was tested; None where it need not be."""
    spent = step.state._replace(adaptation=step.state.adaptation.checked(spent=step.info.cost))
    if not is_due(spent, path, anneal):
        return None
    return confirmed(step._replace(state=spent), path, rng)
