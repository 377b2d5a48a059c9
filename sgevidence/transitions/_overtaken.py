"""Basins of a mixture that overtake, in mid-stream, those that the cloud follows.

When one of the :class:`~._rivals.Rivals` of the last look has caught up, when the rows have grown by a
quarter, and when the cloud is new, a short search asks whether there are allocations nearly as good as those
of the particles where no particle is (:func:`~sgevidence.targets.rival_allocations`).  If so, evidence and
particles are taken from allocations, as at the beginning, even if these would not do for half as many rows;
or from modes, if others are clearly better.  If neither will do, these are reported as missed.  What else was
found are the next rivals, and the next search starts from them too.

Symbols: ``n`` = weight of all rows seen, ``theta`` = particles.
"""

from typing import NamedTuple, cast

import numpy as np

from ..models import MixtureModel, Model
from ..particles import Cloud, systematic
from ..targets import Path, RivalAllocations, rival_allocations
from ._allocate import Allocate
from ._base import Step, Streams
from ._modes import ModeImportance, Renewed, is_renewed
from ._rivals import FARTHER, SHORT, Rivals, nearest

#: Growth of n from one look to the next, and particles whose allocations are looked at.
GROWTH, CHAINS = 1.25, 4
#: Nats by which other allocations must be better for modes to be looked for: scores err by as much.
SURE = 3.0
#: Nats by which evidence must have changed for the cloud to be around another basin.
ANOTHER = 1.0
#: How many of what was found are kept in mind.
KEPT = 16


class Overtaken(NamedTuple):
    """The allocations of one path, against the cloud at its end."""

    allocate: Allocate | None
    modes: ModeImportance
    path: Path
    rng: Streams

    @staticmethod
    def is_due(step: Step, path: Path, first_rows: int) -> bool:
        """Whether a rival has caught up, n grown by a quarter since the last look, or the cloud is new."""
        grown = path.n >= max(first_rows, GROWTH * step.state.tuned.searched)
        return bool(path.model.has_allocations and (grown or step.state.is_rivalled or is_renewed(step)))

    def renewed(self, step: Step) -> Step:
        """The step, from allocations or modes if its cloud has been overtaken, or nearly so.

        A cloud around another basin has other rivals, of which a look from the old one says little: then
        there is a second look, and what was best before is among them.
        """
        rivals, info = step.state.tuned.rivals, Renewed()
        known = step.state.theta[:0] if rivals is None else rivals.theta
        for least in (SHORT, -SURE):
            found = self._looked(step.state.cloud, known)
            others = elsewhere(self.path.model, step.state.cloud, found)
            info = info.plus(Renewed(n_likelihoods=found.n_likelihoods))
            lead = -float(np.min(found.gap[others], initial=np.inf))
            if lead <= -least:
                break
            again = self._followed(step, lead)
            gain = again.state.log_evidence - step.state.log_evidence
            step, info = again, info.plus(again.info)
            if abs(gain) < ANOTHER:
                missed = lead if lead > SURE + found.apart and not again.info.n_renewals else 0.0
                info = info.plus(Renewed(missed_mode=missed))
                others = elsewhere(self.path.model, step.state.cloud, found)
                break
            known = np.concatenate([found.own, found.theta[others[:KEPT]]])
        others = others[:KEPT]
        rivals = Rivals.of(found.theta[others], found.gap[others])
        tuned = step.state.tuned._replace(searched=self.path.n, rivals=rivals)
        return step._replace(state=step.state._replace(tuned=tuned), info=info)

    def _looked(self, cloud: Cloud, known: np.ndarray) -> RivalAllocations:
        some = cloud.theta[systematic(cloud.W, self.rng.rows, CHAINS)]
        model = cast(MixtureModel, self.path.model)
        return rival_allocations(model, self.path.all_rows, some, known, self.rng.rows)

    def _followed(self, step: Step, lead: float) -> Step:
        """Others that lead by so many nats, or are as many short, taken in where they can be."""
        state, info = step.state, Renewed()
        asked = state._replace(tuned=state.tuned._replace(allocations_failed=0.0))
        grown = self.path.n >= 2 * state.tuned.allocations_failed
        if grown and self.allocate is not None and self.allocate.applies(asked, self.path):
            again = self.allocate(asked, self.path, self.rng)
            if again.crossed:
                return again
            step, info = step._replace(state=again.state), again.info
        if lead > SURE:
            again = self.modes.renewed(step)
            return again._replace(info=again.info.plus(info))
        return step._replace(info=info)


def elsewhere(model: Model, cloud: Cloud, found: RivalAllocations) -> np.ndarray:
    """Which of the others are where no particle is, in any labelling: one of each basin, the best first."""
    labels = model.slot_reference(cloud.theta)
    theta, own, others = (model.canonicalize(each, labels) for each in (cloud.theta, found.own, found.theta))
    theta = theta[cloud.W > 0]
    usual = np.median(nearest(own, theta))
    away = np.flatnonzero(nearest(others, theta) > FARTHER * usual)
    away, kept = away[np.argsort(found.gap[away])], []
    points = others / (np.std(theta, axis=0) + 1e-300)
    while len(away):
        kept.append(away[0])
        away = away[np.sum((points[away] - points[kept[-1]]) ** 2, axis=1) > (FARTHER * usual) ** 2]
    return np.array(kept, dtype=int)
