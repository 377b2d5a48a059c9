r"""The forward algorithm of hidden Markov models, for many parameters at once, and what follows from it.

    α_t(j) = p(z_t = j | y_1..t) ∝ e_t(j) Σ_i α_{t−1}(i) A_ij,
    p(y_t | y_<t) = Σ_j e_t(j) Σ_i α_{t−1}(i) A_ij,

and where a sequence starts the sum is the initial distribution.  Backward sampling draws z_T ~ α_T and then
p(z_t = i | z_{t+1} = j, y) ∝ α_t(i) A_ij (Chib 1996).  A pass is a loop over time in Python, so that the few
chains of a Gibbs sampler cut the series into G segments, which are gone through side by side: the transfer
matrices of the segments say what states are at their ends, and the rest is independent given these.

Symbols
-------
=====  ============  ==================================================================
e      ``e``         emission densities, divided by their largest, (n, K, M)
A      ``A``         transition probabilities, from and to, (K, K, M)
π      ``initial``   probabilities of the first state, (K, M)
α      ``alpha``     filter, (n, K, M); in segments (L, K, G, M)
s      ``starts``    whether a sequence starts at t, (n,)
=====  ============  ==================================================================

References
----------
L. R. Rabiner (1989), A tutorial on hidden Markov models and selected applications in speech recognition;
S. Chib (1996), Calculating posterior distributions and modal estimates in Markov mixture models.
"""

from typing import NamedTuple

import numpy as np

#: Least probability of a transition: none is lost to rounding, and e⁻⁵⁷⁵ is nothing.
TINY = 1e-250
#: Chains × segments that are gone through side by side, and rows of a segment at least.
LANES, SHORTEST = 1000, 25


class Dynamics(NamedTuple):
    """Transitions (K, K, M) and the initial distribution (K, M) of M parameters."""

    A: np.ndarray
    initial: np.ndarray

    @classmethod
    def of(cls, log_A: np.ndarray, log_initial: np.ndarray) -> "Dynamics":
        """From logarithms (K, M, K), from and to, and (K, M)."""
        A = np.maximum(np.exp(log_A.transpose(0, 2, 1)), TINY)
        return cls(np.ascontiguousarray(A), np.maximum(np.exp(log_initial), TINY))


