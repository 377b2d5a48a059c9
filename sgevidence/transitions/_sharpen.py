r"""After annealing, a bridge from the cloud to a density fitted to it: a sharper answer, and a second one.

Annealing makes an error at each of its steps, and the cloud at the end of them knows more than their product.
Its two halves, moved on at the posterior, are each bridged to the density that is fitted to the other one
(:func:`~sgevidence.answers.cross_fitted_bridge`).  The bridge owes nothing to the weights on the way.  Where
both agree the answer with the smaller error is taken, and where they do not the answer is in doubt.

Halves are made of whole lineages.  Modes that the cloud has lost are lost to the bridge, too, so it comes
after the looks for modes.

Symbols: ``C`` = chains of a half, ``M`` = particles, ``d`` = parameters.
"""

from typing import Any, NamedTuple

import numpy as np

from ..answers import cross_fitted_bridge
from ..models import Model
from ..particles import Cloud, Weights, systematic
from ..targets import Likelihood, Path, Target
from ._answer_cloud import without_history
from ._base import State, Step, Streams

#: Chains of a half: at most, at least, and at least for each parameter, whose covariance they are to tell.
MAX_CHAINS, MIN_CHAINS, MIN_CHAINS_PER_PARAMETER = 600, 100, 10
#: Standard error of an annealed answer, nats, that is not worth a try: bridges end at 0.006 to 0.015.
SHARP_ENOUGH = 0.02
#: Standard errors, of both answers, beyond which they do not agree.
MAX_GAP_STD = 4.0


class Tested(NamedTuple):
    """Checks of an annealed answer, and what has taken its place."""

    n_sharpened: int = 0  #: a density has answered
    #: nats by which a density exceeds an annealed answer that it does not agree with; 0 where they agree,
    #: nan where there was none
    disagreement: float = np.nan
    n_likelihoods: float = 0.0
    n_gradients: float = 0.0
    #: gap of two estimates of log Z(1.3)/Z(1), from the posterior and back to it, nats
    hysteresis: float = np.nan
    n_returned: int = 0  #: the mean of annealing both ways is the answer

    def plus(self, later: "Tested") -> "Tested":
        """Both: counts add up, and of the rest the later one is kept, where it is known."""
        known = {name: value for name, value in later._asdict().items() if not np.isnan(value)}
        counts = ("n_sharpened", "n_returned", "n_likelihoods", "n_gradients")
        return self._replace(**known | {name: getattr(self, name) + getattr(later, name) for name in counts})


class Effort(NamedTuple):
    """The cost that a bridge may have: chains of each half, and their gradients in all."""

    n_chains: int
    n_gradients: float


def cost(info: Any) -> float:
    """Cost of a transition in gradients, particles × rows."""
    # gradients that a likelihood costs: a third by its operations, half of that in the large blocks of a
    # survey
    return float(getattr(info, "n_gradients", 0.0) + (1 / 6) * getattr(info, "n_likelihoods", 0.0))


def effort(state: State, path: Path) -> Effort | None:
    """For the cost of annealing so far; None where it is not enough, or the rows have not doubled since."""
    model = path.model
    if not is_annealed(model) or not path.memory.complete or path.n < 2.0 * state.adaptation.checks.sharpened:
        return None
    if not state.log_evidence_std > SHARP_ENOUGH:
        return None
    # standard error of an annealed answer, nats, from which it may cost more, and that part of what was spent
    # part of what was spent since it was last done that it may cost, in gradients
    part = 0.5 if state.log_evidence_std < 0.05 else 2.0
    affordable = part * state.adaptation.checks.spent / (2 * max(path.n_at_hand, 1))  # in each half
    # draws of a chain that are kept: so many chains make M particles again
    for_particles = -(-state.cloud.M // (2 * 4))
    least = max(MIN_CHAINS, MIN_CHAINS_PER_PARAMETER * model.n_params, for_particles)
    # gradients of a chain with which it is worth a try, and which a chain is given before there are more
    # chains
    n_chains = int(min(max(affordable / 100.0, least), MAX_CHAINS))
    if n_chains < least or affordable < 30.0 * n_chains:
        return None
    return Effort(n_chains, affordable)


def sharpened(step: Step, path: Path, rng: Streams, allowed: Effort) -> Step:
    """The step, crossed where the bridge has answered; else as it is, with what the bridge says of it."""
    state = step.state
    state = state._replace(adaptation=state.adaptation.checked(sharpened=path.n, spent=0.0))
    step, starts = (
        step._replace(state=state, crossed=False),
        halves(state.cloud, allowed.n_chains, rng.resampling),
    )
    found = None
    if starts is not None:
        target = Target(path.model, Likelihood(path.all_rows))
        found = cross_fitted_bridge(target, starts, state.cloud.M, allowed.n_gradients, rng.noise)
    if found is None:
        return step._replace(info=Tested())
    cloud, excess = state.cloud, found.log_evidence - state.cloud.log_evidence
    info = Tested(0, 0.0, found.n_likelihoods, found.n_gradients)
    if abs(excess) > MAX_GAP_STD * np.hypot(found.log_evidence_std, cloud.log_evidence_std):
        return step._replace(info=info._replace(disagreement=excess))
    found = found._replace(log_evidence_std=float(np.hypot(found.log_evidence_std, 1 / cloud.M)))
    if not found.log_evidence_std < cloud.log_evidence_std:
        return step._replace(info=info)
    state = state._replace(cloud=without_history(found))
    return step._replace(state=state, info=info._replace(n_sharpened=1), crossed=True)


def halves(cloud: Cloud, n_chains: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray] | None:
    """Draws by weight from either half of the lineages, (C, d) each; None where few particles count."""
    roots, lineage = np.unique(cloud.genealogy.root, return_inverse=True)
    is_first = (rng.permutation(len(roots)) % 2 == 0)[lineage]
    out = []
    for part in (is_first, ~is_first):
        weights = Weights(np.where(part, cloud.weights.log_w, -np.inf))
        if not weights.ess >= MIN_CHAINS / 2:
            return None
        out.append(cloud.theta[systematic(weights.W, rng, n_chains)])
    return out[0], out[1]


def is_annealed(model: Model) -> bool:
    """Whether annealing may be what answers for it, and its parameters have names of their own."""
    return model.slots is None and not model.has_exact_posterior
