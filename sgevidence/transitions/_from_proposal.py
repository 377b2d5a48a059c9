"""The posterior from a density that covers it, in the place of the particles.

Where the model knows such a density (:func:`~sgevidence.answers.proposal`) and all rows are at hand, nothing
need be annealed: the evidence and the particles of all rows come from it, whatever the cloud was, and the
stream continues from a cloud without history.  A closed form answers at every call.  A proposal that has to
look at all rows again is asked for whole calls that double them, and whenever neither weights nor densities
at known modes cross a chunk: annealing costs more.  After it has declined it waits until the rows have
doubled, but where few rows have one mode.  Where the posterior has one mode, which is found in some steps, it
is also asked when they have grown by a fiftieth and particles know less.  One that finds what no particle
knows is asked before particles are weighed once the rows have grown a little.  An answer that is blunt, or in
doubt, is offered where particles of the rows before are at hand: it is taken if these find clearly less, or
know much less.  So are the modes that a survey has met where it may have missed others: these are taken only
if particles find clearly less.

Symbols: ``M`` = particles.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ..answers import TOLERANCE_NATS, Answer, Answers, Declined
from ..exceptions import ImpossibleRowsError
from ..history import Rows
from ..models import Model
from ..targets import Path
from ._answer_cloud import exact_cloud, without_history
from ._base import Answered, Info, Offer, State, Step, Streams

#: Standard error of the log evidence, nats, from which particles of the rows before may know more.
BLUNT_STD_NATS = 0.3
#: Parameters from which they do not: annealing hundreds of them takes minutes and ends nats lower.
UNANNEALED_PARAMETERS = 80
#: Rows up to which the density of a model of one mode is asked by the next call after it has declined.  A row
#: in a new direction makes the posterior narrower by orders of magnitude, and particles that a map took there
#: were 0.15 to 0.25 nats too high at a claimed 0.05; to ask takes some hundredths of a second.
FEW_ROWS = 50
#: Growth of the rows from which those of a posterior with one mode are looked at again, where particles know
#: less than the tolerance: all looks at 10⁵ rows cost fifty times the last one.
KEPT_GROWTH = 1.02


class Proposal(BaseEstimator):
    """Take evidence and posterior from a density that covers it, where the model knows one.

    Linear regressions and mixtures of one component are exact, in streams, too: their standard error is 0.
    Softmax and other regressions answer from a Gaussian or Student t at their mode, by importance sampling or
    by a bridge, to hundredths of a nat; where it is too far from the posterior they are annealed, and
    ``verbose=True`` says why.  The evidence of a mixture of several components comes from strata of the
    components in use, as by :class:`MixtureEvidence`.  Own models answer by cubature where one to three
    parameters have priors by name, from 10³ to 3·10⁴ values, and else by draws of t densities at modes that a
    survey of the prior leads to, from 2·10⁴ to 4·10⁴.  Other models are annealed.

    References
    ----------
    C. H. Bennett (1976), Efficient estimation of free energy differences from Monte Carlo data, Journal of
    Computational Physics 22, 245; X.-L. Meng and W. H. Wong (1996), Simulating ratios of normalizing
    constants via a simple identity, Statistica Sinica 6, 831.

    Examples
    --------
    >>> from sgevidence import SGAIS, BayesianLinearRegression
    >>> X, y = [[0.0], [1.0]], [0.0, 1.0]
    >>> BayesianLinearRegression(noise_std=1.0, random_state=0).fit(X, y).log_evidence_std_
    0.0
    >>> annealed = BayesianLinearRegression(noise_std=1.0, sampler=SGAIS(proposal=None), random_state=0)
    >>> annealed.fit(X, y).log_evidence_std_ > 0.0
    True
    """


class FromProposal(NamedTuple):
    """Take evidence and particles from the model's proposal.

    ``first_after`` is the growth of the rows since it was asked, from which it is asked before particles are
    weighed.
    """

    n_particles: Callable[[float], int]  #: M after rows of this total weight
    answers: Answers | None  #: the function that answers for the model; None where there is none
    first_after: float = np.inf
    tolerance: float = TOLERANCE_NATS  #: standard error, nats, of particles up to which nothing else is asked

    @staticmethod
    def is_closed_form(model: Model) -> bool:
        """Whether asking costs less than weighing particles, so that every call may ask."""
        return model.has_exact_posterior

    def applies(self, state: State, path: Path) -> bool:
        """To rows all of which are at hand, if they have grown since it had no answer."""
        if not path.memory.complete or self.answers is None:
            return False
        asked = state.adaptation.checks.asked
        has_answered = 0.0 < asked <= state.answered.n
        always = self.is_closed_form(path.model) or has_answered
        return always or path.n >= self._growth(path) * asked

    def _growth(self, path: Path) -> float:
        """Growth of the rows since it was asked from which it may be asked again."""
        return min(self.first_after, KEPT_GROWTH if path.model.has_one_mode else 2.0)

    def comes_first(self, state: State, path: Path) -> bool:
        """Whether it is asked before particles are weighed."""
        if self.is_closed_form(path.model):
            return True
        return self.first_after < np.inf and path.n >= self.first_after * state.adaptation.checks.asked

    def knows_more(self, state: State, path: Path) -> bool:
        """Whether it should be asked of rows that particles have just crossed and know little of."""
        most = (
            BLUNT_STD_NATS
            if self.first_after < np.inf
            else self.tolerance
            if path.model.has_one_mode
            else np.inf
        )
        return (
            state.log_evidence_std > most
            and path.n >= self._growth(path) * state.adaptation.checks.asked
            and self.applies(state, path)
        )

    def __call__(self, state: State, path: Path, rng: Streams) -> Step:
        answers, M = self.answers, self.n_particles(path.n)
        if answers is None or not self.applies(state, path):
            return Step(state, crossed=False)
        if self.is_closed_form(path.model):
            return self._in_closed_form(state, path, rng, M)
        found = answers(path.model, path.all_rows, rng.noise, M)
        state = state._replace(declined=found.words if isinstance(found, Declined) else "")
        adaptation = state.adaptation.checked(asked=path.n)
        if not isinstance(found, Answer):  # which costs nothing where strata would take too long
            is_cheap = path.model.has_one_mode and path.n_rows < FEW_ROWS
            wait = 1.0 if is_cheap else 2.0 / self._growth(path)  # until rows have doubled
            again = state.adaptation.checked(asked=wait * path.n)
            adaptation = again if self.first_after == np.inf else state.adaptation
            if isinstance(found, Declined) and (known := found.known) is not None:
                answered = Answered(path.n, doubts=known.doubts)
                lead = Offer(without_history(known), path.n_rows, answered, may_miss_modes=True)
                state = state._replace(offered=lead)
            return Step(state._replace(adaptation=adaptation), crossed=False)
        info, cloud = Info(found.n_likelihoods, found.n_gradients, n_proposals=1), without_history(found)
        answered = Answered(path.n, found.components, found.doubts)
        if state.n_rows and path.model.n_params < UNANNEALED_PARAMETERS and is_blunt(found):
            offered = Offer(cloud, path.n_rows, answered)
            return Step(state._replace(adaptation=adaptation, offered=offered), info, crossed=False)
        state = state._replace(cloud=cloud, adaptation=adaptation, pending=None, ell=None, answered=answered)
        return Step(state, info)

    @staticmethod
    def _in_closed_form(state: State, path: Path, rng: Streams, M: int) -> Step:
        """The memory is then that of sums, and the chunk is in it."""
        sums, past = path.model.sums(path.chunk), path.memory.statistics
        if past is None and path.memory.n_rows:  # rows that were annealed, since they had no answer
            past = path.model.sums(path.memory.sample)
        sums = sums if past is None else past.plus(sums)
        cloud = exact_cloud(path.model, sums, rng.noise, M)
        if cloud is None:  # beyond what double precision holds, which particles could not do better
            raise ImpossibleRowsError(path.chunk.take(largest(path.chunk)), path.memory.n_rows)
        memory = path.memory.summed(path.chunk, sums)
        return Step(State(cloud, memory, state.adaptation, answered=Answered(path.n)), Info(n_proposals=1))


def is_blunt(found: Answer) -> bool:
    """Whether the evidence of a mixture is in doubt, or so uncertain that particles may know more."""
    return found.components is not None and (found.log_evidence_std >= BLUNT_STD_NATS or bool(found.doubts))


def merged(state: State, other: State, model: Model, rng: np.random.Generator) -> State:
    """The state after the rows of both, where their sums say all that a closed form asks.

    ValueError if one of them is not in closed form, or beyond what double precision holds.
    """
    if state.memory.statistics is None or other.memory.statistics is None:
        raise ValueError(
            "only closed forms can be merged: linear regressions and mixtures of one component, of which "
            "SGAIS() with its proposal keeps sums"
        )
    memory = state.memory.plus(other.memory)
    cloud = exact_cloud(model, memory.statistics, rng, max(state.cloud.M, other.cloud.M))
    if cloud is None:
        raise ValueError("the rows of both together have sums beyond what double precision holds")
    return State(cloud, memory, state.adaptation, answered=Answered(memory.n))


def largest(rows: Rows) -> np.ndarray:
    """Index of the row with the largest value, (1,)."""
    values = rows.X if rows.y is None else np.column_stack([rows.X, rows.y])
    return np.argmax(np.abs(values).max(axis=1, initial=0.0), keepdims=True)
