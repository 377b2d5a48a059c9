r"""A transition is a way to carry a weighted cloud from one posterior to the next.

A transition takes (state, path, rng) and gives a :class:`Step`.  Either the cloud has crossed, and follows
the posterior at the end of the path, or the transition declines; then the next one is tried, from the state
that it leaves.  All are right by their importance weights: in which order they are tried only costs variance.

The state has everything that decides later (``adaptation``, ``memory``); ``info`` only reports, in the
transition's own words, which are names of fields of a record of the run.

Symbols: θ_i, w_i ``state.cloud`` = particles and their weights; y_<n ``state.memory`` = the rows before; y_n
``path.chunk`` = the rows to absorb; ℓ_i ``state.ell`` = log p(y_n | θ_i) where it is known.
"""

from typing import NamedTuple, Protocol

import numpy as np

from ..answers import ComponentEvidence
from ..exceptions import ImpossibleRowsError
from ..history import Anchor, Memory, Rows
from ..models import Model
from ..particles import Cloud, Weights
from ..targets import Path
from ._answer_cloud import ExactCloud
from ._watchlist import Watchlist


class Streams(NamedTuple):
    """Separate random streams, so that the number of draws from one never shifts another."""

    noise: np.random.Generator
    resampling: np.random.Generator
    rows: np.random.Generator

    @classmethod
    def spawned(cls, rng: np.random.Generator) -> "Streams":
        return cls(*rng.spawn(3))

    @classmethod
    def one(cls, rng: np.random.Generator) -> "Streams":
        """One generator for all purposes."""
        return cls(rng, rng, rng)


class Checks(NamedTuple):
    """When a density was last asked and an annealed answer last tested, and what has been spent since."""

    asked: float = 0.0  #: rows, by total weight, when a density was last asked for an answer
    confirmed: float = 0.0  #: rows, by total weight, when an annealed answer was last tested
    spent: float = 0.0  #: gradients since then, and what likelihoods cost of them, particles × rows


class Adaptation(NamedTuple):
    """Adaptation: settings learnt on the way, for the steps that come."""

    log_eps: float = 0.0  #: step of HMC in posterior widths
    #: spread over particles of the error of a sub-sample of the history, nats: it decides whether the
    #: reservoir grows; nan where none was used
    sample_noise: float = np.nan
    checks: Checks = Checks()
    rivals: Watchlist | None = None  #: what may overtake the particles; None: nothing is known
    #: draws of the prior, while all of them find the rows seen equally likely; nan once they differ
    alike: float = np.nan

    def checked(self, **checks: float) -> "Adaptation":
        """With these numbers of its tests."""
        return self._replace(checks=self.checks._replace(**checks))


class Answered(NamedTuple):
    """The last answer of a density for all rows."""

    n: float = 0.0  #: rows, by total weight
    components: ComponentEvidence | None = None  #: of a mixture, by strata
    doubts: tuple[str, ...] = ()


class Offer(NamedTuple):
    """An answer that is not sure enough, which particles of the rows before may know better."""

    cloud: Cloud
    n_rows: int  #: for which it is
    answered: Answered = Answered()
    may_miss_modes: bool = False  #: it is no more than a bound from below, however small its error


