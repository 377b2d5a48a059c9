r"""Allocations that are Markov chains: the evidence of a hidden Markov model of K states.

Sweeps draw all states of a chain at once, by forward filtering and backward sampling, and then the parameters
given these (Chib 1996).  Empty states are left to the sweeps, whose prior for them is integrated by q as any
other: rows of transitions bring Γ(Ka + κ)/Γ(Ka + κ + N_i) each, so that sums over allocations with k states
in use depend on K, and each K is a walk of its own.  The search, the basins and the bridge are those of
mixtures.  The sum over labellings permutes transitions from and to, and is no permanent: it is formed term by
term.

Symbols
-------
=======  ============  ==============================================================
z        ``z``         states of S chains, (S, n)
T, c     ``T, c``      statistics and coefficients, see :class:`HiddenMarkovModel`
F        ``F``         features of rows, zeros without an observation, (n, q)
=======  ============  ==============================================================

References
----------
S. Frühwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models using
bridge sampling techniques, Econometrics Journal 7, 143.
"""

from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from ..history import Rows
from ..models import HiddenMarkovModel, filtered, sample_states
from ..particles import systematic
from ._allocation_draws import statistics
from ._doubts import doubt_of
from ._search import chosen, n_met, pooled, searched
from ._starts import starts
from ._stratum import LINEAGES, Stratum, with_empty_ones

#: States beyond which the sum over K! labellings would take too long.
MOST_STATES = 6
#: Sequences of states up to which all are summed, in a tenth of a second.
MOST_SEQUENCES = 20_000
#: Rows · states · numbers of each up to which an evidence takes about a minute or two.
MOST_NUMBERS = 1_000_000
#: Rows of the moving average beside the rows themselves, by which a search tells times apart.
WINDOW = 9
#: Lineages of each half at least, and rows of all of them up to which there are LINEAGES.
LEAST_LINEAGES, ROWS_AT_ONCE = 16, 40_000


