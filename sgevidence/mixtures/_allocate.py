"""The posterior of a mixture from its allocations, in the place of the particles.

Where all rows are at hand and not too many, :func:`~sgevidence.mixtures.allocation_evidence` knows the
evidence of all of them to hundredths of a nat, whatever the cloud was.  So it crosses from anywhere.  Where
few of its draws are effective, as for overlapping components and many rows, or columns are many, strata of
the components in use are asked.  If these are in doubt, too, the transition declines, and is not tried again,
unless columns are many.  What it then offers is taken after all if the next transition finds clearly less, or
knows much less: an estimate without bias is hardly ever much too high (Eq. 3.10), and particles that lost
their way claim too little.

Symbols: ``draws`` = weighted draws from q, whose mean weight is Ẑ, ``M`` = particles.
"""

from typing import NamedTuple

import numpy as np

from ..history import Rows
from ..models import MixtureModel
from ..particles import Cloud, Weights, siblings, systematic
from ..targets import Answers, Path
from ..transitions import Offer, Renewed, State, Step, Streams, taken, without_history
from ._allocations import allocation_evidence, patience, takes_allocations

#: Columns from which the answer of strata stands, with a warning where they doubt it: annealing hundreds of
#: parameters takes minutes and ends nats lower.  Small components hold their rows fast there, so strata are
#: asked first, up to so many rows.
WIDE, MOST_ROWS = 8, 500
#: Standard error of strata, nats, from which annealing may know more in fewer columns.
BLUNT = 0.3


class Allocate(NamedTuple):
    """Take evidence and particles of a mixture from its allocations.

    Parameters
    ----------
    first_rows : int
        Rows from which it is tried.
    strata : callable or None
        The function that answers from strata of the components in use; None where it is not asked.
    """

    first_rows: int = 1
    strata: Answers | None = None

    def applies(self, state: State, path: Path) -> bool:
        """To a mixture of several components, all of whose rows are at hand, until it has failed."""
        here = path.memory.complete and path.n >= self.first_rows
        return bool(takes_allocations(path.model) and here and not state.adaptation.allocations_failed)

    def comes_first(self, state: State, path: Path) -> bool:
        """Never: particles are weighed and carried along before."""
        return False

    def __call__(self, state: State, path: Path, rng: Streams) -> Step:
        model = path.model
        if not (takes_allocations(model) and self.applies(state, path)):
            return Step(state, crossed=False)
        rows = path.all_rows
        found = self._asked(model, rows, rng.noise, state.cloud.M)
        if found is None:
            # particles lose their way to rows that are far out, so parts of these are asked for
            state = state if patience(model, rows) > 1 else self._failed(state, path)
            return Step(state, Renewed(), crossed=False)
        info = Renewed(int(found.is_sure), n_likelihoods=found.n_likelihoods)
        if not found.is_sure:
            return Step(self._failed(state, path), info, crossed=False, offered=found)
        return taken(found, Step(state))._replace(info=info)

    def _asked(self, model: MixtureModel, rows: Rows, rng: np.random.Generator, M: int) -> Offer | None:
        """The first answer that can be trusted; else that of strata, if there is one."""
        strata_first = asks_strata_first(model.n_features, rows.total_weight)
        found = None if strata_first else by_allocations(model, rows, rng, M)
        if found is not None and found.is_sure:
            return found
        strata = self._by_strata(model, rows, rng, M)
        if strata is None and strata_first:
            return by_allocations(model, rows, rng, M)
        return found if strata is None else strata

    def _by_strata(self, model: MixtureModel, rows: Rows, rng: np.random.Generator, M: int) -> Offer | None:
        found = None if self.strata is None else self.strata(model, rows, rng, M)
        if found is None or found.components is None:
            return None
        is_sure = is_sharp(found.log_evidence_std, found.components.doubt) or model.n_features >= WIDE
        return Offer(without_history(found), is_sure, found.n_likelihoods, found.components)

    @staticmethod
    def _failed(state: State, path: Path) -> State:
        return state._replace(adaptation=state.adaptation._replace(allocations_failed=path.n))


def asks_strata_first(n_features: int, total_weight: float) -> bool:
    """Whether strata are asked before draws of allocations, for rows of so many columns and weight."""
    return n_features >= WIDE and total_weight <= MOST_ROWS


def is_sharp(log_evidence_std: float, doubt: str | None) -> bool:
    """Whether an answer of strata, in nats, leaves nothing that another answer may know better."""
    return log_evidence_std < BLUNT and doubt is None


def by_allocations(model: MixtureModel, rows: Rows, rng: np.random.Generator, M: int) -> Offer | None:
    """Particles resampled from weighted draws."""
    found = allocation_evidence(model, rows, rng)
    if found is None:
        return None
    parents = systematic(Weights(found.log_weights).W, rng, M)
    roots = siblings(parents, found.log_evidence_std**2)
    cloud = Cloud(found.theta[parents], Weights.ones(M), found.log_evidence, roots)
    return Offer(cloud, found.reliable, found.n_likelihoods)
