r"""The evidence of a hidden Markov model over all K! labellings and all sequences of states.

A search (``_search.py``) finds sequences of states, and Gibbs chains start from all that hold something.
With sequences z_s of chains and of the search, the mean of conditionals, labels summed over,

    q(θ) = (1/S) Σ_s (1/K!) Σ_π p(θ | x, π z_s^λ),    λ = 1 and 0.6 by turns,

is a plain density, and Z the mean of p(x | θ) p(θ) / q(θ) over its draws, where the forward algorithm
sums over states.  That needs no shares of chains.  Powers λ < 1 of the statistics make wider kernels, so
that a sequence covers those near it, too.  Where too few draws carry the mean, because states overlap or K
is too large, bridges by regions answer (``_regions.py``).  Bridges never overrule
importance sampling that many draws carry.

Chains are two halves: kernels are of one, points of bridges of the other, and the gap of both estimates is in
the error bar.  Rounds go on until the error is below the tolerance.  The error bar is never below 0.02 nats,
for sequences that neither the search nor chains have met.  Few rows are summed over all sequences, exactly.

Symbols: ``c`` = coefficients of M points, (K, M, D); ``T`` = statistics of sequences, (K, S, D); log w
``log_w`` = log p(x | θ) p(θ) / q(θ), (M,).

References
----------
S. Chib (1995), Marginal likelihood from the Gibbs output, Journal of the American Statistical Association 90,
1313;
S. Frühwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models using
bridge sampling techniques, Econometrics Journal 7, 143.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from ..answers import Estimate, cross_fitted, importance
from ..history import Rows
from ..mixture.strata import weighed
from ..particles import Weights, log_sum_exp, systematic
from ..samplers import under_way
from ._model import HiddenMarkovModel
from ._regions import Points, sum_over_regions
from ._search import Effort, distinct, representatives, search
from ._states import HiddenStates

#: States beyond which the sum over K! labellings would take too long.
MOST_STATES = 6
#: States of transitions that columns move, beyond which few draws carry importance sampling.
MOST_MOVED_STATES = 3
#: Sequences of states up to which all are summed, in a tenth of a second.
MOST_SEQUENCES = 20_000
#: Powers of the statistics of kernels, by turns.
KERNEL_POWERS = (1.0, 0.6)
#: Kernels of q of either half, from chains.
MAX_KERNELS = 500
#: Share of the sweeps that chains forget their starts in.
BURN_SHARE = 0.34
#: Rows × points × states² after which an answer is given with the error that it has: at 2000 rows, some five
#: times the price of five starts of EM; and the same of an error that is larger than so many nats.
MAX_STEPS, MAX_ROUGH_STEPS, MAX_BRIDGED_NATS = 1.5e8, 4e8, 0.3
#: Rounds: twice the draws of q where importance sampling answers, four times the sweeps where it does not.
MAX_ROUNDS = 4
#: Effective draws of q from which importance sampling answers in the first round, and in proportion to the
#: draws later: more draws of a q that is too thin are as wrong.  Share of the sum that one draw may have.
LEAST_EFFECTIVE, MAX_DRAW_SHARE = 100.0, 0.05
#: Error bar at least, nats, for sequences of states that neither search nor chains have met.
LEAST_ERROR_NATS = 0.02
#: Error bar from which an answer is doubted, nats.
DOUBTED_NATS = 1.0


class HiddenStatePosterior(NamedTuple):
    """Log evidence of a hidden Markov model, nats, and draws of its posterior."""

    log_evidence: float
    log_evidence_std: float
    theta: np.ndarray  #: (n_draws, d)
    in_use: np.ndarray  #: p(1 … K states have rows | x), (K,)
    doubt: str = ""  #: why the answer should not be trusted as it is
    n_likelihoods: float = 0.0  #: rows × points


def why_no_evidence(model: HiddenMarkovModel, n_rows: int) -> str | None:
    """The reason for which there is no evidence of so many rows; None if there is."""
    # rows · states² up to which there is an evidence, in an hour at most; 2000 rows take some seconds, ten
    # times as many with transitions of their own
    K, most = model.n_states, (100_000 if model.n_moving else 1_000_000) / model.n_states**2
    if K > MOST_STATES:
        return f"n_states is {K}, and labellings are summed over up to {MOST_STATES} states"
    if model.n_moving and K > MOST_MOVED_STATES:
        return f"n_states is {K}, and columns may move transitions of up to {MOST_MOVED_STATES} states"
    if K > 1 and n_rows > most:
        return f"{n_rows} rows are more than the {most:.0f} that {K} states can afford"
    return None


def hidden_state_evidence(
    model: HiddenMarkovModel,
    rows: Rows,
    rng: np.random.Generator,
    n_draws: int = 1000,
    tolerance: float = 0.03,
) -> HiddenStatePosterior:
    """Evidence, with an error below the tolerance (nats) where that is affordable, and posterior draws.

    ``rows.y`` says where sequences start; a row of nan is a step without observation.
    """
    problem = HiddenStates.of(model, rows)
    is_sum = model.n_states == 1 or not model.n_moving
    if is_sum and model.n_states ** len(rows) <= MOST_SEQUENCES:
        return _summed(problem, rng, n_draws)
    chains, found = Chains.found(problem, rng), list[Combined]()
    n_sweeps, growth = chains.effort.n_chain_sweeps, 1
    for i in range(MAX_ROUNDS):
        under_way(f"chains of {model.n_states} states, round {i + 1} of at most {MAX_ROUNDS}")
        chains.sweep(n_sweeps, rng)
        halves = [_half(chains, h, i, growth, rng) for h in (0, 1)]
        found.append(answer := Combined.of(halves, found))
        if answer.is_importance:
            growth *= 2
        else:
            n_sweeps = 3 * len(chains.c)  # beside those that were made: four times as many
        is_settled = answer.is_importance or i > 0
        most = MAX_STEPS if answer.error <= MAX_BRIDGED_NATS else MAX_ROUGH_STEPS
        if is_settled and (answer.error <= tolerance or chains.n_likelihoods * model.n_states**2 > most):
            break
    return _posterior(problem, answer, halves, n_draws, chains.n_likelihoods, rng)


class Chains:
    """Gibbs chains of two halves, from all basins that the search has found."""

    def __init__(self, problem: HiddenStates, z: np.ndarray, extra: np.ndarray, effort: Effort):
        self.problem, self.extra, self.effort = problem, extra, effort
        self.half = np.arange(len(z)) % 2
        self.T = [problem.statistics(z)]
        self.c: list[np.ndarray] = []
        self.n_likelihoods = 0.0

    @classmethod
    def found(cls, problem: HiddenStates, rng: np.random.Generator) -> "Chains":
        """From a search: more chains where sequences hold more, in both halves alike."""
        effort, found = Effort.of(len(problem.F)), search(problem, rng)
        _, owner = representatives(found, effort.n_basins, problem.model.n_states)
        good = found.good
        basins = [good[owner == i] for i in range(owner.max() + 1)]
        best = np.array([found.score[one].max() for one in basins])
        share = np.exp(0.5 * (best - best.max()))
        of_half = np.maximum(np.round(0.5 * effort.n_chains * share / share.sum()), 2).astype(int)
        starts = np.concatenate([np.resize(one, 2 * size) for one, size in zip(basins, of_half)])
        extra = distinct(problem, found.z)[:, : effort.n_extra]
        return cls(problem, found.z[starts], extra, effort)

    def sweep(self, n_sweeps: int, rng: np.random.Generator) -> None:
        """All chains some sweeps on."""
        for _ in range(n_sweeps):
            c = self.problem.model.draw(self.T[-1], rng)
            self.c.append(c)
            self.T.append(self.problem.sweep(c, rng).T)
        self.n_likelihoods += len(self.problem.F) * len(self.half) * n_sweeps

    def chosen(self, size: int) -> np.ndarray:
        """Sweeps at equal distances after those in which starts are forgotten."""
        n = len(self.c)
        return np.unique(np.linspace(int(BURN_SHARE * n), n - 1, size).astype(int))

    def kernels(self, half: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Statistics of one half's kernels, with their powers, (K, S, D), and the owner of each, (S,)."""
        mine = np.flatnonzero(self.half == half)
        sweeps = self.chosen(min(size, MAX_KERNELS // len(mine)))
        T = np.concatenate([self.T[i + 1][:, mine] for i in sweeps], axis=1)
        owner = np.tile(np.arange(len(mine)), len(sweeps))
        more = self.extra[:, half::2]
        T = np.concatenate([T, more], axis=1)
        owner = np.r_[owner, len(mine) + np.arange(more.shape[1])]
        return T * np.resize(KERNEL_POWERS, T.shape[1])[:, None], owner

    def points(self, half: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Points of one half (K, M, D), and the chain of each, (M,)."""
        mine, sweeps = np.flatnonzero(self.half == half), self.chosen(size)
        c = np.concatenate([self.c[i][:, mine] for i in sweeps], axis=1)
        return c, np.tile(np.arange(len(mine)), len(sweeps))


class Half(NamedTuple):
    """Estimate by kernels of one half, and the points that its weights are of, (K, M, D)."""

    estimate: Estimate
    is_importance: bool
    c: np.ndarray


def _half(chains: Chains, half: int, i: int, growth: int, rng: np.random.Generator) -> Half:
    """Round i: draws of kernels of one half, ``growth`` times as many as first, and points of the other."""
    problem, effort = chains.problem, chains.effort
    T, owner = chains.kernels(half, effort.n_kept + 2 * i)
    c_p, chain = chains.points(1 - half, 8 + 4 * i)
    n_q = effort.n_q * growth
    draws = problem.model.draw(T[:, systematic(np.full(T.shape[1], 1 / T.shape[1]), rng, n_q)], rng)
    c = np.concatenate([draws, c_p], axis=1)
    log_w, terms = weighed(problem, c, T)
    chains.n_likelihoods += len(problem.F) * c.shape[1]
    by_q = importance(log_w[:n_q])
    is_carried = by_q.n_effective >= LEAST_EFFECTIVE * growth and Weights(by_q.log_w).W.max() < MAX_DRAW_SHARE
    if is_carried or problem.model.n_moving:
        return Half(by_q, bool(is_carried), draws)
    by_owner = np.stack([log_sum_exp(terms[:, owner == k], axis=1) for k in range(owner.max() + 1)], axis=1)
    return Half(sum_over_regions(Points(log_w, by_owner, chain)), False, c)


class Combined(NamedTuple):
    """Log evidence and its error bar, nats."""

    log_Z: float
    error: float
    n_effective: float
    is_importance: bool

    @classmethod
    def of(cls, halves: list[Half], before: "list[Combined]") -> "Combined":
        """From both halves; a bridge also has what four times the sweeps changed: chains may not settle."""
        first, second = (half.estimate for half in halves)
        log_Z, std, gap = cross_fitted(first, second)
        n_effective = min(first.n_effective, second.n_effective)
        error = max(std, gap) * np.sqrt(1 + 10 / n_effective)  # an error bar from few is itself uncertain
        is_importance = all(half.is_importance for half in halves)
        drift = 0.0 if is_importance or not before else log_Z - before[-1].log_Z
        error = float(np.sqrt(error**2 + drift**2 + LEAST_ERROR_NATS**2))
        return cls(log_Z, error, n_effective, is_importance)


def _posterior(
    problem: HiddenStates,
    answer: Combined,
    halves: list[Half],
    n_draws: int,
    n_likelihoods: float,
    rng: np.random.Generator,
) -> HiddenStatePosterior:
    """Draws by the weights of both halves, swept once: draws that a weight doubled differ again."""
    c = np.concatenate([half.c for half in halves], axis=1)
    W = np.concatenate([0.5 * Weights(half.estimate.log_w).W for half in halves])
    c = c[:, systematic(W / W.sum(), rng, n_draws)]
    T = problem.sweep(c, rng).T
    c = problem.model.draw(T, rng) if problem.model.transitions.is_conjugate else c
    theta = problem.model.in_order(problem.model.flat(c))
    doubt = ""
    if problem.model.n_moving and not answer.is_importance:
        doubt = (
            f"{answer.n_effective:.0f} draws carry the log evidence, which may be off by {answer.error:.1f} "
            "nats or more: states overlap too much for columns to move their transitions; try fewer states"
        )
    elif answer.error > DOUBTED_NATS:
        doubt = (
            f"the log evidence may be off by {answer.error:.1f} nats: the posterior has parts between which "
            "chains hardly move, as where there are more states than the rows tell apart"
        )
    return HiddenStatePosterior(
        answer.log_Z,
        answer.error,
        theta,
        _in_use(T),
        doubt,
        n_likelihoods + len(problem.F) * n_draws,
    )


def _summed(problem: HiddenStates, rng: np.random.Generator, n_draws: int) -> HiddenStatePosterior:
    """The sum over all sequences of states, of which one state has one."""
    model, K, n = problem.model, problem.model.n_states, len(problem.F)
    T = problem.statistics(np.array(list(product(range(K), repeat=n)), dtype=np.int16).reshape(K**n, n))
    log_p = problem.log_joint(T)
    log_Z = float(np.logaddexp.reduce(log_p))
    p = np.exp(log_p - log_Z)
    T = T[:, systematic(p / p.sum(), rng, n_draws)]
    theta = model.in_order(model.flat(problem.model.draw(T, rng)))
    return HiddenStatePosterior(log_Z, 0.0, theta, _in_use(T), n_likelihoods=float(n * len(p)))


def _in_use(T: np.ndarray) -> np.ndarray:
    """Shares of sequences with 1 … K states in use, by statistics (K, S, D), (K,)."""
    K, S, _ = T.shape
    has_rows = T[:, :, : K + 1].any(axis=2) | T[:, :, :K].any(axis=0).T
    return np.bincount(np.sum(has_rows, axis=0), minlength=K + 1)[1:] / S
