"""The ways across a chunk that a model has: a general answer, an answer of its own, or annealing."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..answers import TOLERANCE_NATS, Answers, proposal
from ..history import Rows
from ..models import Model
from ..transitions import HMC, Anneal, Crossing, Escort, FromProposal, ModeSearch, Proposal, State, Streams

#: Growth of the rows since a model's own answer was asked, from which it is asked first: it finds modes of
#: which no particle knows.
PROPOSAL_ROW_GROWTH = 1.25


def crossing_of(
    model: Model,
    anneal: Anneal,
    escort: Escort | None,
    search: ModeSearch | None,
    asked: Proposal | None,
    tolerance: float = TOLERANCE_NATS,
) -> Crossing:
    """The ways across a chunk that a model has, to an error of the log evidence in nats."""
    way = None if asked is None else from_all_rows(model, asked, anneal.n_particles, tolerance)
    if not model.anchors_early and isinstance(anneal.move, HMC):
        return Crossing(anneal, None, search, way, anchors_early=False)
    return Crossing(anneal, escort, search, way)


def from_all_rows(
    model: Model, asked: Proposal, n_particles: Callable[[float], int], tolerance: float
) -> FromProposal:
    """The transition that answers for all rows of a model at once."""
    answers = answers_of(model, tolerance)
    growth = PROPOSAL_ROW_GROWTH if answers is not None and answers is model.own_answer else np.inf
    return FromProposal(asked.first_rows, n_particles, answers, growth, tolerance)


def answers_of(model: Model, tolerance: float = TOLERANCE_NATS) -> Answers | None:
    """The function that answers for a model; None if it has to be annealed."""
    return proposal(model, tolerance) or model.own_answer


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
    n = len(rows) if answers_of(model) is model.own_answer else 0
    while n and not model.is_affordable(rows[:n]):
        n //= 2
    return n
