"""From one posterior to the next: a plan, which is a list, and the loop that walks it.

The ways are in the order of their price: a closed form, weights alone, densities at the modes that the
particles know, a density that answers for all rows at once, modes from outside, and annealing, which never
declines.  The first that crosses ends them.  Then the cloud is held against modes that
it may have missed, and against what a density was not sure of; an annealed answer is tested.

Symbols: ``y_n`` = ``path.chunk``; ``infos`` = what each transition that was tried has to say.

Maxima that the particles do not know, in a model that may have several: a look from outside.

Tempering follows the bulk of the posterior.  Where a narrow peak holds most of the evidence in a volume that
no particle has met (a first-order phase transition: Skilling 2006), or where a mode has been lost on the way,
weights and genealogy look as they should.  Now and then, when n has doubled, a maximum that was found has
caught up or rows are unlike those before (:mod:`._watchlist`), the posterior is climbed from draws of the
prior and from particles.  A maximum whose Laplace evidence,

    log Z_L = log f(a) + (d/2) log 2π − ½ log |P|,

is not what the particles near it claim is given to importance sampling, and takes its share as the modes of a
mixture do: Z = Z_A + Z_B (:mod:`._modes`).  Mostly they claim too little; too much where few lineages found a
mode late.  So does a maximum whose particles know their evidence badly.  While rows are at hand Laplace's
evidence alone is no reason to call a maximum missed: along a ridge, whose curvature vanishes, it has no
bound.

At a wall, where the density jumps, there is no such ellipsoid: when one has caught up that no particle is
near, all rows are annealed again from the prior.

Symbols: ``a, P`` = maximum and precision, ``B`` = ellipsoid around it, ``near`` = weight of particles in B.
"""

from typing import NamedTuple

import numpy as np

from ..history import N_INFLUENCE_DRAWS, FoldedRows, Influence, Rows
from ..models import Model
from ..particles import Cloud
from ..targets import TOO_NOISY, Likelihood, Path, Target, anchored_at_mode
from ._anneal import Anneal, Reweight
from ._base import Info, Offer, State, Step, Streams, Transition, check_rows
from ._climbs import N_LOOKED_AT, Ends, climbed
from ._confirm import confirmed, is_due
from ._from_folds import FromFolds
from ._from_modes import FromModes
from ._from_proposal import FromProposal
from ._mode_search import (
    GOOD_ENOUGH_NATS,
    SIGNIFICANT_ERRORS,
    SIGNIFICANT_GAIN_NATS,
    ModeSearch,
    modes_are_due,
    subsample,
)
from ._modes import ModeImportance
from ._prior_survey import PriorSurvey
from ._watchlist import AWAY_FACTOR, SHORT_NATS, Usual, Watchlist, nearest

#: Nats by which particles must misrepresent a maximum to be looked into: Laplace's own error is less.
DOUBTFUL_MASS_NATS = 0.5
#: Weight of particles near a maximum that counts as none.
NEGLIGIBLE_WEIGHT = 1e-3


