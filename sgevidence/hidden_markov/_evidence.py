r"""The evidence of a hidden Markov model over all K! labellings, from two halves.

Each half has particles of its own, which have gone along the rows.  They are swept on as Gibbs chains, and
the conditionals of θ given their states, labels summed over, are a plain density q
(``_allocation_draws.py``).  q of either half is bridged to the chains of the other (Frühwirth-Schnatter
2004), which is as sharp as states are known.  Where they overlap, or hold few rows, q is too thin between its
conditionals, and the mean weights of the particles answer instead.  Few rows are summed over all sequences of
states, without error.

Particles go along a sequence with the forward algorithm as their likelihood (Chopin 2002), row by row.  A
particle θ is weighed by p(y_t | y_<t, θ), with its states summed over, and where fewer than half of the
particles count they are drawn anew and swept on at all rows so far; the filter then starts from the last
state that the sweep has drawn, which belongs to the particle.  The mean weights multiply to the evidence:
labels need not be told apart, and nothing is lost where states overlap, or have few rows.  Few rows cost
little, so that there are many particles at first.

Symbols: ``c`` = coefficients of M particles, (K, M, D); α ``alpha`` = filter of the last row of each
particle, (K, M); log w ``log_w`` = weights since they were last drawn, (M,).

References
----------
S. Frühwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models using
bridge sampling techniques, Econometrics Journal 7, 143;
N. Chopin (2002), A sequential particle filter method for static models, Biometrika 89, 539;
N. Chopin (2007), Inference and model choice for sequentially ordered hidden Markov models, Journal of the
Royal Statistical Society B 69, 269.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from ..answers import Doubt, Estimate, bridge, cross_fitted
from ..history import Rows
from ..mixture.strata import weighed
from ..particles import Weights, systematic
from ._forward import filtered
from ._model import HiddenMarkovModel
from ._states import HiddenStates

#: States beyond which the sum over K! labellings would take too long.
MOST_STATES = 6
#: Sequences of states up to which all are summed, in a tenth of a second.
MOST_SEQUENCES = 20_000
#: Conditionals of q at most, draws of q for each of them, and successive draws of each chain.
MAX_CONDITIONALS, N_OF_CONDITIONAL, DRAWS_PER_CHAIN = 300, 4, 4
#: Standard errors by which halves may differ, and nats beside these.
HALVES_GAP_STD, HALVES_GAP_NATS = 3.0, 0.1
#: Particles at most and at least, and particles × rows between these.
MOST_PARTICLES, LEAST_PARTICLES, PARTICLE_ROWS = 500, 100, 250_000
#: Share of effective particles below which they are drawn anew, and sweeps that they move by then.
REDRAWN_SHARE, REDRAWN_SWEEPS = 0.5, 2
#: Rows that are weighed at a time: so many, or this share of those before.
MIN_WEIGHED_ROWS, WEIGHED_SHARE = 8, 0.3


class Walked(NamedTuple):
    """Log evidence and its variance, nats, and equally weighted particles (K, M, D) of all rows."""

    log_Z: float
    variance: float
    c: np.ndarray
    n_likelihoods: float


def walked(problem: HiddenStates, rng: np.random.Generator) -> Walked:
    """Particles from the prior to the last row."""
    model, n = problem.model, len(problem.F)
    K, t, log_Z, variance, spent = model.n_states, 0, 0.0, 0.0, 0.0
    c = model.draw(np.zeros((K, MOST_PARTICLES, model.n_coefficients)), rng)
    alpha, log_w = np.full((K, MOST_PARTICLES), 1 / K), np.zeros(MOST_PARTICLES)
    while t < n:
        size = min(n - t, max(MIN_WEIGHED_ROWS, int(WEIGHED_SHARE * t)))
        F, starts = problem.F[t : t + size], problem.starts[t : t + size]
        after, log_p = filtered(model.log_emissions(c, F), model.dynamics(c), starts, alpha)
        weights = [Weights(row) for row in log_w + np.cumsum(log_p, axis=0)]
        few = (i for i, w in enumerate(weights) if w.ess < REDRAWN_SHARE * w.M)
        last = next(few, size - 1)
        t, spent, w = t + last + 1, spent + size * len(log_w), weights[last]
        if w.ess >= REDRAWN_SHARE * w.M and t < n:
            alpha, log_w = after[-1], w.log_w
            continue
        log_Z, variance = log_Z + w.log_mean, variance + w.relative_variance
        size = int(np.clip(PARTICLE_ROWS / t, LEAST_PARTICLES, MOST_PARTICLES))
        so_far = problem.first(t)
        c = c[:, systematic(w.W, rng, size)]
        for _ in range(REDRAWN_SWEEPS):
            T, state = so_far.allocate(c, rng)
            c = problem.draw(T, rng)
        alpha = (state == np.arange(K)[:, None]).astype(float)
        log_w, spent = np.zeros(size), spent + 2 * REDRAWN_SWEEPS * t * size
    # variance of an evidence over that of its mean weights if particles had forgotten each other
    return Walked(log_Z, 2.0 * variance, c, spent)


class HiddenStatePosterior(NamedTuple):
    """Log evidence of a hidden Markov model, nats, and draws of its posterior."""

    log_evidence: float
    log_evidence_std: float
    theta: np.ndarray  #: (n_draws, d)
    in_use: np.ndarray  #: p(1 … K states have rows | x), (K,)
    doubt: Doubt | None = None  #: why the answer should not be trusted as it is
    n_likelihoods: float = 0.0  #: rows × points
    effective: float = 1.0  #: share of draws and chains that carry the bridge
    halves_gap: float = 0.0  #: nats that the halves differ by


def why_no_evidence(model: HiddenMarkovModel, n_rows: int) -> str | None:
    """The reason for which there is no evidence of so many rows; None if there is."""
    # rows · states² up to which there is an evidence, in an hour at most; 2000 rows take some seconds
    K, most = model.n_states, 1_000_000 / model.n_states**2
    if K > MOST_STATES:
        return f"n_states is {K}, and labellings are summed over up to {MOST_STATES} states"
    if K > 1 and n_rows > most:
        return f"{n_rows} rows are more than the {most:.0f} that {K} states can afford"
    return None


def hidden_state_evidence(
    model: HiddenMarkovModel, rows: Rows, rng: np.random.Generator, n_draws: int = 1000
) -> HiddenStatePosterior:
    """Evidence and draws of the posterior.

    ``rows.y`` says where sequences start; a row of nan is a step without observation.
    """
    problem = HiddenStates.of(model, rows)
    if model.n_states ** len(rows) <= MOST_SEQUENCES:
        return _summed(problem, rng, n_draws)
    rngs = rng.spawn(2)
    halves = [walked(problem, one) for one in rngs]
    length = max(DRAWS_PER_CHAIN, -(-n_draws // sum(half.c.shape[1] for half in halves)))
    chains = [_followed(problem, half.c, length, one) for half, one in zip(halves, rngs)]
    size = min(halves[0].c.shape[1], MAX_CONDITIONALS)
    T = [one[:, :size] for one, _ in chains]
    bridges = [
        _bridged(problem, T_other, c.reshape(len(c), length, -1, c.shape[2])[:, :DRAWS_PER_CHAIN, :size], one)
        for (_, c), T_other, one in zip(chains, reversed(T), rngs)
    ]
    log_Z, std, gap, effective, doubt = _combined(halves, bridges, size)
    T_all, c_all = (np.concatenate([one[i] for one in chains], axis=1) for i in (0, 1))
    chosen = np.linspace(0, c_all.shape[1] - 1, n_draws).astype(int)
    spent = sum(half.n_likelihoods for half in halves) + len(rows) * c_all.shape[1] * (2 + N_OF_CONDITIONAL)
    theta = model.in_order(model.flat(c_all[:, chosen]))
    return HiddenStatePosterior(log_Z, std, theta, _in_use(T_all), doubt, spent, effective, gap)


def _followed(
    problem: HiddenStates, c: np.ndarray, length: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """T and the points given these, of successive sweeps of chains, (K, length · C, D) each."""
    T, points = [], []
    for _ in range(length):
        T.append(problem.allocate(c, rng)[0])
        c = problem.draw(T[-1], rng)
        points.append(c)
    return np.concatenate(T, axis=1), np.concatenate(points, axis=1)


def _bridged(problem: HiddenStates, T: np.ndarray, chains: np.ndarray, rng: np.random.Generator) -> Estimate:
    """The bridge between conditionals given T and successive draws of chains (K, length, C, D)."""
    draws = problem.draw(np.repeat(T, N_OF_CONDITIONAL, axis=1), rng)
    log_q, _ = weighed(problem, draws, T)
    K, length, C, D = chains.shape
    log_p, _ = weighed(problem, chains.reshape(K, -1, D), T)
    log_p = np.maximum(log_p, log_p.max() - 1e4)
    return bridge(log_q, log_p.reshape(length, C))


def _combined(
    halves: list[Walked], bridges: list[Estimate], size: int
) -> tuple[float, float, float, float, Doubt | None]:
    """log Z and its standard error, what halves differ by, the share that carries bridges, and a doubt."""
    log_Z, std, half_gap = cross_fitted(*bridges)
    effective = min(min(one.n_effective for one in bridges) / size, 1.0)
    by_mean = np.array([half.log_Z for half in halves])
    gap = float(np.ptp(by_mean))
    error = 0.5 * np.sqrt(sum(half.variance for half in halves))
    # share of the draws and chains that carry a bridge which is trusted
    if effective >= 0.2 and half_gap <= max(HALVES_GAP_STD * std, HALVES_GAP_NATS):
        return log_Z, max(std, half_gap), 2 * half_gap, effective, None
    log_mean = float(np.logaddexp(*by_mean) - np.log(2))
    doubt, std = None, float(max(error, gap / 2))
    # standard error of the evidence, nats, beyond which it is doubted
    if gap > 2 * HALVES_GAP_STD * error or std > 1.0:
        doubt = Doubt(
            max(gap, std),
            f"the log evidence may be off by {max(gap, std):.1f} nats: the posterior has parts between which "
            f"chains hardly move, and two independent halves differ by {gap:.1f} nats",
        )
    return log_mean, std, gap, effective, doubt


def _summed(problem: HiddenStates, rng: np.random.Generator, n_draws: int) -> HiddenStatePosterior:
    """The sum over all sequences of states, of which one state has one."""
    model, K, n = problem.model, problem.model.n_states, len(problem.F)
    T = problem.statistics(np.array(list(product(range(K), repeat=n)), dtype=np.int16).reshape(K**n, n))
    log_p = problem.log_joint(T)
    log_Z = float(np.logaddexp.reduce(log_p))
    p = np.exp(log_p - log_Z)
    T = T[:, systematic(p / p.sum(), rng, n_draws)]
    theta = model.in_order(model.flat(problem.draw(T, rng)))
    return HiddenStatePosterior(log_Z, 0.0, theta, _in_use(T), n_likelihoods=float(n * len(p)))


def _in_use(T: np.ndarray) -> np.ndarray:
    """Shares of sequences with 1 … K states in use, by statistics (K, S, D), (K,)."""
    K, S, _ = T.shape
    has_rows = T[:, :, : K + 1].any(axis=2) | T[:, :, :K].any(axis=0).T
    return np.bincount(np.sum(has_rows, axis=0), minlength=K + 1)[1:] / S
