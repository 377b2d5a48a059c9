"""Basins of a mixture that overtake, in mid-stream, those that the cloud follows.

When one of the :class:`~._rivals.Rivals` of the last look has caught up, and whenever the rows have grown by
a quarter, a short search asks whether there are allocations nearly as good as those of the particles where no
particle is (:func:`~sgevidence.targets.rival_allocations`).  If so, evidence and particles are taken from
allocations, as at the beginning, even if these would not do for half as many rows; or from modes, if others
are clearly better.  If not, what it found are the next rivals.

Symbols: ``n`` = weight of all rows seen, ``theta`` = particles.
"""

from typing import NamedTuple, cast

import numpy as np

from ..models import MixtureModel
from ..particles import Cloud, systematic
from ..targets import Path, RivalAllocations, rival_allocations
from ._allocate import Allocate
from ._base import State, Step, Streams
from ._modes import ModeImportance, Renewed
from ._rivals import FARTHER, SHORT, Rivals, nearest

#: Growth of n from one look to the next, and particles whose allocations are looked at.
GROWTH, CHAINS = 1.25, 4
#: Nats by which other allocations must be better for modes to be looked for: scores err by as much.
SURE = 3.0
#: How many of what was found are kept in mind: several are of one basin.
KEPT = 16


class Overtaken(NamedTuple):
    """The allocations of one path, against the cloud at its end."""

    allocate: Allocate | None
    modes: ModeImportance
    path: Path
    rng: Streams

    @staticmethod
    def is_due(state: State, path: Path, first_rows: int) -> bool:
        """Whether a rival has caught up, or n grown by a quarter since the last look."""
        due = state.is_rivalled or path.n >= max(first_rows, GROWTH * state.tuned.searched)
        return bool(path.model.has_allocations and due)

    def renewed(self, step: Step) -> Step:
        """The step, from allocations or modes if its cloud has been overtaken, or nearly so."""
        state, model = step.state, cast(MixtureModel, self.path.model)
        some = state.theta[systematic(state.cloud.W, self.rng.rows, CHAINS)]
        found = rival_allocations(model, self.path.all_rows, some, self.rng.rows)
        away = elsewhere(model, state.cloud, found)
        least = float(np.min(found.gap[away], initial=np.inf))
        best = away[np.argsort(found.gap[away])][:KEPT]
        rivals = None if least < SHORT else Rivals.of(found.theta[best], found.gap[best])
        state = state._replace(tuned=state.tuned._replace(searched=self.path.n, rivals=rivals))
        looked = Renewed(n_likelihoods=found.n_likelihoods)
        step = step._replace(state=state, info=looked)
        asked = state._replace(tuned=state.tuned._replace(allocations_failed=0.0))
        grown = self.path.n >= 2 * state.tuned.allocations_failed
        if least < SHORT and grown and self.allocate is not None and self.allocate.applies(asked, self.path):
            again = self.allocate(asked, self.path, self.rng)
            if again.crossed:
                return again._replace(info=again.info.plus(looked))
            step = step._replace(state=again.state, info=again.info.plus(looked))
        if least < -SURE:
            again = self.modes.renewed(step)
            return again._replace(info=again.info.plus(step.info))
        return step


def elsewhere(model: MixtureModel, cloud: Cloud, found: RivalAllocations) -> np.ndarray:
    """Which of the others are where no particle is, in whichever labelling: their indices."""
    labels = model.slot_reference(cloud.theta)
    theta, own, others = (model.canonicalize(each, labels) for each in (cloud.theta, found.own, found.theta))
    usual = np.median(nearest(own, theta[cloud.W > 0]))
    return np.flatnonzero(nearest(others, theta[cloud.W > 0]) > FARTHER * usual)
