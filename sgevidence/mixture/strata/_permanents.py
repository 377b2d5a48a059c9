r"""Permanents: what is left of a density when nobody knows which component is which.

perm(A) = Σ_π Π_k A_{k π(k)} over all K! permutations, for many matrices at once, by adding one row after
the other to the sums over sets of columns,

    f(C) = Σ_{j ∈ C} A_{|C| j} f(C \ {j}),      f(∅) = 1,      perm(A) = f(all),

K 2^(K−1) products instead of K! K, and no differences, so that nothing cancels (in Ryser's formula, as fast,
much does).

The entries are densities, each column divided by its largest.  Where two columns have it in the same row, as
when a component is nearly empty, every product may be too small for floating point, the largest not less
than the others.  So a permanent that comes out small is summed again from logarithms, at six times the cost,
if its largest product, found in the same way with max in the place of Σ, says that it matters.

Symbols: ``A`` = matrices (K, K, P), ``log_A`` their logarithms, ``C`` = set of columns as bits, ``f`` = its
sum (P,).
"""

from collections.abc import Callable
from math import lgamma

import numpy as np
from numpy.typing import ArrayLike

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
