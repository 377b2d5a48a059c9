"""The ways across a chunk that a model has, and what answers for mixtures of any family: strata.

A model knows no optimiser and no sampler, and the crossing knows no mixture, so both meet here.  Strata of
the components in use give evidence, draws, and the evidences of all smaller numbers of components.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from ..answers import Answer, Answers, ComponentEvidence, proposal
from ..effects import EffectsModel, effects_answer
from ..history import Rows
from ..mixtures import Strata, is_affordable, strata_up_to
from ..models import Model
from ..transitions import HMC, Anneal, Crossing, Escort, FromProposal, ModeSearch, Proposal, State, Streams

#: Growth of the rows since a mixture's proposal was asked, from which it is asked first: it finds groups of
#: which no particle knows.
PROPOSAL_ROW_GROWTH = 1.25


def crossing_of(
    model: Model, anneal: Anneal, escort: Escort | None, search: ModeSearch | None, asked: Proposal | None
) -> Crossing:
    """The ways across a chunk that a model has."""
    way = None if asked is None else from_all_rows(model, asked, anneal.n_particles)
    # parameters of a model with effects up to which rows left behind are a quadratic: it takes as many
    # gradients of all rows, and levels that are integrated one by one need none
    if isinstance(model, EffectsModel) and model.n_params > 100 and isinstance(anneal.move, HMC):
        return Crossing(anneal, None, search, way, anchors_early=False)
    return Crossing(anneal, escort, search, way)


def from_all_rows(model: Model, asked: Proposal, n_particles: Callable[[float], int]) -> FromProposal:
    """The transition that answers for all rows of a model at once."""
    answers = answers_of(model)
    growth = PROPOSAL_ROW_GROWTH if answers in (mixture_answer, effects_answer) else np.inf
    return FromProposal(asked.first_rows, n_particles, answers, growth)


def answers_of(model: Model) -> Answers | None:
    """The function that answers for a model; None if it has to be annealed."""
    known = proposal(model)
    if known is None and isinstance(model, EffectsModel):
        return effects_answer
    return mixture_answer if known is None and model.has_components else known


def mixture_answer(model: Model, rows: Rows, rng: np.random.Generator, size: int) -> Answer | None:
    """Evidence and ``size`` draws; None where strata do not answer for such rows."""
    strata = mixture_strata(model, rows, rng)
    return None if strata is None else answer_from(strata, model, rows, rng, size)


def answer_from(strata: Strata, model: Model, rows: Rows, rng: np.random.Generator, size: int) -> Answer:
    """Evidence and ``size`` draws of a mixture with at most as many components as the strata go up to."""
    found = strata.posterior(model.n_components, size, rng)  # type: ignore[attr-defined]
    theta = model.from_components(found.log_weights, found.components, rng)  # type: ignore[attr-defined]
    components = ComponentEvidence(rows.total_weight, found.log_evidence, found.covariance, found.in_use[-1])
    return Answer(
        theta,
        np.zeros(size),
        float(found.log_evidence[-1]),
        float(found.log_evidence_std[-1]),
        found.n_likelihoods,
        components=components,
        doubts=() if found.doubt is None else (found.doubt,),
    )


def first_state(
    crossing: Crossing, state: State, model: Model, rows: Rows, rng: Streams
) -> tuple[State, list[Any], Rows]:
    """The state after as many of the first rows as have an answer, what happened, and the rows that are left.

    Particles that start from an answer have lost no group of it, as they may on the way from the prior.
    """
    n = affordable_rows(model, rows) if crossing.from_all_rows is not None and not state.n_rows else 0
    if not n:
        return state, [], rows
    order = rng.rows.permutation(len(rows))
    state, infos = crossing.at_once(state, model, rows.take(np.sort(order[:n])), rng)
    return state, infos, rows.take(np.sort(order[n:])) if infos else rows


def affordable_rows(model: Model, rows: Rows) -> int:
    """How many of the rows would have an answer, 0 where none would; by halves, as rows may have weights."""
    n = len(rows) if answers_of(model) is mixture_answer else 0
    while n and not is_known(model, rows[:n]):
        n //= 2
    return n


class Walked(NamedTuple):
    """Strata, and of which rows and components they are."""

    family: Any
    concentration: float
    rows: Rows
    strata: Strata


class SharedWalk:
    """Strata up to the largest of these numbers of components, found when they are first asked for.

    Digits are those of the seed and of the rows alone, whichever model asks first, or in which process.
    """

    def __init__(self, numbers: Sequence[int], rng: np.random.Generator) -> None:
        self.numbers, self.rng = numbers, rng
        self.known: list[Walked] = []

    def strata(self, model: Any, rows: Rows) -> Strata:
        """Strata of rows that are affordable for the model, with at least as many components as it has."""
        family, a, X, weight = model.family, model.weight_concentration, rows.X, rows.weight
        for one in self.known:
            same = one.family == family and one.concentration == a and len(one.rows) == len(rows)
            same = (
                same
                and np.array_equal(one.rows.X, X, equal_nan=True)
                and np.array_equal(one.rows.weight, weight)
            )
            if same and model.n_components <= one.strata.n_components:
                return one.strata
        K = max(k for k in (*self.numbers, model.n_components) if is_affordable(family, X, k, weight))
        found = strata_up_to(family, X, K, a, deepcopy(self.rng), weight)
        self.known.append(Walked(family, a, rows.copy(), found))
        return found


_walk: ContextVar[SharedWalk | None] = ContextVar("walk", default=None)


@contextmanager
def sharing(walk: SharedWalk | None) -> Iterator[None]:
    """Mixtures meanwhile are answered from this walk, if there is one."""
    token = _walk.set(walk)
    try:
        yield
    finally:
        _walk.reset(token)


def mixture_strata(model: Model, rows: Rows, rng: np.random.Generator) -> Strata | None:
    """Strata of the rows, up to the model's number of components; None where they do not answer for these."""
    if not is_known(model, rows):
        return None
    if (walk := _walk.get()) is not None:
        return walk.strata(model, rows)
    family, K, a = model.family, model.n_components, model.weight_concentration  # type: ignore[attr-defined]
    return strata_up_to(family, rows.X, K, a, rng, rows.weight)


def is_known(model: Model, rows: Rows) -> bool:
    """Whether the rows are few enough, and not too far out."""
    K = model.n_components  # type: ignore[attr-defined]
    return is_affordable(model.family, rows.X, K, rows.weight)
