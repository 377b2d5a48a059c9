r"""All components have rows: with what probability, given the parameters, and allocations of that kind.

Rows go to components independently, with responsibilities r, so by inclusion and exclusion

    P(all in use | θ, x) = Σ_{S ⊆ components} (−1)^|S| Π_r (1 − Σ_{j ∈ S} r_rj).

A component that expects SURE_ROWS rows is never empty to double precision, and sets with it are left out.

Symbols: ``R`` = responsibilities (k, M, n), ``c`` = coefficients (k, M, q), ``F`` = features of rows (n, q),
``x, u`` = these once, and how often rows count.
"""

import numpy as np

from ...models import pieces_in_cache
from ...particles import log_sum_exp
from ._allocation_draws import BLOCK_NUMBERS, counted_once, sample_allocations, statistics

#: Expected rows from which a component is in use: it is empty with a probability below e⁻²⁵.
SURE_ROWS = 25.0


def log_likelihood_in_use(c: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log p(x | θ) and log P(all in use | θ, x) of M points, each (M,), nats."""
    (k, M, q), (x, u) = c.shape, (counted_once(F), F[:, -1])
    log_p, log_in_use = np.empty(M), np.zeros(M)
    for part in pieces_in_cache(M, k * len(F), BLOCK_NUMBERS):
        R = (c[:, part].reshape(-1, q) @ x.T).reshape(k, -1, len(F))
        top = R.max(axis=0)
        R -= top
        with np.errstate(over="ignore"):  # −10⁴⁰ is nothing, too
            R = np.exp(R.astype(np.float32))  # relative errors of 10⁻⁷ of each row, and a third of the time
        total = R.sum(axis=0)
        log_p[part] = top @ u + np.log(total) @ u
        R /= total
        log_in_use[part] = _log_in_use(R)
    return log_p, log_in_use


def _log_in_use(R: np.ndarray) -> np.ndarray:
    """log P(all in use) by responsibilities, (M,)."""
    expected = R.sum(axis=2, dtype=float)
    order, n_weak = np.argsort(expected, axis=0), np.sum(expected < SURE_ROWS, axis=0)
    out = np.zeros(R.shape[1])
    for w in np.unique(n_weak[n_weak > 0]):
        m = np.flatnonzero(n_weak == w)
        out[m] = np.log(np.maximum(_all_met(R[order[:w, m], m].astype(float)), 1e-300))
    # probability below which rounding of the sum may be all of it
    return np.where(out < np.log(1e-12), -np.inf, out)


def _all_met(R: np.ndarray) -> np.ndarray:
    """1 − P(some of these w components are empty), by responsibilities (w, m, n), (m,)."""

    def over_sets(j: int, left: np.ndarray) -> np.ndarray:
        """Σ over sets of the components from j on, with what rows leave to others than those before."""
        if j == len(R):
            return np.prod(left, axis=1)
        return over_sets(j + 1, left) - over_sets(j + 1, np.maximum(left - R[j], 0.0))

    return over_sets(0, np.ones(R.shape[1:]))


def sample_in_use(c: np.ndarray, F: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """T (k, M, q) of one allocation z ~ p(z | θ, x, all in use) for each of M points.

    Where the first draw of z leaves a component without rows, each component j that expects less than one
    row is given a row of its own, r ∝ R_jr, and all others are drawn as before.  Such a z has a probability
    in proportion to p(z | θ, x) Π_j n_j, so that it is accepted with Π_j 1/n_j.
    """
    T = sample_allocations(c, F, rng)[1]
    bad = np.flatnonzero(np.any(T[..., -1] == 0, axis=0))
    for part in pieces_in_cache(len(bad), len(c) * len(F), BLOCK_NUMBERS):
        T[:, bad[part]] = statistics(_with_rows_of_their_own(c[:, bad[part]], F, rng), F, len(c))
    return T


def _with_rows_of_their_own(c: np.ndarray, F: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """z (M, n) of points whose components are hardly all in use."""
    log_p = c @ counted_once(F).T
    R = np.exp(log_p - log_sum_exp(log_p, axis=0))
    (k, M, n), expected = R.shape, R.sum(axis=2)
    below, rows = np.cumsum(R, axis=0), np.cumsum(R, axis=2)
    out, left = np.zeros((M, n), dtype=np.int16), np.arange(M)
    # draws of an allocation for one point: (1 − 1/e)^k of them are accepted, or more, unless two components
    # want the same row
    for _ in range(1000):
        z = np.sum(rng.random((len(left), n)) >= below[:-1, left], axis=0).astype(np.int16)
        own = np.sum(rng.random((k, len(left), 1)) * rows[:, left, -1:] >= rows[:, left], axis=2)
        own = np.where(expected[:, left] < 1.0, np.minimum(own, n - 1), -1)
        for j in range(k):
            m = np.flatnonzero(own[j] >= 0)
            z[m, own[j, m]] = j
        n_of = np.sum(z == np.arange(k)[:, None, None], axis=2)
        wanted = np.sort(own, axis=0)  # −1 where a component needs no row of its own
        met = np.all(n_of > 0, axis=0) & np.all((wanted[1:] != wanted[:-1]) | (wanted[1:] < 0), axis=0)
        accepted = met & (
            rng.random(len(left)) < 1 / np.prod(np.where(own >= 0, np.maximum(n_of, 1), 1), axis=0)
        )
        out[left] = z  # of the last attempt, if none is accepted
        left = left[~accepted]
        if not len(left):
            break
    return out
