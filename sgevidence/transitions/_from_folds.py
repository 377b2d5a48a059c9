r"""The posterior of rows that nobody holds, from a few sums over all of them.

A closed form asks for one sum.  Where the log posterior is concave its mode and its evidence take a few
(:func:`~sgevidence.answers.folded_answer`).  Other posteriors have modes that a sample of the rows tells, of
which sums tell the evidence (:func:`~sgevidence.answers.folded_modes_answer`).  The stream continues from
there as if the rows had come to it.

A few rows may make modes of a mixture that a sample of all rows does not show.  Eight rows of sixty thousand
that are far from all others may have a component of their own, for which two other groups share one, or be
the tail of one of the groups.  They are fetched, and stand for themselves beside the sample, which stands for
all other rows.  Modes of both together start from groups of rows: those of each mode of the sample, with the
far rows in any of them, or in the place of one that joins another; and from merged clusters of all, by the
usual search.

Rows are unlike a sample where, at a mode of it, with ℓ_r = log p(row r | θ),

    ℓ_r < t − s (log(k n / N) + 12)        t = ℓ of the (k + 1)-th least probable row of the sample,
                                           s = mean of t − ℓ over the k before it.

With tails that fall exponentially a row of n has this with a probability of e⁻¹² or less.  Rows of tails that
fall more slowly are counted too: they are what components may be for.

Symbols: n, N ``rows`` = rows, and rows of the sample; ℓ ``ell`` = log-densities of the sample, sorted, (N,);
s ``scale`` = of the tail, nats.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..answers import FoldsDoNotSuffice, folded_answer, folded_modes_answer
from ..history import FoldedRows, Rows
from ..models import Model
from ..particles import Cloud
from ..targets import Likelihood, Target
from ._answer_cloud import exact_cloud, without_history
from ._base import Answered, Info, State, Streams
from ._mode_search import MODE_SEARCH_ROWS, N_MIXTURE_STARTS, climbed, find_modes, maxima_from, subsample

#: Rows of which the cloud of the engine is asked, and its particles from which modes are climbed to.
ENGINE_ROWS, N_CLIMBED_FROM_ENGINE = 2000, 8
#: Rows of the sample by which modes are sought, and the most modes that are carried to all rows: on so few
#: the best of all rows may be far below another.
FOLDED_SEARCH_ROWS, MAX_MODES = 20_000, 8
#: Chance of a false alarm: e to its negative.
FALSE_ALARM_NATS = 12.0
#: Rows that may be unlike the sample; more are a kind of rows that a larger sample should tell of.
MAX_UNLIKE_ROWS = 500


def covering_modes(
    model: Model,
    rows: FoldedRows,
    modes: list[np.ndarray],
    rng: Streams,
) -> list[np.ndarray]:
    """Modes (d,) of the sample and of all rows that are unlike it, the best first; ``modes`` if no row is.

    :class:`FoldsDoNotSuffice` if there are too many such rows, or the model has no components of which some
    may be theirs.
    """
    numbers, far = np.zeros(0, dtype=int), rows.sample[:0]
    # times that rows are fetched: others may be far from all modes that were found with the first
    for _ in range(3):
        if not modes:
            return modes
        found, unlike = unlike_sample(model, modes[0], rows, MAX_UNLIKE_ROWS)
        new = np.flatnonzero(~np.isin(found, numbers))
        if not len(new):
            return modes
        numbers, far = np.concatenate([numbers, found[new]]), far.join(unlike.take(new))
        if len(numbers) > MAX_UNLIKE_ROWS or not model.has_components:
            break
        modes = _modes_with(model, rows, numbers, far, modes, rng)[:MAX_MODES]
    number = f"{len(numbers)}" if len(numbers) <= MAX_UNLIKE_ROWS else f"more than {MAX_UNLIKE_ROWS}"
    raise FoldsDoNotSuffice(
        f"{number} of {len(rows)} rows are far from all that a sample of {len(rows.sample)} shows, "
        "and may have modes of their own"
    )


def _modes_with(
    model: Model,
    rows: FoldedRows,
    numbers: np.ndarray,
    far: Rows,
    modes: list[np.ndarray],
    rng: Streams,
) -> list[np.ndarray]:
    """Modes of the sample and of these rows, at their numbers among all, the best first."""
    others = rows.sample.take(np.flatnonzero(~np.isin(rows.sample_numbers, numbers)))
    weight = rows.total_weight - far.total_weight

    def with_far(sample: Rows) -> Rows:
        return sample.scaled(weight / sample.total_weight).join(far)

    few = with_far(subsample(others, 2000, rng.rows))  # rows of the sample by which modes are sought
    starts = [mode.a for mode in find_modes(model, few, len(few), MAX_MODES, MAX_MODES, rng.rows)]
    regrouped = np.concatenate([_regrouped(model, a, few, len(far)) for a in modes])
    order = np.argsort(-Target(model, Likelihood(few)).value(regrouped))[:N_MIXTURE_STARTS]
    ends = [*starts, *regrouped[order]]
    for sample in (few, with_far(others)):
        ends = maxima_from(Target(model, Likelihood(sample)), ends)[: 2 * MAX_MODES]
    return ends


def _regrouped(model: Model, a: np.ndarray, rows: Rows, n_far: int) -> np.ndarray:
    """Points (J, d) at the moments of groups of rows: of a point (d,), the last ``n_far`` in any."""
    density = model.component_log_densities(a[None], rows.X)[:, 0]  # type: ignore[attr-defined]
    K, label = len(density), np.argmax(density, axis=0)
    labels = []
    for k in range(K):
        labels.append(np.r_[label[:-n_far], np.full(n_far, k)])
        for j in range(k):
            labels.append(np.r_[np.where(label == k, j, label)[:-n_far], np.full(n_far, k)])
    member = np.array(labels)[:, None] == np.arange(K)[:, None]
    return model.at_groups(rows, member)  # type: ignore[attr-defined]


def unlike_sample(model: Model, a: np.ndarray, rows: FoldedRows, most: int) -> tuple[np.ndarray, Rows]:
    """Rows of which a sample does not tell, at a mode (d,) of the sample: one question to each part.

    Their numbers among all rows, (k,), and themselves.  ``most`` rows are wanted of a part: one more shows
    that there are more.
    """
    return rows.selected(partial(_below, model, a, _least_expected(model, a, rows), most + 1))


def _least_expected(model: Model, a: np.ndarray, rows: FoldedRows) -> float:
    """The bound above, nats."""
    ell = np.sort(model.log_likelihood(a[None], rows.sample)[0])
    k = min(20, len(ell) - 1)  # k, least probable rows of the sample that tell the tail
    # least scale of a tail, nats: rows that have few different values may show none
    scale = max(float(np.mean(ell[k] - ell[:k])) if k else 0.0, 1.0)
    return float(ell[k] - scale * (np.log(max(k, 1) * len(rows) / len(ell)) + FALSE_ALARM_NATS))


def _below(model: Model, a: np.ndarray, least: float, most: int, part: Rows) -> tuple[np.ndarray, Rows]:
    found = np.flatnonzero(~(model.log_likelihood(a[None], part)[0] >= least))[:most]  # nan, too, is unlike
    return found, part.take(found)


class FromFolds(NamedTuple):
    """The first rows of a stream, in parts; ``engine`` makes the cloud of a few rows of a mixture."""

    model: Model
    n_particles: int
    may_search: bool = False  #: for modes; else models that need it are refused
    engine: Callable[[State, Model, Rows, Streams], Cloud | None] | None = None

    def applies(self) -> bool:
        """Whether sums over the rows may tell the posterior of such a model."""
        known = self.model.has_exact_posterior or self.model.is_log_concave
        return known or self.may_search

    def __call__(self, state: State, rows: FoldedRows, rng: Streams) -> tuple[State, list[Info]]:
        """The state after the rows, and a list of what it cost; or :class:`FoldsDoNotSuffice`."""
        if not self.applies() or state.n_rows:
            raise FoldsDoNotSuffice("sums over the rows do not tell the posterior of this model")
        if self.model.has_exact_posterior:
            return self._in_closed_form(state, rows, rng)
        if self.model.is_log_concave:
            found, memory = folded_answer(self.model, rows, state.memory, rng.noise, self.n_particles)
        else:
            starts = covering_modes(self.model, rows, self.modes(state, rows.sample, rng), rng)
            found, memory = folded_modes_answer(
                self.model, rows, starts, state.memory, rng.noise, self.n_particles
            )
        n = rows.total_weight
        adaptation = state.adaptation.checked(asked=n)
        info = Info(found.n_likelihoods, found.n_gradients, n_proposals=1)
        return State(without_history(found), memory, adaptation, answered=Answered(n)), [info]

    def modes(self, state: State, sample: Rows, rng: Streams) -> list[np.ndarray]:
        """Points (d,) at all modes of the sample that may count for all rows."""
        model = self.model
        rows = subsample(sample, FOLDED_SEARCH_ROWS, rng.rows)
        if model.slots is None:
            ends = climbed(model, rows, state, rng.rows)
            top = max([mode.value for mode in ends.maxima], default=-np.inf)
            if np.any(ends.values > top):
                raise FoldsDoNotSuffice("the posterior of a sample of the rows has a wall, and no mode at it")
            found = [mode.a for mode in ends.maxima]
        else:
            modes = find_modes(model, rows, MODE_SEARCH_ROWS, 2 * MAX_MODES, MAX_MODES, rng.rows)
            found = [mode.a for mode in modes]
            found += self._by_engine(state, rows, rng)
        return maxima_from(Target(model, Likelihood(sample)), found)[:MAX_MODES]

    def _by_engine(self, state: State, rows: Rows, rng: Streams) -> list[np.ndarray]:
        """Particles of the engine on a few of the rows, each a start."""
        cloud = self.engine and self.engine(state, self.model, subsample(rows, ENGINE_ROWS, rng.rows), rng)
        if cloud is None:
            return []
        return list(cloud.theta[rng.rows.choice(cloud.M, N_CLIMBED_FROM_ENGINE, p=cloud.W)])

    def _in_closed_form(self, state: State, rows: FoldedRows, rng: Streams) -> tuple[State, list[Info]]:
        sums = rows.fold(self.model.sums)
        cloud = exact_cloud(self.model, sums, rng.noise, self.n_particles)
        if cloud is None:
            raise FoldsDoNotSuffice("the rows have sums beyond what double precision holds: rescale them")
        memory = state.memory.summed(rows, sums)
        return state._replace(cloud=cloud, memory=memory, answered=Answered(memory.n)), [Info(n_proposals=1)]