class HiddenStates(NamedTuple):
    """Rows and the law of their states: the model, where sequences start (n,), features, and points."""

    model: HiddenMarkovModel
    starts: np.ndarray
    F: np.ndarray
    points: np.ndarray

    @classmethod
    def of(cls, model: HiddenMarkovModel, rows: Rows) -> "HiddenStates":
        """Of rows whose y says where sequences start."""
        assert rows.y is not None
        known = model.observed(rows.X)
        points = model.emission.points(rows.X[known]) if known.any() else np.zeros((0, 1))
        return cls(model, rows.y > 0, model.features(rows.X), _in_time(points, known))

    def statistics(self, z: np.ndarray, k: int) -> np.ndarray:
        """T of sequences of states, (k, S, D): transitions, first states, rows."""
        S, n = z.shape
        follows = np.flatnonzero(~self.starts)
        code = (np.arange(S)[:, None] * k + z[:, follows - 1]) * k + z[:, follows]
        N = np.bincount(code.ravel(), minlength=S * k * k).reshape(S, k, k).transpose(1, 0, 2)
        first = np.sum(z[:, self.starts] == np.arange(k)[:, None, None], axis=2)
        return np.concatenate([N, first[..., None], statistics(z, self.F, k)], axis=2)

    def draw(self, T: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One c ~ p(θ | x, z) of each sequence of states."""
        return self.model.draw(T, rng)

    def allocate(
        self, c: np.ndarray, z: np.ndarray, T: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """z ~ p(z | θ, x) and its T, wherever chains are, and log p(z | θ, x)."""
        new = [self._states(part, rng) for part in self._blocks(c)]
        z, log_p = np.concatenate([one[0] for one in new]), np.concatenate([one[1] for one in new])
        T = self.statistics(z, len(c))
        return z, T, np.sum(c * T, axis=(0, 2)) - log_p

    def decided(self, T: np.ndarray) -> "HiddenStates":
        """Itself: there is one kind of sweep."""
        return self

    def swept(
        self, z: np.ndarray, T: np.ndarray, c: np.ndarray | None, n_sweeps: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(z, T, c) so many sweeps on; c is the point that z was drawn given, and is not needed to go on."""
        for _ in range(max(n_sweeps, 1)):
            c = self.draw(T, rng)
            z, T, _ = self.allocate(c, z, T, rng)
        assert c is not None
        return z, T, c

    def log_joint(self, T: np.ndarray) -> np.ndarray:
        """log p(x, z) of sequences of states, (S,), nats."""
        return self.model.log_joint_of(T)

    def log_target(self, c: np.ndarray) -> np.ndarray:
        """log p(x | θ) of points, by the forward algorithm, (M,)."""
        parts = [
            filtered(self.model.log_emissions(part, self.F), self.model.dynamics(part), self.starts)[1]
            for part in self._blocks(c)
        ]
        return np.concatenate([log_p.sum(axis=0) for log_p in parts])

    def log_in_use(self, c: np.ndarray) -> np.ndarray:
        """Zeros: states may be empty."""
        return np.zeros(c.shape[1])

    def log_sum_over_labels(self, c: np.ndarray, T: np.ndarray, log_p: np.ndarray) -> np.ndarray:
        """log Σ_π p(x, π z | θ) + log_p, (M, S), labelling by labelling."""
        K, M, S = len(c), c.shape[1], T.shape[1]
        points, out = c.transpose(1, 0, 2).reshape(M, -1), np.full((M, S), -np.inf)
        for order in permutations(range(K)):
            relabelled = T[list(order)]
            relabelled[..., :K] = relabelled[..., list(order)]
            out = np.logaddexp(out, points @ relabelled.transpose(1, 0, 2).reshape(S, -1).T)
        return out + log_p

    def _states(self, c: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        log_e = self.model.log_emissions(c, self.F)
        return sample_states(log_e, self.model.dynamics(c), self.starts, rng)

    def _blocks(self, c: np.ndarray) -> list[np.ndarray]:
        """Points (k, m, D) of which a filter is a few megabytes."""
        size = self.model.block_size(len(self.F))
        return [c[:, start : start + size] for start in range(0, c.shape[1], size)]


class HiddenStatePosterior(NamedTuple):
    """Log evidence of a hidden Markov model, nats, and draws of its posterior."""

    log_evidence: float
    log_evidence_std: float
    theta: np.ndarray  #: (n_draws, d)
    in_use: np.ndarray  #: p(k states have rows | x), (K,)
    doubt: str | None  #: why the answer should not be trusted as it is
    n_likelihoods: float  #: rows × points
    effective: float  #: share of chains that carry the answer
    halves_gap: float  #: nats that the halves differ by


def hidden_state_evidence(
    model: HiddenMarkovModel, rows: Rows, rng: np.random.Generator, n_draws: int = 1000
) -> HiddenStatePosterior:
    """Evidence over all labellings of the states, and draws of the posterior.

    ``rows.y`` says where sequences start; a row of nan is a step without observation.
    """
    problem, K = HiddenStates.of(model, rows), model.n_states
    if K ** len(rows) <= MOST_SEQUENCES:
        return _summed(problem, rng, n_draws)
    rngs = rng.spawn(2)
    z, met, spent = _starts(problem, rngs)
    found = with_empty_ones(problem, K, z, rngs, met, spent)
    w = np.exp(found.log_w - found.log_w.max())
    c = found.points[:, systematic(w / w.sum(), rng, n_draws)]
    _, T, _ = problem.allocate(c, z[0], problem.statistics(z[0], K), rng)
    doubt, _ = doubt_of(model.emission, rows.X[model.observed(rows.X)], [found], np.ones(1), "states")
    return HiddenStatePosterior(
        log_evidence=found.log_B,
        log_evidence_std=found.std,
        theta=model.in_order(model.flat(problem.draw(T, rng))),
        in_use=_in_use(T),
        doubt=doubt,
        n_likelihoods=found.n_likelihoods,
        effective=found.effective,
        halves_gap=found.halves_gap,
    )


def why_too_long(model: HiddenMarkovModel, n_rows: int) -> str | None:
    """The reason for which there is no evidence of so many rows; None if there is."""
    K, most = model.n_states, MOST_NUMBERS / (model.n_states * model.n_coefficients)
    if K > MOST_STATES:
        return f"n_states is {K}, and labellings are summed over up to {MOST_STATES} states"
    if K > 1 and n_rows > most:
        return f"{n_rows} rows are more than the {most:.0f} that sweeps over {K} states can afford"
    return None


def _summed(problem: HiddenStates, rng: np.random.Generator, n_draws: int) -> HiddenStatePosterior:
    """The sum over all sequences of states, of which one state has one."""
    model, K, n = problem.model, problem.model.n_states, len(problem.F)
    z = np.array(list(product(range(K), repeat=n)), dtype=np.int16).reshape(-1, n)
    T = problem.statistics(z, K)
    log_p = problem.log_joint(T)
    log_Z = float(np.logaddexp.reduce(log_p))
    p = np.exp(log_p - log_Z)
    T = T[:, systematic(p / p.sum(), rng, n_draws)]
    theta = model.in_order(model.flat(problem.draw(T, rng)))
    return HiddenStatePosterior(log_Z, 0.0, theta, _in_use(T), None, float(n * len(z)), 1.0, 0.0)


def _in_use(T: np.ndarray) -> np.ndarray:
    """Shares of sequences with 1 … K states in use, by statistics (K, S, D), (K,)."""
    K, S, _ = T.shape
    has_rows = T[:, :, : K + 1].any(axis=2) | T[:, :, :K].any(axis=0).T
    return np.bincount(np.sum(has_rows, axis=0), minlength=K + 1)[1:] / S


def _starts(
    problem: HiddenStates, rngs: list[np.random.Generator]
) -> tuple[list[np.ndarray], int, int]:
    """States (L, n) where searches of either half have been, how many met the best, and their sweeps."""
    K, n = problem.model.n_states, len(problem.F)
    fewer = [starts(problem.points, K - 1, LEAST_LINEAGES, rng).astype(np.int16) for rng in rngs]
    halves = searched(problem, K, fewer, rngs)
    size = int(np.clip(ROWS_AT_ONCE / n, LEAST_LINEAGES, LINEAGES))
    spent = sum(one.n_sweeps for half in halves for one in half)
    return [chosen(pooled(half), K, size) for half in halves], n_met(halves), spent


def _in_time(points: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Points (n, ·) of all rows, those without observation between their neighbours, and moving averages."""
    n, at = len(known), np.flatnonzero(known)
    if not len(at):
        return np.zeros((n, 1))
    x = np.column_stack([np.interp(np.arange(n), at, column) for column in points.T])
    total = np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(x, axis=0)])
    low, high = np.maximum(np.arange(n) - WINDOW // 2, 0), np.minimum(np.arange(n) + WINDOW // 2 + 1, n)
    return np.column_stack([x, (total[high] - total[low]) / (high - low)[:, None]])
