"""The ways across a chunk that a model has: what answers for all rows at once, and looks for other modes.

A model knows no optimiser and no sampler, and the crossing knows no mixture, so both meet here.
"""

from collections.abc import Callable
from functools import partial

from ..effects import EffectsModel, effects_answer
from ..mixtures import Allocate, ModeSwitch, takes_allocations
from ..models import Model
from ..targets import Answers, proposal
from ..transitions import Anneal, Crossing, Escort, FromAllRows, FromProposal, ModeSearch, Proposal
from ._mixture_answers import mixture_answer

#: Growth of the rows since a mixture's proposal was asked, from which it is asked first: it finds groups of
#: which no particle knows.
GROWTH = 1.25


def crossing_of(
    model: Model, anneal: Anneal, escort: Escort | None, search: ModeSearch | None, asked: Proposal | None
) -> Crossing:
    """The ways across a chunk that a model has."""
    if takes_allocations(model):
        allocate = None if asked is None else Allocate(asked.first_rows, mixture_answer)
        return Crossing(anneal, escort, search, allocate, partial(ModeSwitch.where_due, allocate))
    way = None if asked is None else from_all_rows(model, asked, anneal.n_particles)
    return Crossing(anneal, escort, search, way)


def from_all_rows(model: Model, asked: Proposal, n_particles: Callable[[float], int]) -> FromAllRows:
    """The transition that answers for all rows of a model at once."""
    answers = answers_of(model)
    if answers in (mixture_answer, effects_answer):
        return FromProposal(asked.first_rows, n_particles, answers, GROWTH)
    return FromProposal(asked.first_rows, n_particles, answers)


def answers_of(model: Model) -> Answers | None:
    """The function that answers for a model; None if it has to be annealed."""
    known = proposal(model)
    if known is None and isinstance(model, EffectsModel):
        return effects_answer
    return mixture_answer if known is None and model.has_components else known
