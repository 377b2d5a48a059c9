r"""The probability that all components have rows, given the parameters.

Rows go to components independently, with responsibilities r, so by inclusion and exclusion

    P(all in use | θ, x) = Σ_{S ⊆ components} (−1)^|S| Π_r (1 − Σ_{j ∈ S} r_rj).

A component that expects SURE rows is never empty to double precision, and sets with it are left out.

Symbols: ``R`` = responsibilities (k, M, n), ``c`` = coefficients (k, M, q), ``F`` = features of rows (n, q).
"""

import numpy as np

#: Expected rows from which a component is in use: it is empty with a probability below e⁻²⁵.
SURE = 25.0
#: Probability below which rounding of the sum may be all of it.
ROUNDING = 1e-12
#: Numbers in one block of responsibilities: what fits the cache.
BLOCK = 250_000


def log_likelihood_in_use(c: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log p(x | θ) and log P(all in use | θ, x) of M points, each (M,), nats."""
    k, M, q = c.shape
    log_p, log_in_use = np.empty(M), np.zeros(M)
    size = max(BLOCK // (k * len(F)), 1)
    for start in range(0, M, size):
        part = slice(start, start + size)
        R = (c[:, part].reshape(-1, q) @ F.T).reshape(k, -1, len(F))
        top = R.max(axis=0)
        R -= top
        with np.errstate(over="ignore"):  # −10⁴⁰ is nothing, too
            R = np.exp(R.astype(np.float32))  # relative errors of 10⁻⁷ of each row, and a third of the time
        total = R.sum(axis=0)
        log_p[part] = top.sum(axis=1) + np.log(total).sum(axis=1, dtype=float)
        R /= total
        log_in_use[part] = _log_in_use(R)
    return log_p, log_in_use


def _log_in_use(R: np.ndarray) -> np.ndarray:
    """log P(all in use) by responsibilities, (M,)."""
    expected = R.sum(axis=2, dtype=float)
    order, n_weak = np.argsort(expected, axis=0), np.sum(expected < SURE, axis=0)
    out = np.zeros(R.shape[1])
    for w in np.unique(n_weak[n_weak > 0]):
        m = np.flatnonzero(n_weak == w)
        out[m] = np.log(np.maximum(_all_met(R[order[:w, m], m].astype(float)), 1e-300))
    return np.where(out < np.log(ROUNDING), -np.inf, out)


def _all_met(R: np.ndarray) -> np.ndarray:
    """1 − P(some of these w components are empty), by responsibilities (w, m, n), (m,)."""

    def over_sets(j: int, left: np.ndarray) -> np.ndarray:
        """Σ over sets of the components from j on, with what rows leave to others than those before."""
        if j == len(R):
            return np.prod(left, axis=1)
        return over_sets(j + 1, left) - over_sets(j + 1, np.maximum(left - R[j], 0.0))

    return over_sets(0, np.ones(R.shape[1:]))
