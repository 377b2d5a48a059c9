"""From one posterior to the next: a plan, which is a list, and the loop that walks it.

The ways are in the order of their price: a closed form, weights alone, densities at the modes that the
particles know, a density that answers for all rows at once, and annealing, which never declines.  The first
that crosses ends them.  Then the cloud is held against modes that it may have missed, and against what a
density was not sure of; an annealed answer is tested.

Symbols: ``y_n`` = ``path.chunk``; ``infos`` = what each transition that was tried has to say.
"""

from typing import NamedTuple

import numpy as np

from ..history import N_INFLUENCE_DRAWS, FoldedRows, Influence, Memory, Rows
from ..models import Model
from ..particles import Cloud
from ..targets import TOO_NOISY, Path, anchored_at_mode
from ._anneal import Anneal, Reweight
from ._base import Info, Offer, State, Step, Streams, Transition, check_rows
from ._confirm import confirmed, is_due
from ._from_folds import FromFolds
from ._from_modes import FromModes
from ._from_proposal import FromProposal
from ._missed_modes import MissedModes
from ._prior_survey import PriorSurvey


class Crossing(NamedTuple):
    """The ways across a chunk."""

    anneal: Anneal
    may_search: bool = False  #: for modes that the particles do not know
    from_all_rows: FromProposal | None = None  #: it answers for all rows at once; None: it is switched off
    anchors_early: bool = True  #: also while the reservoir has all rows

    def survey(self, state: State, path: Path) -> PriorSurvey | None:
        """The look at the prior, for the first rows of a model that may have several modes; else None."""
        survey = PriorSurvey(self.anneal)
        return survey if self.may_search and survey.applies(state, path) else None

    def ways(self, state: State, path: Path) -> list[Transition]:
        """Transitions that may carry the cloud across the chunk, in the order in which they are tried."""
        anneal, asked = self.anneal, self.from_all_rows
        from_modes = None
        if asked is not None and self.anchors_early and path.model.slots is None:
            from_modes = FromModes(anneal.n_particles, asked.tolerance)
        first = asked is not None and asked.comes_first(state, path)
        ways = [
            self.survey(state, path),
            asked if first else None,
            None if anneal.resampling is None else Reweight(anneal.target_ess, from_modes is not None),
            from_modes,
            None if first else asked,
            anneal,
        ]
        return [way for way in ways if way]

    def __call__(
        self, state: State, path: Path, rng: Streams, is_last: bool = False
    ) -> tuple[State, list[Info]]:
        """The state after the chunk, in which its rows are history, or still pending.

        ``is_last`` says that the rows of the call end with the chunk.
        """
        state = self._with_sums(state, path.model, rng)
        path = path._replace(memory=state.memory)
        step, path, infos = self.across(state, path, rng)
        state = step.state
        may_test = is_last and self.from_all_rows is not None and state.answered.n != path.n
        due = may_test and is_due(state, path, self.anneal)
        offer = state.offered if state.offered and state.offered.n_rows == path.n_rows else None
        unknown = state.adaptation.rivals is None and self.may_search
        looks_now = state.is_rivalled or (unknown and not path.model.has_one_mode)
        if state.pending is not None and not (looks_now or offer or due):
            return state, infos
        step = _or_offered(step._replace(state=state.absorbed), offer, infos)
        if self.may_search and not step.is_from_outside and MissedModes.is_due(step.state, path):
            step = MissedModes(path, rng, PriorSurvey(self.anneal)).renewed(step)
            infos.append(step.info)
        step = _or_offered(step, offer, infos)  # modes may know less than what they took the place of
        if due:
            step = confirmed(step, path, rng)
            infos.append(step.info)
        return self._committed(step, path, rng), infos

    def across(self, state: State, path: Path, rng: Streams) -> tuple[Step, Path, list[Info]]:
        """The step of the first way that crosses, the path with what was learnt of it, and all infos."""
        infos: list[Info] = []
        if self.survey(state, path) is None:  # which knows more points that may explain the rows
            check_rows(path.chunk[state.n_rows - path.memory.n_rows :], state, path)
        state = state._replace(adaptation=state.adaptation._replace(sample_noise=np.nan))
        before = state
        for way in self.ways(state, path):
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
                    adaptation=state.adaptation.checked(asked=asked.state.adaptation.checks.asked)
                )
            step = asked if asked.crossed else step._replace(state=state._replace(offered=offered))
        state = step.state.foreseen(before, path)
        spent = state.adaptation.checks.spent + sum(info.cost for info in infos)
        state = state._replace(adaptation=state.adaptation.checked(spent=spent))
        return step._replace(state=state), path, infos

    def at_once(self, state: State, model: Model, rows: Rows, rng: Streams) -> tuple[State, list[Info]]:
        """However many rows, by the transition that answers for all of them; no infos where it does not."""
        from_all, closed_form = self.from_all_rows, FromProposal.is_closed_form(model)
        if from_all is None or not (closed_form or rows.total_weight >= state.n):
            return state, []
        path = state.path(model, rows)
        if not from_all.applies(state, path):
            return state, []
        if not (closed_form or model.n_surveyed):  # which ask no particle
            check_rows(path.chunk[state.n_rows - path.memory.n_rows :], state, path)
        step = from_all(state._replace(pending=None, ell=None), path, rng)
        if not step.crossed:
            asked = step.state
            return state._replace(
                adaptation=asked.adaptation, offered=asked.offered, declined=asked.declined
            ), []
        # nobody has asked the rivals of earlier particles how well they foretell these rows
        forgotten = step.state.adaptation._replace(rivals=None)
        step = step._replace(state=step.state._replace(adaptation=forgotten))
        # sums of few rows wait until others come
        waits = path.n_rows <= path.memory.few and model.slots is None
        return self._committed(step, path, rng, waits), [step.info]

    def of_folds(
        self, state: State, model: Model, rows: FoldedRows, rng: Streams
    ) -> tuple[State, list[Info]]:
        """However many rows that nobody holds, by sums over their parts."""
        M = self.anneal.n_particles(rows.total_weight)
        return FromFolds(model, M, self.may_search, self._cloud_of_few)(state, rows, rng)

    def _cloud_of_few(self, state: State, model: Model, rows: Rows, rng: Streams) -> Cloud | None:
        """The cloud of few rows, by what answers for all of them; None where these do not answer."""
        after, infos = self.at_once(state, model, rows, rng)
        return after.cloud if infos else None

    def _committed(self, step: Step, path: Path, rng: Streams, waits: bool = False) -> State:
        if step.state.memory.statistics is not None:  # the chunk is in them
            return step.state
        return committed(step, path, rng, self._needs_sums(path.memory, path.n_rows) and not waits)

    def _needs_sums(self, memory: Memory, n_rows: int) -> bool:
        """Whether ways across later chunks ask for anchored sums of so many rows."""
        capacity = memory.reservoir.capacity
        are_kept = not self.anchors_early and (capacity is None or n_rows <= capacity)
        return (self.from_all_rows is not None or self.anneal.move.needs_anchor) and not are_kept

    def _with_sums(self, state: State, model: Model, rng: Streams) -> State:
        """With the anchored sums that the answer for all rows of the memory had no use for."""
        memory = state.memory
        is_known = memory.anchor is not None or memory.statistics is not None
        if is_known or not memory.n_rows or not self._needs_sums(memory, memory.n_rows):
            return state
        history = Path(model, Memory.empty(), memory.at_hand)
        anchor = anchored_at_mode(history, state.cloud.mean, rng.rows)[1]
        return state._replace(memory=memory._replace(anchor=anchor))


def is_better(offered: Offer, cloud: Cloud) -> bool:
    """Whether particles claim so much less than what was offered that they lost something, or know less.

    An estimate without bias is hardly ever much too high (Eq. 3.10), and particles that lost their way claim
    too little.
    """
    std = np.hypot(offered.cloud.log_evidence_std, cloud.log_evidence_std)
    # standard errors, and nats, by which what is offered must exceed what particles claim; or how much larger
    # their error bar must be
    exceeds = offered.cloud.log_evidence - cloud.log_evidence > max(3.0 * std, 0.5)
    is_sharper = cloud.log_evidence_std > 3.0 * offered.cloud.log_evidence_std and not offered.may_miss_modes
    return bool(exceeds or is_sharper)


def _or_offered(step: Step, offered: Offer | None, infos: list[Info]) -> Step:
    """The step, or what was offered in its place if that is better, which ``infos`` is told."""
    if offered is None or not is_better(offered, step.state.cloud):
        return step
    infos.append(Info(n_renewals=1))
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
