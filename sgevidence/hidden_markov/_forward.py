r"""The forward algorithm of hidden Markov models, for many parameters at once, and what follows from it.

    α_t(j) = p(z_t = j | y_1..t) ∝ e_t(j) Σ_i α_{t−1}(i) A_ij,
    p(y_t | y_<t) = Σ_j e_t(j) Σ_i α_{t−1}(i) A_ij,

and where a sequence starts the sum is the initial distribution.  Backward sampling draws z_T ~ α_T, then
p(z_t = i | z_{t+1} = j, y) ∝ α_t(i) A_ij (Chib 1996), by one array of random numbers: the state of a row is
drawn for each state of the next row, all rows at once, and the loop over time only looks it up.  A pass is a
loop over time in Python, side by side for M parameters, which a hundred of them make as fast as a loop over
rows in C.

Symbols: ``e`` = emission densities, divided by their largest, (n, K, M); ``A`` = transition probabilities,
from and to, (K, K, M); π ``initial`` = probabilities of the first state, (K, M); α ``alpha`` = filter, (n, K,
M); s ``starts`` = whether a sequence starts at t, (n,).

References
----------
L. R. Rabiner (1989), A tutorial on hidden Markov models and selected applications in speech recognition;
S. Chib (1996), Calculating posterior distributions and modal estimates in Markov mixture models.
"""

from typing import NamedTuple

import numpy as np

#: Least probability of a transition: none is lost to rounding, and e⁻⁵⁷⁵ is nothing.
LEAST_TRANSITION = 1e-250


class Dynamics(NamedTuple):
    """Transitions (K, K, M), or (n, K, K, M) of each row, and the initial distribution (K, M)."""

    A: np.ndarray
    initial: np.ndarray

    @classmethod
    def of(cls, log_A: np.ndarray, log_initial: np.ndarray) -> "Dynamics":
        """From logarithms (K, M, K), from and to, or (n, K, M, K), and (K, M)."""
        A = np.maximum(np.exp(log_A.swapaxes(-1, -2)), LEAST_TRANSITION)
        return cls(np.ascontiguousarray(A), np.maximum(np.exp(log_initial), LEAST_TRANSITION))

    def into(self, n: int) -> np.ndarray:
        """Transitions into each of n rows, (n, K, K, M)."""
        return np.broadcast_to(self.A, (n, *self.A.shape[-3:]))


def scaled(log_e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """e (n, K, M) and the logarithm of the largest density of each row, (n, M)."""
    top = log_e.max(axis=1)
    return np.exp(log_e - top[:, None]), top


def filtered(
    log_e: np.ndarray, chain: Dynamics, starts: np.ndarray, before: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """α (n, K, M) and log p(y_t | y_<t) (n, M); ``before`` is the filter before the first row, (K, M)."""
    e, top = scaled(log_e)
    alpha, total = np.empty(e.shape), np.empty((len(e), e.shape[2]))
    alpha_before = np.full(e.shape[1:], 1 / e.shape[1]) if before is None else before
    A, product = chain.into(len(e)), np.empty(chain.A.shape[-3:])
    for t, begins in enumerate(starts.tolist()):
        a = alpha[t]
        if begins:
            a[...] = chain.initial
        else:
            np.multiply(alpha_before[:, None], A[t], out=product)
            np.add.reduce(product, axis=0, out=a)
        a *= e[t]
        np.add.reduce(a, axis=0, out=total[t])
        a /= total[t]
        alpha_before = a
    return alpha, np.log(total) + top


def smoothed(alpha: np.ndarray, chain: Dynamics, starts: np.ndarray) -> np.ndarray:
    """p(z_t | all rows) (n, K, M), from the filter (Kim 1994)."""
    out, into = alpha.copy(), chain.into(len(alpha))
    for t in range(len(alpha) - 2, -1, -1):
        if not starts[t + 1]:
            A = into[t + 1]
            predicted = np.sum(alpha[t][:, None] * A, axis=0)
            out[t] = alpha[t] * np.sum(A * (out[t + 1] / np.maximum(predicted, LEAST_TRANSITION)), axis=1)
    return out


def most_probable_path(log_e: np.ndarray, log_A: np.ndarray, log_initial: np.ndarray, starts: np.ndarray):
    """States (n,) that maximise log p(y, z) of one parameter, and its value (Viterbi 1967)."""
    n, K = log_e.shape
    log_A = np.broadcast_to(log_A, (n, K, K))
    back, best = np.zeros((n, K), dtype=np.intp), np.zeros(K)
    for t in range(n):
        ways = best[:, None] + (np.broadcast_to(log_initial, (K, K)) if starts[t] else log_A[t])
        back[t] = np.argmax(ways, axis=0)
        best = ways[back[t], np.arange(K)] + log_e[t]
    z = np.empty(n, dtype=np.intp)
    state = int(np.argmax(best))
    for t in range(n - 1, -1, -1):
        z[t], state = state, int(back[t, state])
    return z, float(best.max())


def sample_states(
    log_e: np.ndarray, chain: Dynamics, starts: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """z ~ p(z | θ, y) of M parameters, (n, M), and log p(y | θ), (M,)."""
    n, K, M = log_e.shape
    alpha, log_p = filtered(log_e, chain, starts)
    drawn, m = _states_before(alpha, chain, starts, rng.random((n, M))).reshape(n, K * M), np.arange(M)
    z = np.empty((n, M), dtype=np.intp)
    z[-1] = drawn[-1, :M]
    for t in range(n - 2, -1, -1):
        drawn[t].take(z[t + 1] * M + m, out=z[t])
    return z, log_p.sum(axis=0)


def _states_before(alpha: np.ndarray, chain: Dynamics, starts: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The state drawn at t if that of row t + 1 were j, for all rows and j at once, by u (n, M), (n, K, M).

    It does not depend on j in the last row of a sequence.
    """
    n, K, M = alpha.shape
    drawn = np.zeros((n, K, M), dtype=np.intp)
    follows = np.flatnonzero(~np.append(starts[1:], True))
    ends = np.flatnonzero(np.append(starts[1:], True))
    whole = len(follows) == n - 1
    weights, edges = (alpha[:-1], u[:-1]) if whole else (alpha[follows], u[follows])
    A, next_rows = chain.into(n), slice(1, None) if whole else follows + 1
    for j in range(K):
        below = [weights[:, 0] * A[next_rows, 0, j]]
        for i in range(1, K):
            below.append(below[-1] + weights[:, i] * A[next_rows, i, j])
        edge = edges * below[-1]
        which = np.zeros(edge.shape, dtype=np.intp)
        for i in range(K - 1):
            which += below[i] <= edge
        drawn[slice(n - 1) if whole else follows, j] = which
    below_end = np.cumsum(alpha[ends], axis=1)
    edge = u[ends] * below_end[:, -1]
    drawn[ends] = np.sum(below_end[:, :-1] <= edge[:, None], axis=1)[:, None]
    return drawn
