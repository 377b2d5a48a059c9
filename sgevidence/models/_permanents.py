r"""Permanents: what is left of a density when nobody knows which component is which.

perm(A) = Σ_π Π_k A_{k π(k)} over all K! permutations, for many matrices at once, by adding one row after
the other to the sums over sets of columns,

    f(C) = Σ_{j ∈ C} A_{|C| j} f(C \ {j}),      f(∅) = 1,      perm(A) = f(all),

K 2^(K−1) products instead of K! K, and no differences, so that nothing cancels (in Ryser's formula, as fast,
much does).

Symbols: ``A`` = matrices (K, K, P), ``C`` = set of columns as bits, ``f`` = its sum (P,).
"""

import numpy as np


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
    K = len(A)
    f = {1 << j: A[0, j] for j in range(K)}
    for row in range(1, K):
        larger: dict[int, np.ndarray] = {}
        for C, sum_C in f.items():
            for j in range(K):
                if C & 1 << j:
                    continue
                grown = C | 1 << j
                if grown in larger:
                    larger[grown] += A[row, j] * sum_C
                else:
                    larger[grown] = A[row, j] * sum_C
        f = larger
    return f[2**K - 1]
