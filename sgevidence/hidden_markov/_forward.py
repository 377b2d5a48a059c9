r"""The forward algorithm of hidden Markov models, for many parameters at once, and what follows from it.

    α_t(j) = p(z_t = j | y_1..t) ∝ e_t(j) Σ_i α_{t−1}(i) A_ij,
    p(y_t | y_<t) = Σ_j e_t(j) Σ_i α_{t−1}(i) A_ij,

and where a sequence starts the sum is the initial distribution.  Backward sampling draws z_T ~ α_T, then
p(z_t = i | z_{t+1} = j, y) ∝ α_t(i) A_ij (Chib 1996), by one array of random numbers: the state of a row is
drawn for each state of the next row, all rows at once, and the loop over time only looks it up.  A pass is a
loop over time in Python, side by side for M parameters, which a hundred of them make as fast as a loop over
rows in C.  Of few parameters, blocks of rows are passed side by side, once from each state, which says how
each block turns the filter before it into that after it, and once more from the filters that follow.  States
are looked up in the same way.

Symbols: ``e`` = emission densities, divided by their largest, (n, K, M); ``A`` = transition probabilities,
from and to, (K, K, M); π ``initial`` = probabilities of the first state, (K, M); α ``alpha`` = filter, (n, K,
M); B = number of blocks, of L steps; s ``starts`` = whether a sequence starts at t, (n,).

References
----------
L. R. Rabiner (1989), A tutorial on hidden Markov models and selected applications in speech recognition;
S. Chib (1996), Calculating posterior distributions and modal estimates in Markov mixture models.
"""

from typing import Any, NamedTuple

import numpy as np

#: Least probability of a transition: none is lost to rounding, and e⁻⁵⁷⁵ is nothing.
LEAST_TRANSITION = 1e-250
#: Numbers of a step of all blocks, states × points, above which arithmetic takes longer than the call; and
#: blocks from which the second pass over their rows is worth it.
SIDE_BY_SIDE_NUMBERS, LEAST_BLOCKS = 1500, 4


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
    n, K, M = e.shape
    before = np.full((K, M), 1 / K) if before is None else before
    B = n_blocks(n, K, M) if chain.A.ndim == 3 else 1
    if B > 1:
        alpha, total = _filtered_by_blocks(e, chain, starts, before, B)
    else:
        alpha, total = np.empty(e.shape), np.empty((n, M))
        _pass(e, chain.into(n), chain.initial, starts[:, None], before, alpha, total)
    return alpha, np.log(total) + top


def n_blocks(n: int, K: int, M: int) -> int:
    """Blocks of rows that are passed side by side: of few points, a step of the loop costs most."""
    B = SIDE_BY_SIDE_NUMBERS // (K * M)
    return B if B >= LEAST_BLOCKS and n >= 4 * B else 1


def _pass(
    e: np.ndarray,
    A: np.ndarray,
    initial: np.ndarray,
    starts: np.ndarray,
    before: np.ndarray,
    alpha: np.ndarray,
    total: np.ndarray,
) -> np.ndarray:
    """The last filter; all are left in ``alpha`` if it has a place for each row, Σ e α A in ``total``."""
    some, every = np.any(starts, axis=1), np.all(starts, axis=1)
    for t in range(len(e)):
        a = alpha[t % len(alpha)]
        if every[t]:
            a[...] = initial
        else:
            np.einsum("im,ijm->jm", before, A[t], out=a)
            if some[t]:
                np.copyto(a, initial, where=starts[t])
        a *= e[t]
        np.add.reduce(a, axis=0, out=total[t])
        a /= total[t]
        before = a
    return before