class MissedModes:
    """The maxima of one path, against the cloud at its end."""

    def __init__(self, search: ModeSearch, path: Path, rng: Streams, survey: PriorSurvey) -> None:
        self.search, self.path, self.rng, self.survey = search, path, rng, survey
        self.importance = ModeImportance(search, path, rng)

    @staticmethod
    def is_due(state: State, path: Path) -> bool:
        """Whether n has passed 1, 2, 4, 8, … of a model that may have several modes, or it has rivals.

        Or nothing is known of other modes, as after an answer for all rows at once.
        """
        before = np.floor(np.log2(path.memory.n)) if path.memory.n >= 1 else -1.0
        doubled = np.floor(np.log2(max(path.n, 1.0))) > before
        unknown = state.adaptation.rivals is None
        return bool(not path.model.has_one_mode and (doubled or unknown or state.is_rivalled))

    def renewed(self, step: Step) -> Step | None:
        """The step with what was overlooked taken in, or reported as missed; None where no look is due."""
        if not self.is_due(step.state, self.path):
            return None
        cloud, n_renewals = step.state.cloud, 0
        complete, importance = self.path.memory.complete, self.importance
        missed = 0.0 if complete else np.nan
        target = Target(self.path.model, Likelihood(importance.rows))
        ends = climbed(self.path.model, importance.rows, step.state, self.search, self.rng.rows)
        known = np.array([mode.log_evidence for mode in ends.maxima])  # their log evidence
        for i, mode in enumerate(ends.maxima):
            near = float(cloud.W @ mode.near(self.path.model, cloud.theta))
            claimed = cloud.log_evidence + np.log(max(near, NEGLIGIBLE_WEIGHT))
            mass = mode.log_evidence
            is_vague = near > NEGLIGIBLE_WEIGHT and cloud.log_evidence_std > GOOD_ENOUGH_NATS
            if not abs(mass - claimed) > DOUBTFUL_MASS_NATS and not is_vague:
                continue
            if complete:
                draws = importance.draws(mode, cloud.M)
                mass = draws.weights.log_mean
                if draws.are_reliable:
                    known[i] = mass
                    renewed = importance.added(cloud, mode, draws)
                    std = np.hypot(cloud.log_evidence_std, draws.weights.relative_variance**0.5)
                    is_wrong = abs(mass - claimed) > max(DOUBTFUL_MASS_NATS, SIGNIFICANT_ERRORS * std)
                    if is_wrong or (is_vague and 2 * renewed.log_evidence_std < cloud.log_evidence_std):
                        cloud, n_renewals = renewed, n_renewals + 1
                    continue
            # unreliable draws hardly ever give too much; Laplace does, along a ridge
            gain = mass - cloud.log_evidence
            if near < NEGLIGIBLE_WEIGHT and gain > SIGNIFICANT_GAIN_NATS:
                missed = float(np.fmax(missed, gain))
        adaptation = step.state.adaptation
        info = Info(importance.n_likelihoods, n_renewals=n_renewals, missed_mode=missed)
        if n_renewals:
            adaptation = adaptation._replace(alike=np.nan)
        state, anchor = step.state._replace(cloud=cloud, adaptation=adaptation), step.anchor
        step = Step(state, info, anchor=None if n_renewals else anchor, is_from_outside=n_renewals > 0)
        step, gap = self.past_walls(step, ends, target)
        points = [*(mode.a for mode in ends.maxima), *ends.walls, *ends.outposts]
        theta = np.array(points).reshape(-1, cloud.theta.shape[1])
        held = np.where(np.isinf(gap), 0.0, gap)  # and may be lost
        gap = np.concatenate([step.state.cloud.log_evidence - known, held, ends.gap])
        few = subsample(importance.rows, self.search.search_rows, self.rng.rows)
        rivals = Watchlist.of(theta, gap, Usual.of(self.path.model, theta, few))
        return step._replace(
            state=step.state._replace(adaptation=step.state.adaptation._replace(rivals=rivals))
        )

    def past_walls(self, step: Step, ends: Ends, target: Target) -> tuple[Step, np.ndarray]:
        """The step, from the prior again where no particle is near a wall that is good enough; gaps of walls.

        A neck of the posterior may look like one.  Particles that have been annealed past it know better.
        """
        gap = gaps(step.state.cloud, ends, target)
        if not np.any(gap < SHORT_NATS):
            return step, gap
        again = self.survey.restarted(step.state, self.path, self.rng)
        if not again.crossed:
            is_missed = step.state.is_rivalled and -gap.min() > SIGNIFICANT_GAIN_NATS
            info = step.info.plus(Info(missed_mode=-gap.min() if is_missed else np.nan))
            return step._replace(info=info), gap
        info = step.info.plus(Info(again.info.n_likelihoods, n_renewals=1))
        return Step(again.state, info, is_from_outside=True), np.zeros(len(gap))


def gaps(cloud: Cloud, ends: Ends, target: Target) -> np.ndarray:
    """By how many nats the best particle is better than each wall; infinite for walls that are theirs.

    These are near particles, and not better by more than the top of what they are drawn from may be.
    """
    if not len(ends.walls):
        return np.zeros(0)
    theta = cloud.spread_theta(N_LOOKED_AT)
    usual = nearest(theta, theta, 2).max()
    away = nearest(ends.walls, theta) > AWAY_FACTOR * usual
    gap = target.value(theta).max() - ends.values
    return np.where(away | (-gap > SIGNIFICANT_GAIN_NATS + theta.shape[1] / 2), gap, np.inf)


class Plan(NamedTuple):
    """Ways are tried until one crosses, looks until one has brought particles from outside."""

    ways: list[Transition]
    looks: list[ModeImportance | MissedModes]


