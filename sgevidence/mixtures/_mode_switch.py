"""Basins of a mixture that overtake, in mid-stream, those that the cloud follows.

When one of the :class:`~sgevidence.transitions.Watchlist` of the last look has caught up, when the rows have
grown by a quarter or surprise, and when the cloud is new, a short search asks whether there are allocations
nearly as good as those of the particles where no particle is (``_candidate_allocations.py``).  If so,
evidence and particles are taken from allocations, as at the beginning, even if these would not do for four
fifths of the rows; or from modes, if others are clearly better.  If neither will do, these are reported as
missed.  What else was found are the next rivals, and the next search starts from them too.

Symbols: ``n`` = weight of all rows seen, ``theta`` = particles.
"""

from typing import NamedTuple

import numpy as np

from ..models import MixtureModel, Model
from ..particles import Cloud, log_sum_exp, systematic
from ..targets import Path
from ..transitions import (
    FARTHER,
    SHORT,
    ModeImportance,
    Renewed,
    Step,
    Streams,
    Watchlist,
    is_better,
    is_renewed,
    nearest,
    taken,
)
from ._allocate import Allocate
from ._allocations import takes_allocations
from ._candidate_allocations import CandidateAllocations, candidate_allocations

#: Growth of n from one look to the next, or where rows surprise; particles whose allocations are looked at.
GROWTH, SOON, CHAINS = 1.25, 1.05, 4
#: Standard errors by which rows since the last look differ from those before where they surprise; and how
#: many of either are asked.
SURPRISED, MOST_ASKED = 3.5, 500
#: Nats by which other allocations must be better for modes to be looked for: scores err by as much.
SURE = 3.0
#: Nats by which evidence must have changed for the cloud to be around another basin.
ANOTHER = 1.0
#: Standard error, nats, from which particles are doubted, whatever their rivals.
POOR = 0.3
#: How many of what was found are kept in mind, and from how many of these, the nearest, a look starts.
KEPT, STARTS = 48, 16


class ModeSwitch(NamedTuple):
    """The allocations of one path, against the cloud at its end."""

    allocate: Allocate | None
    modes: ModeImportance
    path: Path
    rng: Streams

    @classmethod
    def where_due(
        cls, allocate: Allocate | None, step: Step, path: Path, modes: ModeImportance, rng: Streams
    ) -> "ModeSwitch | None":
        """The look that is due; None where none is."""
        first_rows = modes.search.first_rows if allocate is None else allocate.first_rows
        return cls(allocate, modes, path, rng) if cls.is_due(step, path, first_rows) else None

    @staticmethod
    def is_due(step: Step, path: Path, first_rows: int) -> bool:
        """Whether a rival has caught up, n grown by a quarter since the last look, or the cloud is new.

        Or by a twentieth, where rows since then are a surprise or the particles are poor.
        """
        if not takes_allocations(path.model):
            return False
        state, since = step.state, path.n / max(step.state.adaptation.searched, 1.0)
        soon = since >= SOON and (
            is_poor(state.cloud) or surprises(state.cloud, path, state.adaptation.searched)
        )
        grown = path.n >= first_rows and (since >= GROWTH or soon)
        return grown or state.is_rivalled or is_renewed(step)

    def renewed(self, step: Step) -> Step:
        """The step, from allocations or modes if its cloud has been overtaken, or nearly so.

        A cloud around another basin has other rivals, of which a look from the old one says little: then
        there is a second look, and what was best before is among them.
        """
        rivals, info, asked = step.state.adaptation.rivals, Renewed(), self._just_asked(step)
        known = step.state.theta[:0] if rivals is None else rivals.theta[np.argsort(rivals.behind)[:STARTS]]
        for least in (np.inf if is_poor(step.state.cloud) and not asked else SHORT, -SURE):
            found = self._looked(step.state.cloud, known)
            others = elsewhere(self.path.model, step.state.cloud, found)
            info = info.plus(Renewed(n_likelihoods=found.n_likelihoods))
            gap = float(np.min(found.gap[others], initial=np.inf))
            if gap > least - asked * 2 * found.apart:  # two halves have just searched for better ones
                break
            again = self._followed(step, gap)
            gain = again.state.log_evidence - step.state.log_evidence
            step, info = again, info.plus(again.info)
            if abs(gain) < ANOTHER:
                is_missed = gap < -SURE - 2 * found.apart and not again.info.n_renewals
                info = info.plus(Renewed(missed_mode=-gap if is_missed else np.nan))
                others = elsewhere(self.path.model, step.state.cloud, found)
                break
            known = np.concatenate([found.own, found.theta[others[:STARTS]]])[:, 0]
        others = others[:KEPT]
        rivals = Watchlist.of(found.theta[others, 0], found.gap[others])
        adaptation = step.state.adaptation._replace(searched=self.path.n, rivals=rivals)
        if self.path.memory.complete and found.saw_all:
            info = info.plus(Renewed(missed_mode=0.0))
        return step._replace(state=step.state._replace(adaptation=adaptation), info=info)

    def _just_asked(self, step: Step) -> bool:
        """Whether the cloud comes from allocations of all these rows."""
        return is_renewed(step) and self.allocate is not None and self.allocate.applies(step.state, self.path)

    def _looked(self, cloud: Cloud, known: np.ndarray) -> CandidateAllocations:
        some = cloud.theta[systematic(cloud.W, self.rng.rows, CHAINS)]
        assert takes_allocations(self.path.model)
        return candidate_allocations(self.path.model, self.path.all_rows, some, known, self.rng.rows)

    def _followed(self, step: Step, gap: float) -> Step:
        """Others that are so many nats short, or ahead, taken in where they can be."""
        state, info = step.state, Renewed()
        asked = state._replace(adaptation=state.adaptation._replace(allocations_failed=0.0))
        growth = SOON if is_poor(state.cloud) else GROWTH
        grown = self.path.n >= growth * state.adaptation.allocations_failed
        if grown and self.allocate is not None and self.allocate.applies(asked, self.path):
            again = self.allocate(asked, self.path, self.rng)
            if again.crossed:
                return again
            step, info = step._replace(state=again.state), again.info
            if is_better(again.offered, state.cloud):
                return taken(again.offered, again)._replace(info=info._replace(n_renewals=1))
        if gap < -SURE:
            again = self.modes.renewed(step)
            return again._replace(info=again.info.plus(info))
        return step._replace(info=info)


