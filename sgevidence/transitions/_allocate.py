"""The posterior of a mixture from its allocations, in the place of the particles.

Where all rows are at hand and not too many, :func:`~sgevidence.targets.allocation_evidence` knows the
evidence of all of them to hundredths of a nat, whatever the cloud was.  So it crosses from anywhere; it
declines where few of its draws are effective, as for overlapping components and many rows, and is not asked
again.  What it then offers is taken after all if the next transition finds clearly less, or knows much less:
an estimate without bias is hardly ever much too high (Eq. 3.10), and particles that lost their way claim too
little.

Symbols: ``draws`` = weighted draws from q, whose mean weight is Ẑ, ``M`` = particles.
"""

from typing import NamedTuple, TypeGuard, cast

import numpy as np

from ..models import MixtureModel
from ..particles import Cloud, Weights, siblings, systematic
from ..targets import AllocationEvidence, Path, allocation_evidence, average, patience
from ._base import State, Step, Streams
from ._modes import Renewed

#: Standard errors, and nats, by which what is offered must exceed what particles claim; or how much larger
#: their error bar must be.
SIGNIFICANT, CLEAR, BLUNTER = 3.0, 0.5, 3.0


class Allocate(NamedTuple):
    """Take evidence and particles of a mixture from its allocations.

    Parameters
    ----------
    first_rows : int
        Rows from which it is tried.
    max_searches : int
        Independent searches at most: another one follows while the halves of a search disagree, and all are
        pooled.
    """

    first_rows: int = 1
    max_searches: int = 2

    def applies(self, state: State, path: Path) -> bool:
        """To a mixture of several components, all of whose rows are at hand, until it has failed."""
        here = path.memory.complete and path.n >= self.first_rows
        return bool(path.model.has_allocations and here and not state.adaptation.allocations_failed)

    def __call__(self, state: State, path: Path, rng: Streams) -> Step:
        if not self.applies(state, path):
            return Step(state, crossed=False)
        model, rows = cast(MixtureModel, path.model), path.all_rows
        found = allocation_evidence(model, rows, rng.noise)
        if found is None:
            # particles lose their way to rows that are far out, so parts of these are asked for
            state = state if patience(model, rows) > 1 else self._failed(state, path)
            return Step(state, Renewed(), crossed=False)
        searches = [found]
        while found.hopeful and len(searches) < self.max_searches:
            found = cast(AllocationEvidence, allocation_evidence(model, rows, rng.noise))
            searches.append(found)
        found = average(searches)
        weights, M = Weights(found.log_weights), state.cloud.M
        parents = systematic(weights.W, rng.noise, M)
        cloud = Cloud(
            found.theta[parents],
            Weights.ones(M),
            found.log_evidence,
            siblings(parents, found.log_evidence_std**2),
        )
        info = Renewed(n_likelihoods=found.n_likelihoods)
        if not found.reliable:
            return Step(self._failed(state, path), info, crossed=False, offered=cloud)
        info = info._replace(n_renewals=1)
        return Step(state._replace(cloud=cloud, ell=None), info)

    @staticmethod
    def _failed(state: State, path: Path) -> State:
        return state._replace(adaptation=state.adaptation._replace(allocations_failed=path.n))


def is_better(offered: Cloud | None, cloud: Cloud) -> TypeGuard[Cloud]:
    """Whether particles claim so much less than what was offered that they lost something, or know less."""
    if offered is None:
        return False
    std = np.hypot(offered.log_evidence_std, cloud.log_evidence_std)
    exceeds = offered.log_evidence - cloud.log_evidence > max(SIGNIFICANT * std, CLEAR)
    return bool(exceeds or cloud.log_evidence_std > BLUNTER * offered.log_evidence_std)


def taken(offered: Cloud, step: Step) -> Step:
    """The step with what was offered in the place of the particles."""
    return Step(step.state._replace(cloud=offered), Renewed(n_renewals=1))
