"""From one posterior to the next: a plan, which is a list, and the loop that walks it.

The ways are in the order of their price: a closed form, weights alone, a map that carries the cloud along, a
density that answers for all rows at once, the map again from a fresh cloud, modes from outside, and
annealing, which never declines.  The first that crosses ends them.  Then the cloud is held against modes that
it may have missed, and against what a density was not sure of; an annealed answer is tested.

Symbols: ``y_n`` = ``path.chunk``; ``infos`` = what each transition that was tried has to say.
"""

from typing import Any, NamedTuple

import numpy as np

from ..history import N_INFLUENCE_DRAWS, FoldedRows, Influence, Rows
from ..models import Model
from ..particles import Cloud
from ..targets import TOO_NOISY, Path, anchored_at_mode
from ._anneal import Anneal, Reweight
from ._base import Offer, State, Step, Streams, Transition, check_rows
from ._confirm import confirmed, is_due
from ._escort import Escort, MapEscort
from ._from_folds import FromFolds
from ._from_proposal import FromProposal
from ._missed_modes import MissedModes
from ._mode_search import ModeSearch, modes_are_due
from ._modes import ModeImportance, Renewed
from ._prior_survey import PriorSurvey, Restart
from ._sharpen import cost, effort, sharpened
from ._two_sided_escort import Rejuvenate, TwoSidedEscort


class Plan(NamedTuple):
    """Ways are tried until one crosses, looks until one has brought particles from outside."""

    ways: list[Transition]
    looks: list[ModeImportance | MissedModes]


class Crossing(NamedTuple):
    """The ways across a chunk."""

    anneal: Anneal
    escort: Escort | None = None
    mode_search: ModeSearch | None = None
    from_all_rows: FromProposal | None = None  #: it answers for all rows at once; None: it is switched off
    anchors_early: bool = True  #: also while the reservoir has all rows

    def plan(self, state: State, path: Path, rng: Streams) -> Plan:
        """Transitions that may carry the cloud across the chunk, in the order in which they are tried."""
        anneal, search, asked = self.anneal, self.mode_search, self.from_all_rows
        survey = PriorSurvey(anneal)
        escort = None if self.escort is None else TwoSidedEscort(anneal, MapEscort(self.escort))
        first = asked is not None and asked.comes_first(state, path)
        modes = None
        if search is not None and modes_are_due(search, path):
            modes = ModeImportance(search, path, rng)
        ways = [
            survey if search is not None and survey.applies(state, path) else None,
            asked if first else None,
            None if anneal.resampling is None else Reweight(anneal.target_ess, for_escort=escort is not None),
            escort,
            None if first else asked,
            None if escort is None else Rejuvenate(anneal, escort),
            modes,
            anneal,
        ]
        looks = [modes, None if search is None else MissedModes(search, path, rng, Restart(anneal))]
        return Plan([way for way in ways if way], [look for look in looks if look])

    def __call__(
        self, state: State, path: Path, rng: Streams, is_last: bool = False
    ) -> tuple[State, list[Any]]:
        """The state after the chunk, in which its rows are history, or still pending.

        ``is_last`` says that the rows of the call end with the chunk.
        """
        ways, looks = self.plan(state, path, rng)
        step, path, infos = self.across(ways, state, path, rng)
        state = step.state
        may_test = is_last and self.from_all_rows is not None and state.answered.n != path.n
        allowed = effort(state, path) if may_test else None
        due = may_test and is_due(state, path, self.anneal)
        offer = state.offered if state.offered and state.offered.n_rows == path.n_rows else None
        if state.pending is not None and not (state.is_rivalled or offer or allowed or due):
            return state, infos
        step = _or_offered(step._replace(state=state.absorbed), offer, infos)
        for look in looks:
            found = None if step.is_from_outside else look.renewed(step)
            if found is not None:
                step = found
                infos.append(step.info)
        step = _or_offered(step, offer, infos)  # modes may know less than what they took the place of
        allowed = effort(step.state, path) if allowed else None  # unless these have an answer that is sharp
        if due:
            step = confirmed(step, path, rng, self.anneal, allowed)
        elif allowed:
            step = sharpened(step, path, rng, allowed)
        infos += [step.info] if due or allowed else []
        return self._committed(step, path, rng), infos

    def across(
        self, ways: list[Transition], state: State, path: Path, rng: Streams
    ) -> tuple[Step, Path, list[Any]]:
        """The step of the first way that crosses, the path with what was learnt of it, and all infos."""
        infos = []
        if not isinstance(ways[0], PriorSurvey):  # which knows more points that may explain the rows
            check_rows(path.chunk[state.n_rows - path.memory.n_rows :], state, path)
        state = state._replace(adaptation=state.adaptation._replace(sample_noise=np.nan, map_is=""))
        before = state
        for way in ways:
            step = way(state, path, rng)
            state = step.state
            infos.append(step.info)
            if step.crossed:
                break
            path = path.with_leverage(state.cloud.spread_theta(N_INFLUENCE_DRAWS))
        if self.from_all_rows is not None and self.from_all_rows.knows_more(state, path):
            asked = self.from_all_rows(before, path, rng)
            infos.append(asked.info)
            offered = asked.state.offered or state.offered
            if path.model.has_one_mode:  # one that declines is asked again when the rows have doubled
                state = state._replace(
                    adaptation=state.adaptation._replace(asked=asked.state.adaptation.asked)
                )
            step = asked if asked.crossed else step._replace(state=state._replace(offered=offered))
        state = step.state.foreseen(before, path)
        spent = state.adaptation.checks.spent + sum(map(cost, infos))
        state = state._replace(adaptation=state.adaptation.checked(spent=spent))
        return step._replace(state=state), path, infos

    def at_once(
        self, state: State, model: Model, rows: Rows | FoldedRows, rng: Streams
    ) -> tuple[State, list[Any]]:
        """However many rows, by the transition that answers for all of them; no infos where it does not."""
        if isinstance(rows, FoldedRows):
            way = FromFolds(
                model, self.anneal.n_particles(rows.total_weight), self.mode_search, self._cloud_of_few
            )
            return way(state, rows, rng)
        from_all, closed_form = self.from_all_rows, FromProposal.is_closed_form(model)
        if from_all is None or not (closed_form or rows.total_weight >= state.n):
            return state, []
        path = state.path(model, rows)
        if not from_all.applies(state, path):
            return state, []
        if not closed_form:  # which asks no particle
            check_rows(path.chunk[state.n_rows - path.memory.n_rows :], state, path)
        step = from_all(state._replace(pending=None, ell=None), path, rng)
        if not step.crossed:
            asked = step.state
            return state._replace(
                adaptation=asked.adaptation, offered=asked.offered, declined=asked.declined
            ), []
        return self._committed(step, path, rng), [step.info]

    def _cloud_of_few(self, state: State, model: Model, rows: Rows, rng: Streams) -> Cloud | None:
        """The cloud of few rows, by what answers for all of them; None where these do not answer."""
        after, infos = self.at_once(state, model, rows, rng)
        return after.cloud if infos else None

    def _committed(self, step: Step, path: Path, rng: Streams) -> State:
        if step.state.memory.statistics is not None:  # the chunk is in them
            return step.state
        capacity = path.memory.reservoir.capacity
        is_kept = not self.anchors_early and (capacity is None or path.n_rows <= capacity)
        needs_anchor = self.escort is not None or self.anneal.move.needs_anchor
        return committed(step, path, rng, needs_anchor and not is_kept)