def _filtered_by_blocks(
    e: np.ndarray, chain: Dynamics, starts: np.ndarray, before: np.ndarray, B: int
) -> tuple[np.ndarray, np.ndarray]:
    """α and Σ e α A: what blocks of rows hold from each state before them says where all blocks start."""
    n, K, M = e.shape
    blocks, begins = in_blocks(e, B, 1.0), np.repeat(in_blocks(starts[:, None], B, False), M, axis=1)
    L = len(blocks)
    from_each, total = np.repeat(np.eye(K), B * M, axis=1), np.empty((L, K * B * M))
    last = _pass(
        np.tile(blocks, K),
        np.broadcast_to(np.tile(chain.A, K * B), (L, K, K, K * B * M)),
        np.tile(chain.initial, K * B),
        np.tile(begins, K),
        from_each,
        np.empty((2, K, K * B * M)),
        total,
    ).reshape(K, K, B, M)
    log_p = np.log(total).sum(axis=0).reshape(K, B, M)
    weights, first = np.exp(log_p - log_p.max(axis=0)), np.empty((K, B, M))
    for b in range(B):
        first[:, b] = before
        before = np.einsum("im,jim->jm", before * weights[:, b], last[:, :, b])
        before = before / before.sum(axis=0)
    alpha, total = np.empty(blocks.shape), np.empty((L, B * M))
    A = np.broadcast_to(np.tile(chain.A, B), (L, K, K, B * M))
    _pass(blocks, A, np.tile(chain.initial, B), begins, first.reshape(K, -1), alpha, total)
    return in_rows(alpha, n, B), in_rows(total, n, B)


def in_blocks(x: np.ndarray, B: int, filling: Any) -> np.ndarray:
    """Rows (n, …, M) as steps of B blocks side by side, (L, …, B M), after the last row ``filling``."""
    L = -(-len(x) // B)
    padded = np.full((B * L, *x.shape[1:]), filling, dtype=x.dtype)
    padded[: len(x)] = x
    steps = np.moveaxis(padded.reshape(B, L, *x.shape[1:]), 0, -2)
    return np.ascontiguousarray(steps).reshape(L, *x.shape[1:-1], -1)


def in_rows(x: np.ndarray, n: int, B: int) -> np.ndarray:
    """The n rows (n, …, M) of steps of blocks."""
    rows = np.moveaxis(x.reshape(*x.shape[:-1], B, -1), -2, 0)
    return rows.reshape(-1, *rows.shape[2:])[:n]


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
    drawn = _states_before(alpha, chain, starts, rng.random((n, M)))
    return _followed(drawn, n_blocks(n, K, M)), log_p.sum(axis=0)


def _followed(drawn: np.ndarray, B: int) -> np.ndarray:
    """z (n, M) by the state of each row for each state of the next row, (n, K, M), blocks side by side."""
    n, K, M = drawn.shape
    steps = in_blocks(drawn, B, 0)  # what follows the last row has no meaning, which does not depend on it
    L, W = len(steps), B * M
    z, flat, m = np.empty((L, K, W), dtype=np.intp), steps.reshape(L, K * W), np.arange(W)
    z[-1] = steps[-1]
    for t in range(L - 2, -1, -1):
        flat[t].take(z[t + 1] * W + m, out=z[t])
    z = z.reshape(L, K, B, M)
    ends, m = np.zeros((B, M), dtype=np.intp), np.arange(M)
    for b in range(B - 2, -1, -1):
        ends[b] = z[0, ends[b + 1], b + 1, m]
    return in_rows(np.take_along_axis(z, ends[None, None], axis=1)[:, 0].reshape(L, W), n, B)


def _states_before(alpha: np.ndarray, chain: Dynamics, starts: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The state drawn at t if that of row t + 1 were j, for all rows and j at once, by u (n, M), (n, K, M).

    It does not depend on j in the last row of a sequence.
    """
    n, K, M = alpha.shape
    drawn = np.zeros((n, K, M), dtype=np.intp)
    A = chain.into(n)[1:]
    for j in range(K):
        below = [alpha[:-1, 0] * A[:, 0, j]]
        for i in range(1, K):
            below.append(below[-1] + alpha[:-1, i] * A[:, i, j])
        edge = u[:-1] * below[-1]
        which = np.zeros(edge.shape, dtype=np.intp)
        for i in range(K - 1):
            which += below[i] <= edge
        drawn[:-1, j] = which
    ends = np.append(starts[1:], True)
    below_end = np.cumsum(alpha[ends], axis=1)
    edge = u[ends] * below_end[:, -1]
    drawn[ends] = np.sum(below_end[:, :-1] <= edge[:, None], axis=1)[:, None]
    return drawn
