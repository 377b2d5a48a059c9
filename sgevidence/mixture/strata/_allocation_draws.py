r"""Allocations of rows to components: what they add up to, draws of them, and sums over their labels.

With z_r the component of row r, the complete data have sufficient statistics T_k = Σ_{z_r = k} F_r, and

    log p(x, z | θ) = Σ_k c_k(θ)·T_k,    p(z_r = k | θ, x) ∝ exp(c_k(θ)·F_r/u_r),

where u_r, the last feature, is what a row counts.  The components are exchangeable.  So are the labels of an
allocation, and the density of θ given an allocation whose labels have been lost is the average over all K! of
them, a permanent,

    p(θ | x, {z}) / p(θ) = (1/K!) Σ_π exp(Σ_k c_k·T_π(k)) / p(x, z) = perm[exp(c_k·T_l)] / (K! p(x, z)).

Such conditionals given all z_s with all components in use cover one stratum,

    q(θ) = (1/S) Σ_s (1/k!) Σ_π p(θ | x, π z_s),

against the stratum's target, whose integral is B_k,

    p(x | θ) p(θ) P(all in use | θ, x) Γ(ka + n)/Γ(ka).

The prior p(θ) cancels in the ratio, so that families of components need not be known here.  The average over
labellings is a permanent, done in full: basins and labels need not be told apart.

Symbols: ``T`` = statistics of S allocations, (K, S, q); c(θ) ``c`` = coefficients of M points, (K, M, q);
``F`` = features of the rows, as often as these count, (n, q); u ``F[:, -1]`` = what each row counts, (n,);
``terms`` = log p(θ_m | x, {z_s}) / (S p(θ_m)), (M, S); ``log_w`` = target over q at M points, (M,).

Permanents perm(A) = Σ_π Π_k A_{k π(k)} over all K! permutations are found for many matrices at once, by
adding one row after the other to the sums over sets of columns,

    f(C) = Σ_{j ∈ C} A_{|C| j} f(C \ {j}),      f(∅) = 1,      perm(A) = f(all),

K 2^(K−1) products instead of K! K, and no differences, so that nothing cancels (in Ryser's formula, as fast,
much does).

The entries are densities, each column divided by its largest.  Where two columns have it in the same row, as
when a component is nearly empty, every product may be too small for floating point, the largest not less
than the others.  So a permanent that comes out small is summed again from logarithms, at six times the cost,
if its largest product, found in the same way with max in the place of Σ, says that it matters.

Symbols: ``A`` = matrices (K, K, P), ``log_A`` their logarithms, ``C`` = set of columns as bits, ``f`` = its
sum (P,).

References
----------
J. Diebolt and C. P. Robert (1994), Estimation of finite mixture distributions through Bayesian sampling;
J. Marin, K. Mengersen and C. P. Robert (2005), Bayesian modelling and inference on mixtures of distributions.
"""

from collections.abc import Callable
from math import lgamma
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...models import pieces_in_cache
from ...particles import log_sum_exp

#: Nats below which a permutation or an allocation adds nothing to a sum: e⁻²⁵ of 300 terms is 4·10⁻⁹.
SMALL_TERM_NATS = 25.0
#: Numbers in one block of the matrix of coefficients against statistics, or rows: what fits the cache, and so
#: much that sums over sets of up to ten components are worth their thousands of steps.
BLOCK_NUMBERS = 250_000


