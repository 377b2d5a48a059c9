"""From one posterior to the next, by the first transition that crosses.

The order is that of their price: a closed form, weights alone, a map that carries the cloud along, the
transition that answers for all rows at once, the map again from a fresh cloud, modes from outside, and
annealing, which never declines.  Then, where the model may have several modes, the cloud is held against
those that it may have missed.  Which transition answers for all rows at once hangs on the model, and whoever
builds the crossing hands it over.

Symbols: ``y_n`` = ``path.chunk``; ``infos`` = what each transition that was tried has to say.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..history import N_DRAWS, FoldedRows, Rows
from ..models import Model
from ..particles import Cloud
from ..targets import Path
from ._anneal import Anneal
from ._base import Offer, State, Step, Streams, check_rows
from ._commit import committed
from ._confirm import confirmed, is_due
from ._escort import Escort
from ._from_folds import FromFolds
from ._from_proposal import FromProposal, Proposed
from ._missed_modes import MissedModes
from ._mode_search import ModeSearch
from ._modes import ModeImportance, is_renewed
from ._offers import is_better, taken
from ._prior_survey import PriorSurvey
from ._rejuvenate import Rejuvenate
from ._restart import Restart
from ._reweight import Reweight
from ._sharpen import cost, effort, sharpened
from ._two_sided_escort import TwoSidedEscort


class Crossing(NamedTuple):
    """The ways across a chunk."""

    anneal: Anneal
    escort: Escort | None = None
    mode_search: ModeSearch | None = None
    from_all_rows: FromProposal | None = None  #: it answers for all rows at once; None: it is switched off

    def __call__(
        self,
        state: State,
        path: Path,
        rng: Streams,
        offered: Offer | None = None,
        is_last: bool = False,
    ) -> tuple[State, list[Any]]:
        """The state after the chunk, in which its rows are history, or still pending.

        ``offered`` is what a transition that has declined knows of all rows at the end of the path;
        ``is_last`` says that the rows of the call end with the chunk.
        """
        survey = self._survey(state, path)
        if survey is None:  # which knows more points that may explain the rows
            check_rows(path.chunk[state.n_rows - path.memory.n_rows :], state, path)
        adaptation = state.adaptation._replace(sample_noise=np.nan, even=False, disputed=False)
        state = state._replace(adaptation=adaptation)
        before, modes, infos = state, self._modes(path, rng), []
        ways = self._transitions(modes, self._asks_first(state, path))
        for transition in ways if survey is None else (survey, *ways):
            step = transition(state, path, rng)
            state = step.state
            infos.append(step.info)
            offered = step.offered or offered
            if step.crossed:
                break
            path = path.with_leverage(state.cloud.some(N_DRAWS))
        if self.from_all_rows is not None and self.from_all_rows.knows_more(state, path):
            asked = self.from_all_rows(before, path, rng)
            infos.append(asked.info)
            offered = asked.offered or offered
            if asked.crossed:
                step, state = asked, asked.state
            elif path.model.has_one_mode:  # it declines such rows until they have doubled
                proposed = asked.state.adaptation.proposed
                state = state._replace(adaptation=state.adaptation._replace(proposed=proposed))
        state = _still_alike(state.foreseen(before, path), path)
        spent = state.adaptation.spent + sum(map(cost, infos))
        state = state._replace(adaptation=state.adaptation._replace(spent=spent))
        may_sharpen = is_last and self.from_all_rows is not None and not isinstance(step.info, Proposed)
        allowed = effort(state, path) if may_sharpen else None
        due = may_sharpen and is_due(state, path, self.anneal)
        if state.pending is not None and not state.is_rivalled and offered is None and not (allowed or due):
            return state, infos
        step = step._replace(state=state._replace(cloud=state.seen, pending=None, ell=None))
        step = _or_offered(step, offered, infos)
        crossed = step
        for outside in self._from_outside(crossed, path, rng, modes):
            if is_renewed(step):
                break
            step = outside.renewed(step)
            infos.append(step.info)
        step = _or_offered(step, offered, infos)  # modes may know less than what they took the place of
        allowed = effort(step.state, path) if allowed else None  # unless these have an answer that is sharp
        if due:
            step, more = confirmed(step, path, rng, self.anneal, allowed)
            infos += more
        elif allowed:
            step = sharpened(step, path, rng, allowed)
            infos.append(step.info)
        return self._committed(step, path, rng), infos

    def at_once(
        self, state: State, model: Model, rows: Rows | FoldedRows, rng: Streams
    ) -> tuple[State, list[Any], Offer | None]:
        """However many rows, by the transition that answers for all of them.

        Else no infos, but what it offers.
        """
        if isinstance(rows, FoldedRows):
            way = FromFolds(
                model, self.anneal.n_particles(rows.total_weight), self.mode_search, self._cloud_of_few
            )
            return *way(state, rows, rng), None
        from_all, closed_form = self.from_all_rows, FromProposal.is_closed_form(model)
        if from_all is None or not (closed_form or rows.total_weight >= state.n):
            return state, [], None
        path = state.path(model, rows)
        if not from_all.applies(state, path):
            return state, [], None
        if not closed_form:  # which asks no particle
            check_rows(path.chunk[state.n_rows - path.memory.n_rows :], state, path)
        step = from_all(state._replace(pending=None, ell=None), path, rng)
        if not step.crossed:
            return state._replace(adaptation=step.state.adaptation), [], step.offered
        return self._committed(step, path, rng), [step.info], None

    def _cloud_of_few(self, state: State, model: Model, rows: Rows, rng: Streams) -> Cloud | None:
        """The cloud of few rows, by what answers for all of them; None where these do not answer."""
        after, infos, _ = self.at_once(state, model, rows, rng)
        return after.cloud if infos else None

    def _asks_first(self, state: State, path: Path) -> bool:
        """Whether all rows at once are asked before particles are weighed."""
        return self.from_all_rows is not None and self.from_all_rows.comes_first(state, path)

    def _survey(self, state: State, path: Path) -> PriorSurvey | None:
        """A survey of the first rows, where several modes are possible and looked for."""
        survey = PriorSurvey(self.anneal)
        return survey if self.mode_search is not None and survey.applies(state, path) else None

    def _modes(self, path: Path, rng: Streams) -> ModeImportance | None:
        if self.mode_search is None or not self.mode_search.is_due(path):
            return None
        return ModeImportance(self.mode_search, path, rng)

    def _from_outside(
        self, step: Step, path: Path, rng: Streams, modes: ModeImportance | None
    ) -> Iterator[Any]:
        """Transitions that look where no particle is, by a search for modes."""
        search, state = self.mode_search, step.state
        if search is None:
            return
        if modes is not None:
            yield modes
        if MissedModes.is_due(state, path):
            yield MissedModes(search, path, rng, Restart(self.anneal))

    def _transitions(self, modes: ModeImportance | None, first: bool = False) -> Iterator[Any]:
        """In the order in which they are tried, that of all rows at once ``first`` where it should be."""
        if self.from_all_rows is not None and first:
            yield self.from_all_rows
        if self.anneal.resampling is not None:
            yield Reweight(self.anneal.target_ess, for_escort=self.escort is not None)
        escort = None if self.escort is None else TwoSidedEscort(self.anneal, self.escort)
        if escort is not None:
            yield escort
        if self.from_all_rows is not None and not first:
            yield self.from_all_rows
        if escort is not None:
            yield Rejuvenate(self.anneal, escort)
        if modes is not None:
            yield modes
        yield self.anneal

    def _committed(self, step: Step, path: Path, rng: Streams) -> State:
        if step.state.memory.statistics is not None:  # the chunk is in them
            return step.state
        return committed(step, path, rng, self.escort is not None or self.anneal.move.needs_anchor)


def _still_alike(state: State, path: Path) -> State:
    """The state, which forgets that all draws of the prior agree once its particles do not on these rows."""
    if np.isnan(state.adaptation.alike):
        return state
    ell = path.increment(state.theta)
    if np.all(ell == ell[0]):
        return state
    return state._replace(adaptation=state.adaptation._replace(alike=np.nan))


def _or_offered(step: Step, offered: Offer | None, infos: list[Any]) -> Step:
    """The step, or what was offered in its place if that is better, which ``infos`` is told."""
    if not is_better(offered, step.state.cloud):
        return step
    step = taken(offered, step)
    infos.append(step.info)
    return step