class State(NamedTuple):
    """Everything the next rows need; a value, never changed in place."""

    cloud: Cloud  #: an :class:`ExactCloud` where sums over the rows say all
    memory: Memory
    adaptation: Adaptation = Adaptation()
    pending: Rows | None = None  #: rows that weigh on the cloud already, but are not in the memory yet
    #: log-likelihood at each particle, of ``pending``; on the way of the chunk to absorb.  None: not known
    ell: np.ndarray | None = None
    answered: Answered = Answered()
    offered: Offer | None = None
    declined: str = ""  #: why a density had no answer when it was last asked

    @property
    def n_rows(self) -> int:
        """Rows seen."""
        return self.memory.n_rows + (0 if self.pending is None else len(self.pending))

    @property
    def n(self) -> float:
        """Their total weight."""
        return self.memory.n + (0.0 if self.pending is None else self.pending.total_weight)

    @property
    def rows_seen(self) -> Rows | None:
        """All rows seen; None where some are not kept."""
        if not self.memory.complete or not self.memory.n_rows:
            return None
        return self.memory.at_hand if self.pending is None else self.memory.at_hand.join(self.pending)

    def path(self, model: Model, rows: Rows) -> Path:
        """From the rows in the memory to those that are pending, and these."""
        return Path(model, self.memory, rows if self.pending is None else self.pending.join(rows))

    @property
    def is_rivalled(self) -> bool:
        """Whether something has caught up with the particles since the last look, or rows are unlike it."""
        rivals = self.adaptation.rivals
        return rivals is not None and (rivals.caught_up or rivals.has_unlike_rows)

    @property
    def seen(self) -> Cloud:
        """The cloud as a sample of the posterior of all rows seen."""
        return self.cloud if self.ell is None else self.cloud.weighted(self.ell)

    def foreseen(self, before: "State", path: Path) -> "State":
        """With what the rows that are new since ``before`` have told of its rivals, and of the prior."""
        adaptation = self.adaptation
        if adaptation.rivals is not None:
            new = path.chunk[before.n_rows - path.memory.n_rows :]
            rivals = adaptation.rivals.after(path.model, new, self.log_evidence - before.log_evidence)
            adaptation = adaptation._replace(rivals=rivals)
        if not np.isnan(adaptation.alike):
            ell = path.increment(self.theta)
            adaptation = adaptation if np.all(ell == ell[0]) else adaptation._replace(alike=np.nan)
        return self._replace(adaptation=adaptation)

    @property
    def absorbed(self) -> "State":
        """With all rows seen in the weights of the cloud, and none pending."""
        return self._replace(cloud=self.seen, pending=None, ell=None)

    @property
    def components(self) -> ComponentEvidence | None:
        """Evidences of every number of components, of a mixture, when strata last answered."""
        return self.answered.components

    @property
    def theta(self) -> np.ndarray:
        return self.cloud.theta

    @property
    def all_weights(self) -> Weights:
        """Weights of the particles as a sample of the posterior of all rows seen."""
        return self.seen.weights

    @property
    def log_evidence(self) -> float:
        """log Ẑ of all rows seen, nats."""
        return self.seen.log_evidence

    @property
    def log_evidence_std(self) -> float:
        """Its standard error, nats."""
        seen, memory = self.seen, self.memory
        doubt_var = 0.0 if memory.anchor is None else memory.doubt_var(seen.theta, seen.W)
        return float(np.hypot(seen.log_evidence_std, doubt_var**0.5))

    @property
    def waits(self) -> bool:
        """Whether the evidence is known to be right, and has not been asked for."""
        return isinstance(self.cloud, ExactCloud) and "posterior" not in vars(self.cloud)

    @property
    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Points and weights whose means are those of the posterior: particles, or a quadrature."""
        seen = self.seen
        return seen.nodes if isinstance(seen, ExactCloud) else (seen.theta, seen.W)


#: Fields that add up over transitions, and those of which the last that is known counts.
COUNTS = (
    "n_moves",
    "n_proposals",
    "n_replaced",
    "n_renewals",
    "n_refused",
    "n_likelihoods",
    "n_gradients",
)
LATEST = ("acceptance", "noise_to_injection", "disagreement")


class Info(NamedTuple):
    """Cost and outcome of a transition, as fields of a record of the run."""

    n_likelihoods: float = 0.0  #: particles × rows
    n_gradients: float = 0.0  #: particles × rows
    lambdas: tuple[float, ...] = ()  #: the annealing schedule
    ess: float = np.inf  #: smallest effective sample size
    n_moves: int = 0
    n_refused: int = 0
    acceptance: float = np.nan  #: of the last Metropolis tests
    noise_to_injection: float = np.nan
    n_proposals: int = 0  #: a density has answered
    n_renewals: int = 0  #: modes whose share of the evidence was taken from outside
    #: nats by which a mode that no particle has found exceeds the particles' own; nan if none was sought
    missed_mode: float = np.nan
    n_replaced: int = 0  #: a density has answered in place of annealing
    #: nats by which a density exceeds an annealed answer that it does not agree with; 0 where they agree,
    #: infinite where it declines far from a Gaussian, nan where none was asked
    disagreement: float = np.nan

    def plus(self, later: "Info") -> "Info":
        """Both: counts add up, of the rest the worst is kept, or the last that is known."""
        known = {name: value for name in LATEST if not np.isnan(value := getattr(later, name))}
        counts = {name: getattr(self, name) + getattr(later, name) for name in COUNTS}
        return self._replace(
            lambdas=(*self.lambdas, *later.lambdas),
            ess=float(np.fmin(self.ess, later.ess)),
            missed_mode=float(np.fmax(self.missed_mode, later.missed_mode)),
            **known,
            **counts,
        )

    @property
    def cost(self) -> float:
        """In gradients, particles × rows."""
        # gradients that a likelihood costs: a third by its operations, half of that in the large blocks of
        # a survey
        return float(self.n_gradients + (1 / 6) * self.n_likelihoods)


class Step(NamedTuple):
    """The state after a transition, and its record."""

    state: State
    info: Info = Info()  #: what happened, for the record of the run
    crossed: bool = True
    anchor: Anchor | None = None  #: sums over history and chunk near the new mode, where the step knows them
    is_from_outside: bool = False  #: its particles are not those of the rows before


class Transition(Protocol):
    """A way across."""

    def __call__(self, state: State, path: Path, rng: Streams) -> Step: ...


class Moved(NamedTuple):
    """The record of one move of the particles."""

    theta: np.ndarray
    adaptation: Adaptation
    n_gradients: float  #: particles × rows
    n_refused: int = 0  #: particles left where they were, because they left the finite numbers
    acceptance: float = np.nan  #: of the last Metropolis test; nan without
    noise_to_injection: float = np.nan  #: variance of the gradient's kicks over that of the injected noise


def check_rows(rows: Rows, state: State, path: Path) -> None:
    """Rows that no particle can explain are refused before anything else is done with them.

    One particle that can explain them all is enough, and costs next to nothing.
    """
    best = int(np.argmax(state.all_weights.log_w))
    if np.isfinite(path.model.sum_log_likelihood(state.theta[best : best + 1], rows)[0]):
        return
    suspect = rows
    for particles in (slice(best, best + 1), slice(None)):  # all particles only for the rows that need it
        theta = state.theta[particles]
        with np.errstate(all="ignore"):
            each = np.concatenate([path.model.log_likelihood(theta, b) for b in suspect.blocks(500)], axis=1)
        suspect = suspect.take(np.flatnonzero(~np.isfinite(each).any(axis=0) | (each == np.inf).any(axis=0)))
        if not len(suspect):
            return
    raise ImpossibleRowsError(suspect, state.n_rows)


def check_likelihood(ell: np.ndarray, cloud: Cloud, path: Path) -> None:
    """Rows that are impossible under every particle have no evidence: say which."""
    possible = np.isfinite(ell) & np.isfinite(cloud.weights.log_w)
    if possible.any() and not np.any(ell == np.inf):
        return
    with np.errstate(all="ignore"):
        each = path.model.log_likelihood(cloud.theta, path.chunk)
    bad = ~np.isfinite(each).any(axis=0) | (each == np.inf).any(axis=0)
    raise ImpossibleRowsError(path.chunk.take(np.flatnonzero(bad)), path.memory.n_rows)
