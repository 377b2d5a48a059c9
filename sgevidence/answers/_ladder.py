r"""From a density q to a posterior by bridges over as few rungs as they take; mostly there is one.

    log f_t = log q + t u,   u = log p(x | θ) p(θ) − log q(θ),   0 = t_0 < t_1 < … < t_k = 1

Draws of one rung are resampled by weight for the next, and move there until they have forgotten where they
started.  Then draws of both are there, and a bridge between them (``_bridge.py``) tells the ratio of their
masses.  A rung is as far as a tenth of the draws stay effective: with draws on both sides that is near.

All is done in coordinates φ in which q is standard normal.  Chains of one rung have their part in two
bridges, so the variance of the sum is made of what each chain adds to it.

Symbols: φ ``phi`` = draws, (T, C, d): T successive ones of each of C chains; ``u`` = log ω at them, (T, C);
``t`` = the rung; ``gap``, t_{j+1} − t_j.

References
----------
C. H. Bennett (1976), Efficient estimation of free energy differences from Monte Carlo data;
X.-L. Meng and W. H. Wong (1996), Simulating ratios of normalizing constants via a simple identity.
"""

from typing import NamedTuple, cast

import numpy as np
from scipy.special import expit

from ..kernels import ValueAndGradient, hmc, largest_correlation
from ..particles import Weights, ess, log_sum_exp, systematic
from ._bridge import bridge

#: Draws of each chain of a rung, one trajectory apart.
N_SUCCESSIVE = 4
#: Draws, or chains, on which a bridge must rest on either side.
MIN_EFFECTIVE_BRIDGE = 40.0
#: Evaluations of each chain, and more of them for each parameter, after which annealing would have been
#: cheaper.
MAX_CHAIN_EVALUATIONS, MAX_EVALUATIONS_PER_PARAMETER = 100, 1.5
#: Length of a trajectory, widths of q: a quarter turn on q with steps that are 0.85 as long; while chains
#: remember their start each next one is twice as long.
TRAJECTORY, MAX_DOUBLINGS = 1.9, 3
#: Trajectories of a rung: before any draw is kept, and in all; correlation with the start, in the coordinate
#: that remembers most, that counts as forgotten, beside what few chains make of nothing.
MIN_TRAJECTORIES, MAX_TRAJECTORIES, FORGOTTEN_START = 2, 20, 0.2
#: Leapfrog steps of a trajectory at most, and the acceptance that the step is adapted to.
MAX_LEAPFROGS, ACCEPTANCE = 32, 0.8


class Rung(NamedTuple):
    """Draws of f_t."""

    phi: np.ndarray  #: (T, C, d)
    u: np.ndarray  #: (T, C)

    def halves(self) -> tuple["Rung", "Rung"]:
        """The even chains and the odd chains."""
        return Rung(self.phi[:, ::2], self.u[:, ::2]), Rung(self.phi[:, 1::2], self.u[:, 1::2])


class Climbed(NamedTuple):
    """The estimate of a ladder of bridges."""

    log_ratio: float  #: log Z of the posterior over that of q, nats
    std: float  #: nats
    top: Rung  #: draws of the posterior
    n_evaluations: float  #: gradients, in particles


def climb(log_p: ValueAndGradient, start: Rung, n_chains: int, rng: np.random.Generator) -> Climbed | None:
    """From draws of a standard normal density q to a posterior, by one chain for each rung.

    ``log_p`` is the log posterior in the coordinates of q, over the normalising constant of q, and its
    gradient: (M, d) -> (M,), (M, d).  None if chains do not forget where they start, or too few draws carry a
    bridge.
    """
    rungs, t, n = [start], 0.0, 0.0
    gaps: list[float] = []
    most = n_chains * (MAX_CHAIN_EVALUATIONS + MAX_EVALUATIONS_PER_PARAMETER * start.phi.shape[-1])
    log_eps = np.log(1.4 * start.phi.shape[-1] ** -0.25)
    while t < 1.0:
        gap = next_gap(rungs[-1].u, 1.0 - t)
        t = 1.0 if gap == 1.0 - t else t + gap
        moved = _moved(log_p, rungs[-1], gap, t, log_eps, n_chains, most - n, rng)
        if moved is None:
            return None
        rung, log_eps, cost = moved
        rungs, gaps, n = [*rungs, rung], [*gaps, gap], n + cost
        # rungs after which it is given up, or the first of which is too near
        if t < 1.0 and (len(gaps) == 10 or t < 0.02):
            return None
    found = _summed(rungs, gaps, MIN_EFFECTIVE_BRIDGE)
    if found is None:
        return None
    parts = zip(*(rung.halves() for rung in rungs))
    halves = (_summed(list(part), gaps, MIN_EFFECTIVE_BRIDGE / 4) for part in parts)
    each = [half[0] for half in halves if half is not None]
    if len(each) < 2:
        return None
    return Climbed(found[0], float(max(found[1], abs(each[0] - each[1]) / 2)), rungs[-1], n)


def next_gap(u: np.ndarray, rest: float) -> float:
    """How far the next rung is: all the way, or as far as enough of the draws stay effective."""
    u, enough = u.ravel(), 0.1 * u.size  # share of the draws that a step to the next rung leaves effective
    if ess(rest * u) >= enough:
        return rest
    low, high = 0.0, rest
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if ess(middle * u) >= enough else (low, middle)
    return min(low, rest / 2)  # a rung that is all but the top costs as much as another