def scaled(log_e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """e (n, K, M) and the logarithm of the largest density of each row, (n, M)."""
    top = log_e.max(axis=1)
    return np.exp(log_e - top[:, None]), top


def filtered(
    log_e: np.ndarray, chain: Dynamics, starts: np.ndarray, before: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """α (n, K, M) and log p(y_t | y_<t) (n, M); ``before`` is the filter before the first row, (K, M)."""
    e, top = scaled(log_e)
    first = np.full(e.shape[1:], 1 / e.shape[1]) if before is None else before
    alpha, total = _forward(e, chain.A, chain.initial, starts[:, None], first)
    return alpha, np.log(total) + top


def smoothed(alpha: np.ndarray, chain: Dynamics, starts: np.ndarray) -> np.ndarray:
    """p(z_t | all rows) (n, K, M), from the filter (Kim 1994)."""
    out = alpha.copy()
    for t in range(len(alpha) - 2, -1, -1):
        if not starts[t + 1]:
            predicted = np.sum(alpha[t][:, None] * chain.A, axis=0)
            out[t] = alpha[t] * np.sum(chain.A * (out[t + 1] / np.maximum(predicted, TINY)), axis=1)
    return out


def most_probable_path(log_e: np.ndarray, log_A: np.ndarray, log_initial: np.ndarray, starts: np.ndarray):
    """States (n,) that maximise log p(y, z) of one parameter, and its value (Viterbi 1967)."""
    n, K = log_e.shape
    back, best = np.zeros((n, K), dtype=np.intp), np.zeros(K)
    for t in range(n):
        ways = best[:, None] + (np.broadcast_to(log_initial, (K, K)) if starts[t] else log_A)
        back[t] = np.argmax(ways, axis=0)
        best = ways[back[t], np.arange(K)] + log_e[t]
    z = np.empty(n, dtype=np.intp)
    state = int(np.argmax(best))
    for t in range(n - 1, -1, -1):
        z[t], state = state, int(back[t, state])
    return z, float(best.max())


def sample_states(
    log_e: np.ndarray, chain: Dynamics, starts: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """z ~ p(z | θ, y) of M parameters, (M, n)."""
    (n, K, M), (A, initial) = log_e.shape, chain
    e, _ = scaled(log_e)
    G = int(np.clip(LANES // M, 1, max(n // SHORTEST, 1)))
    L = -(-n // G)
    rest = G * L - n  # steps without a row at the end
    e = np.concatenate([e, np.ones((rest, K, M))]).reshape(G, L, K, M).transpose(1, 2, 0, 3)
    e = np.ascontiguousarray(e)
    s = np.concatenate([starts, np.zeros(rest, dtype=bool)]).reshape(G, L).T
    A, initial, before = A[:, :, None], initial[:, None], np.full((K, G, M), 1 / K)
    z, m = np.empty((L, G, M), dtype=np.intp), np.arange(M)
    if G > 1:
        z[-1] = _ends(_transfers(e, A, initial, s), rng)
        before[:, 1:] = z[-1, :-1] == np.arange(K)[:, None, None]
    alpha, _ = _forward(e, A, initial, s, before)
    if G == 1:
        z[-1] = _drawn(alpha[-1], rng)
    A, cut = A[:, :, 0], set(np.flatnonzero(s.any(axis=1)).tolist())
    for t in range(L - 2, -1, -1):
        to_next = A[:, z[t + 1], m]
        if t + 1 in cut:
            to_next[:, s[t + 1]] = 1.0
        z[t] = _drawn(alpha[t] * to_next, rng)
    states = z.transpose(2, 1, 0).reshape(M, G * L)[:, :n]
    return states.astype(np.int16)


def _ends(W: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """States at the ends of G segments (G, M), by their transfer matrices (K, K, G, M)."""
    K, _, G, M = W.shape
    alpha, z, before = np.empty((G, K, M)), np.empty((G, M), dtype=np.intp), np.full((K, M), 1 / K)
    for g in range(G):
        alpha[g] = np.sum(before[:, None] * W[:, :, g], axis=0)
        alpha[g] /= alpha[g].sum(axis=0)
        before = alpha[g]
    z[-1] = _drawn(alpha[-1], rng)
    for g in range(G - 2, -1, -1):
        z[g] = _drawn(alpha[g] * W[:, z[g + 1], g + 1, np.arange(M)], rng)
    return z


def _forward(
    e: np.ndarray, A: np.ndarray, initial: np.ndarray, starts: np.ndarray, before: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Filter and p(y_t | y_<t), for e (L, K, ..., G, M), or (L, K, M) with starts (L, 1)."""
    alpha, total = np.empty((len(e), *before.shape)), np.empty((len(e), *before.shape[1:]))
    begins, all_begin = np.any(starts, axis=1).tolist(), np.all(starts, axis=1).tolist()
    product = np.empty(np.broadcast_shapes(before[:, None].shape, A.shape))
    for t in range(len(e)):
        a = alpha[t]
        if all_begin[t]:
            a[...] = initial
        else:
            np.multiply(before[:, None], A, out=product)
            np.sum(product, axis=0, out=a)
            if begins[t]:
                a[..., starts[t], :] = initial
        a *= e[t]
        np.sum(a, axis=0, out=total[t])
        a /= total[t]
        before = a
    return alpha, total


def _transfers(e: np.ndarray, A: np.ndarray, initial: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """p(state at the end of a segment, its rows | state before it), up to a factor, (K, K, G, M)."""
    _, K, G, M = e.shape
    before = np.broadcast_to(np.eye(K)[:, :, None, None], (K, K, G, M))  # (to, from)
    alpha, total = _forward(e[:, :, None], A[:, :, None], initial[:, None], starts, before)
    log_p = np.log(total).sum(axis=0)  # (from, G, M)
    return (alpha[-1] * np.exp(log_p - log_p.max(axis=0))).transpose(1, 0, 2, 3)


def _drawn(w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """States in proportion to weights (K, ...)."""
    below = np.cumsum(w, axis=0)
    u = rng.random(w.shape[1:]) * below[-1]
    return np.sum(below[:-1] <= u, axis=0)
