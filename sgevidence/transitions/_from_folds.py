"""The posterior of rows that nobody holds, from a few sums over all of them.

A closed form asks for one sum.  Where the log posterior is concave its mode and its evidence take a few
(:func:`~sgevidence.targets.folded_answer`).  The stream continues from there as if the rows had come to it.
"""

from typing import NamedTuple

from ..history import FoldedRows
from ..models import Model
from ..targets import FoldsDoNotSuffice, exact_answer, folded_answer
from ._base import State, Streams
from ._from_proposal import Proposed, without_history


class FromFolds(NamedTuple):
    """The first rows of a stream, in parts.

    Parameters
    ----------
    model : Model
    n_particles : int
    """

    model: Model
    n_particles: int

    @staticmethod
    def applies(model: Model) -> bool:
        """Whether sums over the rows tell the posterior of such a model."""
        return model.has_exact_posterior or model.is_log_concave

    def __call__(self, state: State, rows: FoldedRows, rng: Streams) -> tuple[State, list[Proposed]]:
        """The state after the rows, and a list of what it cost.

        Raises
        ------
        FoldsDoNotSuffice
        """
        if not self.applies(self.model) or state.n_rows:
            raise FoldsDoNotSuffice("sums over the rows do not tell the posterior of this model")
        if not self.model.has_exact_posterior:
            found, memory = folded_answer(self.model, rows, state.memory, rng.noise, self.n_particles)
            tuned = state.tuned._replace(proposed=rows.total_weight)
            info = Proposed(1, found.n_likelihoods, found.n_gradients)
            return State(without_history(found), memory, tuned), [info]
        sums = rows.fold(self.model.sums)
        exact = exact_answer(self.model, sums, rng.noise, self.n_particles)
        if exact is None:
            raise FoldsDoNotSuffice("the rows have sums beyond what double precision holds: rescale them")
        return State(without_history(exact), state.memory.summed(rows, sums), state.tuned), [Proposed(1)]