def is_better(offered: Offer, cloud: Cloud) -> bool:
    """Whether particles claim so much less than what was offered that they lost something, or know less.

    An estimate without bias is hardly ever much too high (Eq. 3.10), and particles that lost their way claim
    too little.
    """
    std = np.hypot(offered.cloud.log_evidence_std, cloud.log_evidence_std)
    # standard errors, and nats, by which what is offered must exceed what particles claim; or how much larger
    # their error bar must be
    exceeds = offered.cloud.log_evidence - cloud.log_evidence > max(3.0 * std, 0.5)
    return bool(exceeds or cloud.log_evidence_std > 3.0 * offered.cloud.log_evidence_std)


def _or_offered(step: Step, offered: Offer | None, infos: list[Any]) -> Step:
    """The step, or what was offered in its place if that is better, which ``infos`` is told."""
    if offered is None or not is_better(offered, step.state.cloud):
        return step
    infos.append(Renewed(n_renewals=1))
    state = step.state._replace(cloud=offered.cloud, answered=offered.answered)
    return Step(state, is_from_outside=True)


def committed(step: Step, path: Path, rng: Streams, keep_anchor: bool) -> State:
    """The state with the chunk in its memory: its rows, its sums, and the labels that they are in.

    Where the step does not know the sums near the new mode they are taken there, and the cloud is put into
    common slots.  What these sums are in doubt by counts as noise of the sample; the reservoir grows if that
    is too much.
    """
    state, anchor, labels = step.state, step.anchor, path.memory.labels
    cloud, adaptation = state.cloud, state.adaptation
    if anchor is None and keep_anchor:
        labels = path.model.slot_reference(cloud.theta)
        cloud = cloud._replace(theta=path.model.canonicalize(cloud.theta, labels))
        anchor = anchored_at_mode(path, cloud.mean, rng.rows)[1]
    if anchor is not None and anchor.doubt is not None:
        spread = anchor.doubt.spread(cloud.theta, cloud.W)
        adaptation = adaptation._replace(
            sample_noise=float(np.hypot(spread, np.nan_to_num(adaptation.sample_noise)))
        )
    noisy = adaptation.sample_noise > TOO_NOISY
    influence = (
        None if anchor is None else Influence(path.model, anchor.a, cloud.spread_theta(N_INFLUENCE_DRAWS))
    )
    memory = path.memory.absorb(path.chunk, rng.rows, anchor, labels, noisy, influence, path.high_leverage)
    offered = state.offered if state.offered and state.offered.n_rows > path.n_rows else None
    return state._replace(cloud=cloud, memory=memory, adaptation=adaptation, offered=offered)