def is_poor(cloud: Cloud) -> bool:
    """Whether few lineages carry the evidence."""
    return cloud.log_evidence_std > POOR


def surprises(cloud: Cloud, path: Path, searched: float) -> bool:
    """Whether the rows since the last look are unlike those before: they may want components of their own.

    Unlike in how probable they are, more or less so, or in which components they belong to.
    """
    model, theta = path.model, cloud.some(1)
    if not path.memory.n_rows or not isinstance(model, MixtureModel):
        return False
    memory = path.memory.sample
    late = (memory.weight.cumsum() > searched) & path.memory.complete
    if np.all(late):
        return False
    recent = np.concatenate([memory.X[late], path.chunk.X])
    before, new = (_seen_in(model, theta, X) for X in (memory.X[~late], recent))
    error = (before.std(axis=1) + 1e-3) * np.sqrt(1 / before.shape[1] + 1 / new.shape[1])
    return bool(np.any(np.abs(before.mean(axis=1) - new.mean(axis=1)) > SURPRISED * error))


def _seen_in(model: MixtureModel, theta: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Log-likelihood of rows evenly spread over X, and to which component they belong, (1 + K, rows)."""
    X = X[:: len(X) // MOST_ASKED + 1]
    log_p = model.component_log_densities(theta, X)[:, 0]
    total = log_sum_exp(log_p, axis=0)
    return np.vstack([total, np.exp(log_p - total)])


def elsewhere(model: Model, cloud: Cloud, found: CandidateAllocations) -> np.ndarray:
    """Which of the others are where no particle is, in any labelling: one of each basin, the best first."""
    labels = model.slot_reference(cloud.theta)
    theta = model.canonicalize(cloud.theta, labels)[cloud.W > 0]

    def away(draws: np.ndarray) -> np.ndarray:
        points = model.canonicalize(draws.reshape(-1, theta.shape[1]), labels)
        return np.median(nearest(points, theta).reshape(draws.shape[:2]), axis=1)

    enough = FARTHER * np.median(away(found.own))
    others, kept = np.argsort(found.gap), []
    others = others[away(found.theta)[others] > enough]
    points = model.canonicalize(found.theta[:, 0], labels) / (np.std(theta, axis=0) + 1e-300)
    while len(others):
        kept.append(others[0])
        others = others[np.sum((points[others] - points[kept[-1]]) ** 2, axis=1) > enough**2]
    return np.array(kept, dtype=int)
