"""All rows at hand once more from the prior, where the cloud has lost its way and nothing cheaper finds back.

Symbols: ``theta`` = draws from the prior.
"""

from typing import NamedTuple

from ..history import Memory
from ..particles import Cloud
from ..targets import Path
from ._anneal import Anneal
from ._base import State, Step, Streams
from ._prior_survey import PriorSurvey


class Restart(NamedTuple):
    """Anneal all rows from the prior."""

    anneal: Anneal

    def __call__(self, state: State, path: Path, rng: Streams) -> Step:
        """A cloud that knows nothing of the one before; declines where rows are gone."""
        if not path.memory.complete:
            return Step(state, crossed=False)
        theta = path.model.sample_prior(rng.noise, self.anneal.n_particles(0.0))
        afresh = State(Cloud.planted(theta), Memory.empty())
        again = Path(path.model, afresh.memory, path.all_rows)
        step = PriorSurvey(self.anneal)(afresh, again, rng)
        if not step.crossed:
            step = self.anneal(step.state, again, rng)
        learnt = step.state.adaptation
        adaptation = state.adaptation._replace(log_eps=learnt.log_eps, alike=learnt.alike, even=False)
        return Step(state._replace(cloud=step.state.cloud, adaptation=adaptation), step.info)