def _moved(
    log_p: ValueAndGradient,
    rung: Rung,
    gap: float,
    t: float,
    log_eps: float,
    n_chains: int,
    most: float,
    rng: np.random.Generator,
) -> tuple[Rung, float, float] | None:
    """Draws of the next rung, the step in widths of q, and evaluations; None if they remember their start."""
    d = rung.phi.shape[-1]
    weights = Weights(gap * rung.u.ravel())
    start = rung.phi.reshape(-1, d)[systematic(weights.W, rng, n_chains)]

    def log_f(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, grad = log_p(x)
        return t * value - 0.5 * (1 - t) * np.sum(x**2, axis=1), t * grad - (1 - t) * x

    found = settled_chains(log_f, start, log_eps, most, rng)
    if found is None:
        return None
    return Rung(found.phi, found.log_ratio / t), found.log_eps, found.n_evaluations


class Chains(NamedTuple):
    """Draws of a density f, after chains have forgotten their start."""

    phi: np.ndarray  #: (T, C, d)
    log_ratio: np.ndarray  #: log f at them, less that of a standard normal but for its constant, (T, C)
    log_eps: float  #: step, in units of φ
    n_evaluations: float  #: gradients, in particles


def settled_chains(
    log_f: ValueAndGradient,
    start: np.ndarray,
    log_eps: float,
    most: float,
    rng: np.random.Generator,
) -> Chains | None:
    """Chains of a density that is not far from standard normal, by HMC.

    ``log_eps`` is the first step, ``most`` the evaluations after which they are given up.  None if they
    remember their start, or drift.
    """
    phi, n_chains, here = start, len(start), log_f(start)
    n, is_new, doublings = float(n_chains), False, 0
    first = _remembered(start, _log_ratio(start, here[0]))
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    for repeat in range(1, MAX_TRAJECTORIES + 1):
        L = int(np.clip(round(TRAJECTORY * 2.0**doublings / np.exp(log_eps)), 1, MAX_LEAPFROGS))
        eps = np.exp(log_eps) * rng.uniform(0.5, 1.2, n_chains)
        phi, info = hmc(phi, log_f, rng, eps=eps, L=L, here=here)
        here, n = cast(tuple[np.ndarray, np.ndarray], info.here), n + info.n_gradients * n_chains
        log_eps = float(np.clip(log_eps + info.acceptance - ACCEPTANCE, np.log(1e-3), np.log(1.8)))
        log_ratio = _log_ratio(phi, here[0])
        if is_new:
            kept = [*kept, (phi, log_ratio)][-N_SUCCESSIVE:]
            if len(kept) == N_SUCCESSIVE and is_settled(np.array([u for _, u in kept])):
                phi, log_ratio = map(np.array, zip(*kept))
                return Chains(phi, log_ratio, log_eps, n)
        if n > most:
            return None
        if not is_new and repeat >= MIN_TRAJECTORIES:
            remembered = largest_correlation(first, _remembered(phi, log_ratio))
            # correlation after so many trajectories, of which the last were long, that will not be forgotten
            # in all
            if repeat >= 5 and remembered > 0.8:
                return None
            is_new = remembered < FORGOTTEN_START
            doublings = min(doublings + (not is_new), MAX_DOUBLINGS)
    return None


def _log_ratio(phi: np.ndarray, log_f: np.ndarray) -> np.ndarray:
    return log_f + 0.5 * np.sum(phi**2, axis=1)


def _remembered(phi: np.ndarray, log_ratio: np.ndarray) -> np.ndarray:
    """Places, distances from the middle, the density, and what a bridge is the mean of, (C, 2d + 2).

    Modes differ in one of them, and so do tails, of which q has too few draws to start from.  The last is
    1/(1 + ω) in units of the median of ω: tails have no more of it than their share, while their log ω is
    most of the variance of log ω.
    """
    log_p = log_ratio - 0.5 * np.sum(phi**2, axis=1)
    return np.column_stack([phi, abs(phi), log_p, expit(np.median(log_ratio) - log_ratio)])


def is_settled(u: np.ndarray) -> bool:
    """Whether successive draws (T, C) do not drift."""
    half = len(u) // 2
    drift = u[half:].mean(axis=0) - u[:half].mean(axis=0)
    # standard errors by which the first and the second half of the draws that are kept may differ in log ω:
    # chains that spread into the tails of the posterior, where q is thin, have not settled
    return bool(abs(drift.mean()) <= 1.5 * np.std(drift) / len(drift) ** 0.5)


def _summed(rungs: list[Rung], gaps: list[float], least: float) -> tuple[float, float] | None:
    """log ratio over all rungs and its standard error; None if few draws carry a bridge."""
    log_ratio, shares = 0.0, [np.zeros(rung.u.shape[1]) for rung in rungs]
    for j, gap in enumerate(gaps):
        log_q, log_p = gap * rungs[j].u, gap * rungs[j + 1].u
        found = bridge(log_q.ravel(), log_p)
        if not found.n_effective > least:
            return None
        log_odds = np.log(log_p.size / log_q.size)
        f = log_sum_exp(-np.logaddexp(0.0, found.log_Z - log_odds - log_q), axis=0)
        g = log_sum_exp(-np.logaddexp(0.0, log_odds + log_p - found.log_Z), axis=0)
        log_ratio += found.log_Z
        shares[j] += _relative(f)
        shares[j + 1] -= _relative(g)
    return log_ratio, float(np.sqrt(sum(np.mean(share**2) / len(share) for share in shares)))


def _relative(log_f: np.ndarray) -> np.ndarray:
    """f over its mean, less one."""
    f = np.exp(log_f - log_f.max())
    return f / f.mean() - 1.0