def weighed(problem: Any, c: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log ω (M,) and terms (M, S) of points with coefficients c, nats; of allocations or hidden states."""
    terms = log_conditionals(problem, c, T)
    return problem.log_target(c) - log_sum_exp(terms, axis=1), terms


def log_conditionals(problem: Any, c: np.ndarray, T: np.ndarray) -> np.ndarray:
    """log [p(θ_m | x, {z_s}) / (S p(θ_m))] over Γ(ka + n)/Γ(ka), (M, S); T may be sums times a power."""
    log_p = -problem.log_joint(T) - lgamma(len(T) + 1) - np.log(T.shape[1])
    return problem.log_sum_over_labels(c, T, log_p)


def statistics(z: np.ndarray, F: np.ndarray, K: int) -> np.ndarray:
    """T of S allocations z (S, n) of n rows to K components, (K, S, q)."""
    members = z == np.arange(K, dtype=z.dtype)[:, None, None]
    return (members.reshape(-1, len(F)).astype(float) @ F).reshape(K, len(z), -1)


def counted_once(F: np.ndarray) -> np.ndarray:
    """Features of rows as if each counted once, (n, q)."""
    return F / F[:, -1:]


def sample_allocations(
    c: np.ndarray, F: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """z ~ p(z | θ, x) for M points, (M, n), its T (K, M, q), and Σ_r u_r log p(z_r | θ, x), (M,)."""
    K, M, q = c.shape
    # numbers in one block of responsibilities that allocations are drawn by: half the second cache.  The
    # system clears larger arrays at each request, which took half the time of a sweep of 1000 rows.
    x = counted_once(F).T
    z, T, log_sum = np.zeros((M, len(F)), dtype=np.int16), np.empty((K, M, q)), np.empty(M)
    for part in pieces_in_cache(M, K * len(F), 32_000):
        R = (c[:, part].reshape(-1, q) @ x).reshape(K, -1, len(F))
        top = R.max(axis=0)
        R -= top
        with np.errstate(over="ignore"):  # −10⁴⁰ is nothing, too
            C = np.exp(R.astype(np.float32))  # only which component it is hangs on it
        for k in range(1, K):  # in place: a fifth of the time of np.cumsum
            C[k] += C[k - 1]
        u = rng.random(C.shape[1:], dtype=np.float32) * C[-1]
        for k in range(K - 1):
            z[part] += C[k] <= u
        log_sum[part] = (top + np.log(C[-1])) @ F[:, -1]
        T[:, part] = statistics(z[part], F, K)
    return z, T, np.sum(c * T, axis=(0, 2)) - log_sum


def log_sum_over_labels(c: np.ndarray, T: np.ndarray, log_p: np.ndarray) -> np.ndarray:
    """log Σ_π exp(Σ_k c_k·T_π(k)) + log_p (S,) of points c (K, M, q) and allocations T (K, S, q), (M, S).

    The sum is a permanent.  Terms SMALL_TERM_NATS below the best one with the labels as they are
    enter by their upper bounds.
    """
    (K, M, _), S = c.shape, T.shape[1]
    out = np.empty((M, S))
    for part in pieces_in_cache(M, K * K * S, BLOCK_NUMBERS):
        L = c[:, None, part] @ T.transpose(0, 2, 1)  # (point's component, allocation's component, m, S)
        top, as_labelled = L.max(axis=0), np.einsum("kkms->ms", L) + log_p
        log_A = L - top
        with np.errstate(over="ignore"):
            A = np.exp(log_A.astype(np.float32))  # its errors are 10⁻⁷ of each term
        scale = top.sum(axis=0) + log_p
        # no permanent of positive numbers exceeds the product of the column sums
        out[part] = scale + np.log(A.sum(axis=0)).sum(axis=0)
        least = as_labelled.max(axis=1) - SMALL_TERM_NATS
        m, s = np.nonzero(out[part] > least[:, None])
        exact = log_permanent(log_A[:, :, m, s], A[:, :, m, s], least[m] - scale[m, s])
        out[part.start + m, s] = exact + scale[m, s]
    return out


#: A permanent below it may lack products.  With entries of at most 1 each that was lost is below 10⁻³⁷ in
#: single precision, and all 10! of them below 10⁻³⁰.
MIN_PERMANENT = 1e-25


def permanent(A: np.ndarray) -> np.ndarray:
    """Permanents of P matrices.

    Parameters
    ----------
    A : ndarray of shape (K, K, P)
        Not negative, and scaled so that products of K entries neither overflow nor vanish.

    Returns
    -------
    ndarray of shape (P,)

    Examples
    --------
    >>> import numpy as np
    >>> permanent(np.array([[1.0, 2.0], [3.0, 4.0]])[:, :, None])  # 1·4 + 2·3
    array([10.])
    """
    return _over_sets(A, np.multiply, np.add)


def log_permanent(log_A: np.ndarray, A: np.ndarray, least: ArrayLike = -np.inf) -> np.ndarray:
    """Log permanents of P matrices with entries of at most 1, however small.

    Parameters
    ----------
    log_A : ndarray of shape (K, K, P)
    A : ndarray of shape (K, K, P)
        exp(log_A), of single or double precision.
    least : float or ndarray of shape (P,), default=-inf
        Log permanents below this need not be exact: an upper bound that is below it, too, may be returned.

    Returns
    -------
    ndarray of shape (P,)

    Examples
    --------
    >>> import numpy as np
    >>> log_A = np.array([[0.0, 0.0], [-2000.0, -3000.0]])[:, :, None]
    >>> log_permanent(log_A, np.exp(log_A))  # both products are 0 in floating point
    array([-2000.])
    """
    with np.errstate(divide="ignore"):
        f = permanent(A)
        out = np.log(f, dtype=float)
    lost = np.flatnonzero(f < MIN_PERMANENT)
    if not len(lost):  # whose sums would take as many steps as those of some
        return out
    largest = _over_sets(log_A[:, :, lost].astype(np.float32), np.add, np.maximum)
    out[lost] = largest + lgamma(len(A) + 1)  # there are K! products
    lost = lost[out[lost] >= np.broadcast_to(least, f.shape)[lost]]
    if len(lost):
        out[lost] = _over_sets(log_A[:, :, lost], np.add, np.logaddexp)
    return out


def _over_sets(A: np.ndarray, times: Callable, plus: Callable) -> np.ndarray:
    """f(all), with the product and the sum of numbers or of their logarithms."""
    K = len(A)
    f = {1 << j: A[0, j] for j in range(K)}
    for row in range(1, K):
        larger: dict[int, np.ndarray] = {}
        for C, sum_C in f.items():
            for j in range(K):
                if C & 1 << j:
                    continue
                grown, term = C | 1 << j, times(A[row, j], sum_C)
                larger[grown] = plus(larger[grown], term) if grown in larger else term
        f = larger
    return f[2**K - 1]
