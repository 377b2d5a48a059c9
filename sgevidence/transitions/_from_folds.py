"""The posterior of rows that nobody holds, from a few sums over all of them.

A closed form asks for one sum.  Where the log posterior is concave its mode and its evidence take a few
(:func:`~sgevidence.answers.folded_answer`).  Other posteriors have modes that a sample of the rows tells, of
which sums tell the evidence (:func:`~sgevidence.answers.folded_modes_answer`).  The stream continues from
there as if the rows had come to it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..answers import FoldsDoNotSuffice, folded_answer, folded_modes_answer
from ..history import FoldedRows, Rows
from ..models import Model
from ..particles import Cloud
from ..targets import Likelihood, Target
from ._answer_cloud import exact_cloud, without_history
from ._base import Answered, State, Streams
from ._climbs import climbed
from ._from_proposal import Proposed
from ._mode_search import ModeSearch, find_modes, maxima_from, some, wider
from ._unlike_rows import covering_modes

#: Rows of which the cloud of the engine is asked, and its particles from which modes are climbed to.
ENGINE_ROWS, N_CLIMBED = 2000, 8
#: Rows of the sample by which modes are sought, and the most modes that are carried to all rows: on so few
#: the best of all rows may be far below another.
FOLDED_SEARCH_ROWS, MAX_MODES = 20_000, 8


class FromFolds(NamedTuple):
    """The first rows of a stream, in parts; ``engine`` makes the cloud of a few rows of a mixture."""

    model: Model
    n_particles: int
    search: ModeSearch | None = None  #: None: models that need it are refused
    engine: Callable[[State, Model, Rows, Streams], Cloud | None] | None = None

    def applies(self) -> bool:
        """Whether sums over the rows may tell the posterior of such a model."""
        known = self.model.has_exact_posterior or self.model.is_log_concave
        return known or self.search is not None

    def __call__(self, state: State, rows: FoldedRows, rng: Streams) -> tuple[State, list[Proposed]]:
        """The state after the rows, and a list of what it cost; or :class:`FoldsDoNotSuffice`."""
        if not self.applies() or state.n_rows:
            raise FoldsDoNotSuffice("sums over the rows do not tell the posterior of this model")
        if self.model.has_exact_posterior:
            return self._in_closed_form(state, rows, rng)
        if self.model.is_log_concave:
            found, memory = folded_answer(self.model, rows, state.memory, rng.noise, self.n_particles)
        else:
            assert self.search is not None
            starts = self.modes(state, rows.sample, rng)
            starts = covering_modes(self.model, rows, starts, self.search, MAX_MODES, rng)
            found, memory = folded_modes_answer(
                self.model, rows, starts, state.memory, rng.noise, self.n_particles
            )
        n = rows.total_weight
        adaptation = state.adaptation._replace(asked=n)
        info = Proposed(1, found.n_likelihoods, found.n_gradients)
        return State(without_history(found), memory, adaptation, answered=Answered(n)), [info]

    def modes(self, state: State, sample: Rows, rng: Streams) -> list[np.ndarray]:
        """Points (d,) at all modes of the sample that may count for all rows."""
        model, search = self.model, self.search
        assert search is not None
        rows = some(sample, FOLDED_SEARCH_ROWS, rng.rows)
        if model.slots is None:
            ends = climbed(model, rows, state, search, rng.rows)
            top = max([mode.value for mode in ends.maxima], default=-np.inf)
            if np.any(ends.values > top):
                raise FoldsDoNotSuffice("the posterior of a sample of the rows has a wall, and no mode at it")
            found = [mode.a for mode in ends.maxima]
        else:
            wide = wider(
                search, max_modes=MAX_MODES, max_climbs=2 * MAX_MODES, compare_rows=FOLDED_SEARCH_ROWS
            )
            found = [mode.a for mode in find_modes(wide, model, rows, rng.rows)]
            found += self._by_engine(state, rows, rng)
        return maxima_from(Target(model, Likelihood(sample)), found)[:MAX_MODES]

    def _by_engine(self, state: State, rows: Rows, rng: Streams) -> list[np.ndarray]:
        """Particles of the engine on a few of the rows, each a start."""
        cloud = self.engine and self.engine(state, self.model, some(rows, ENGINE_ROWS, rng.rows), rng)
        if cloud is None:
            return []
        return list(cloud.theta[rng.rows.choice(cloud.M, N_CLIMBED, p=cloud.W)])

    def _in_closed_form(self, state: State, rows: FoldedRows, rng: Streams) -> tuple[State, list[Proposed]]:
        sums = rows.fold(self.model.sums)
        cloud = exact_cloud(self.model, sums, rng.noise, self.n_particles)
        if cloud is None:
            raise FoldsDoNotSuffice("the rows have sums beyond what double precision holds: rescale them")
        memory = state.memory.summed(rows, sums)
        return state._replace(cloud=cloud, memory=memory, answered=Answered(memory.n)), [Proposed(1)]
