"""Mixtures of any family of components, answered from strata of the components in use.

What :class:`~sgevidence.transitions.FromProposal` asks for a mixture: evidence, draws, and the evidences of
all smaller numbers of components, from one walk.
"""

from typing import Any

import numpy as np

from ..history import Rows
from ..mixtures import is_affordable, mixture_evidence
from ..models import Model
from ..targets import Answer, ComponentEvidence
from ..transitions import Crossing, State, Streams


def mixture_answer(model: Model, rows: Rows, rng: np.random.Generator, size: int) -> Answer | None:
    """Evidence and ``size`` draws; None where strata do not answer for such rows."""
    if not is_known(model, rows):
        return None
    family, K, a = model.family, model.n_components, model.weight_concentration  # type: ignore[attr-defined]
    found = mixture_evidence(family, rows.X, K, a, rng, rows.weight, size)
    theta = model.from_components(found.log_weights, found.components, rng)  # type: ignore[attr-defined]
    components = ComponentEvidence(
        rows.total_weight, found.log_evidence, found.covariance, found.in_use[-1], found.doubt
    )
    return Answer(
        theta,
        np.zeros(size),
        float(found.log_evidence[-1]),
        float(found.log_evidence_std[-1]),
        found.n_likelihoods,
        components=components,
    )


def begun(
    crossing: Crossing, state: State, model: Model, rows: Rows, rng: Streams
) -> tuple[State, list[Any], Rows]:
    """The state after as many of the first rows as have an answer, what happened, and the rows that are left.

    Particles that start from an answer have lost no group of it, as they may on the way from the prior.
    """
    n = affordable_rows(model, rows) if crossing.proposal is not None and not state.n_rows else 0
    if not n:
        return state, [], rows
    order = rng.rows.permutation(len(rows))
    state, infos, _ = crossing.at_once(state, model, rows.take(np.sort(order[:n])), rng)
    return state, infos, rows.take(np.sort(order[n:])) if infos else rows


def affordable_rows(model: Model, rows: Rows) -> int:
    """How many of the rows would have an answer, 0 where none would; by halves, as rows may have weights."""
    n = len(rows) if model.has_components and not model.has_allocations else 0
    while n and not is_known(model, rows[:n]):
        n //= 2
    return n


def is_known(model: Model, rows: Rows) -> bool:
    """Whether the rows are few enough, not too far out, and count whole numbers of times."""
    K = model.n_components  # type: ignore[attr-defined]
    return is_affordable(model.family, rows.X, K, rows.weight)