class Crossing(NamedTuple):
    """The ways across a chunk."""

    anneal: Anneal
    mode_search: ModeSearch | None = None
    from_all_rows: FromProposal | None = None  #: it answers for all rows at once; None: it is switched off
    anchors_early: bool = True  #: also while the reservoir has all rows

    def survey(self, state: State, path: Path) -> PriorSurvey | None:
        """The look at the prior, for the first rows of a model that may have several modes; else None."""
        survey = PriorSurvey(self.anneal)
        return survey if self.mode_search is not None and survey.applies(state, path) else None

    def plan(self, state: State, path: Path, rng: Streams) -> Plan:
        """Transitions that may carry the cloud across the chunk, in the order in which they are tried."""
        anneal, search, asked = self.anneal, self.mode_search, self.from_all_rows
        from_modes = None
        if asked is not None and self.anchors_early and path.model.slots is None:
            from_modes = FromModes(anneal.n_particles, asked.tolerance)
        first = asked is not None and asked.comes_first(state, path)
        modes = None
        if search is not None and modes_are_due(search, path):
            modes = ModeImportance(search, path, rng)
        ways = [
            self.survey(state, path),
            asked if first else None,
            None if anneal.resampling is None else Reweight(anneal.target_ess, from_modes is not None),
            from_modes,
            None if first else asked,
            modes,
            anneal,
        ]
        looks = [modes, None if search is None else MissedModes(search, path, rng, PriorSurvey(anneal))]
        return Plan([way for way in ways if way], [look for look in looks if look])

    def __call__(
        self, state: State, path: Path, rng: Streams, is_last: bool = False
    ) -> tuple[State, list[Info]]:
        """The state after the chunk, in which its rows are history, or still pending.

        ``is_last`` says that the rows of the call end with the chunk.
        """
        ways, looks = self.plan(state, path, rng)
        step, path, infos = self.across(ways, state, path, rng)
        state = step.state
        may_test = is_last and self.from_all_rows is not None and state.answered.n != path.n
        due = may_test and is_due(state, path, self.anneal)
        offer = state.offered if state.offered and state.offered.n_rows == path.n_rows else None
        unknown = state.adaptation.rivals is None and self.mode_search is not None
        looks_now = state.is_rivalled or (unknown and not path.model.has_one_mode)
        if state.pending is not None and not (looks_now or offer or due):
            return state, infos
        step = _or_offered(step._replace(state=state.absorbed), offer, infos)
        for look in looks:
            found = None if step.is_from_outside else look.renewed(step)
            if found is not None:
                step = found
                infos.append(step.info)
        step = _or_offered(step, offer, infos)  # modes may know less than what they took the place of
        if due:
            step = confirmed(step, path, rng, self.anneal)
            infos.append(step.info)
        return self._committed(step, path, rng), infos

    def across(
        self, ways: list[Transition], state: State, path: Path, rng: Streams
    ) -> tuple[Step, Path, list[Info]]:
        """The step of the first way that crosses, the path with what was learnt of it, and all infos."""
        infos: list[Info] = []
        if self.survey(state, path) is None:  # which knows more points that may explain the rows
            check_rows(path.chunk[state.n_rows - path.memory.n_rows :], state, path)
        state = state._replace(adaptation=state.adaptation._replace(sample_noise=np.nan))
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
        return self._committed(step, path, rng), [step.info]

    def of_folds(
        self, state: State, model: Model, rows: FoldedRows, rng: Streams
    ) -> tuple[State, list[Info]]:
        """However many rows that nobody holds, by sums over their parts."""
        M = self.anneal.n_particles(rows.total_weight)
        return FromFolds(model, M, self.mode_search, self._cloud_of_few)(state, rows, rng)

    def _cloud_of_few(self, state: State, model: Model, rows: Rows, rng: Streams) -> Cloud | None:
        """The cloud of few rows, by what answers for all of them; None where these do not answer."""
        after, infos = self.at_once(state, model, rows, rng)
        return after.cloud if infos else None

    def _committed(self, step: Step, path: Path, rng: Streams) -> State:
        if step.state.memory.statistics is not None:  # the chunk is in them
            return step.state
        capacity = path.memory.reservoir.capacity
        is_kept = not self.anchors_early and (capacity is None or path.n_rows <= capacity)
        needs_anchor = self.from_all_rows is not None or self.anneal.move.needs_anchor
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
