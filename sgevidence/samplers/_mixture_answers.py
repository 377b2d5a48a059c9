"""Mixtures of any family of components, answered from strata of the components in use.

What :class:`~sgevidence.transitions.FromProposal` asks for a mixture: evidence, draws, and the evidences of
all smaller numbers of components, from one walk.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..history import Rows
from ..mixtures import Strata, is_affordable, strata_up_to, takes_allocations
from ..models import Model
from ..targets import Answer, ComponentEvidence
from ..transitions import Crossing, FromProposal, State, Streams, committed
from ._progress import Progress
from ._records import ChunkRecord


def mixture_answer(model: Model, rows: Rows, rng: np.random.Generator, size: int) -> Answer | None:
    """Evidence and ``size`` draws; None where strata do not answer for such rows."""
    strata = mixture_strata(model, rows, rng)
    return None if strata is None else answer_from(strata, model, rows, rng, size)


def mixture_strata(model: Model, rows: Rows, rng: np.random.Generator) -> Strata | None:
    """Strata of the rows, up to the model's number of components; None where they do not answer for these."""
    if not is_known(model, rows):
        return None
    family, K, a = model.family, model.n_components, model.weight_concentration  # type: ignore[attr-defined]
    return strata_up_to(family, rows.X, K, a, rng, rows.weight)


def answer_from(strata: Strata, model: Model, rows: Rows, rng: np.random.Generator, size: int) -> Answer:
    """Evidence and ``size`` draws of a mixture with at most as many components as the strata go up to."""
    found = strata.posterior(model.n_components, size, rng)  # type: ignore[attr-defined]
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
    n = affordable_rows(model, rows) if crossing.from_all_rows is not None and not state.n_rows else 0
    if not n:
        return state, [], rows
    order = rng.rows.permutation(len(rows))
    state, infos, _ = crossing.at_once(state, model, rows.take(np.sort(order[:n])), rng)
    return state, infos, rows.take(np.sort(order[n:])) if infos else rows


def affordable_rows(model: Model, rows: Rows) -> int:
    """How many of the rows would have an answer, 0 where none would; by halves, as rows may have weights."""
    n = len(rows) if model.has_components and not takes_allocations(model) else 0
    while n and not is_known(model, rows[:n]):
        n //= 2
    return n


def is_known(model: Model, rows: Rows) -> bool:
    """Whether the rows are few enough, not too far out, and count whole numbers of times."""
    K = model.n_components  # type: ignore[attr-defined]
    return is_affordable(model.family, rows.X, K, rows.weight)


class FromStrata(NamedTuple):
    """A sampler whose first rows have strata that are known already, since they answer for other models, too.

    It has what estimators ask of a sampler.
    """

    sampler: Any  #: ``SGAIS``, which carries on with later rows, or ``MixtureEvidence``
    strata: Strata

    def run(self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress) -> Any:
        """The result of ``MixtureEvidence``."""
        return self.sampler._result_from(self.strata, model, rows, rng)

    def init(self, model: Model, rng: np.random.Generator) -> State:
        """The sampler's own state before any row."""
        return self.sampler.init(model, rng)

    def update(
        self, state: State, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress
    ) -> tuple[State, list[ChunkRecord]]:
        """The state after all rows, and its record."""
        sampler, streams = self.sampler, Streams.spawned(rng)
        way = FromProposal(1, partial(sampler._particles, model), partial(answer_from, self.strata))
        path = state.path(model, rows)
        step = way(state, path, streams)
        keep_anchor = sampler.escort is not None or sampler.move.needs_anchor
        after = committed(step, path, streams, keep_anchor)
        record = ChunkRecord.of(state, after, [step.info])
        progress.chunk(record, state.n_rows)
        return after, [record]

    def complaints(self, records: list[ChunkRecord]) -> list[str]:
        """Complaints of the sampler itself."""
        return self.sampler.complaints(records)
