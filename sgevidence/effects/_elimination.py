r"""Products of the other columns that the levels of one term take away, Σ_l B_lᵀ K_l B_l.

K has few numbers for each of M hyperparameters and L levels, and the products of pairs of columns of B do not
change, so that the sum is one product of matrices, (M, L) times (L, pairs): with BLAS, or sparse where most
pairs of columns have no level in common.

Symbols
-------
=========  =============  ==================================================
B          ``B``          products with the other columns, (L, q, w)
K          ``K``          (q, q, M, L), symmetric
i, j       ``i, j``       pairs of columns, each once
=========  =============  ==================================================
"""

from itertools import combinations_with_replacement

import numpy as np
from scipy.sparse import csr_array

#: Share of the pairs that are not zero up to which a sparse product takes less time than BLAS.
MAX_SPARSE_SHARE = 0.04
#: Numbers of pairs at a time: 16 MB.
MAX_PAIR_NUMBERS = 2_000_000


class Elimination:
    """Σ_l B_lᵀ K_l B_l of one B and many K."""

    def __init__(self, B: np.ndarray) -> None:
        self.B, (L, q, w) = B, B.shape
        self.terms = list(combinations_with_replacement(range(q), 2))
        level, column = np.nonzero(np.any(B != 0, axis=1))
        count = np.bincount(level, minlength=L)
        self.sparse: list[csr_array] = []
        if count @ (count + 1) >= MAX_SPARSE_SHARE * L * w * (w + 1):
            self.i, self.j = np.triu_indices(w)
            return
        of_level = count[level]  # pairs of each entry with all of its level
        first = np.repeat(np.arange(len(level)), of_level)
        begin = np.cumsum(of_level) - of_level - (np.cumsum(count) - count)[level]
        second = np.arange(len(first)) - begin[first]
        first, second = first[second >= first], second[second >= first]
        cells, cell = np.unique(column[first] * w + column[second], return_inverse=True)
        self.i, self.j = np.divmod(cells, w)
        level, left, right = level[first], column[first], column[second]
        for a, b in self.terms:
            entries = products(B[level, :, left], B[level, :, right], a, b), (cell, level)
            self.sparse.append(csr_array(entries, (len(cells), L)))

    def __call__(self, K: np.ndarray) -> np.ndarray:
        """(M, w, w)."""
        M, w = K.shape[2], self.B.shape[2]
        if self.sparse:
            found = sum(A @ np.ascontiguousarray(K[ab].T) for A, ab in zip(self.sparse, self.terms)).T
        else:
            found = np.zeros((M, len(self.i)))
            n_blocks = -(-len(self.B) * len(self.i) // MAX_PAIR_NUMBERS)
            for levels in np.array_split(np.arange(len(self.B)), max(1, n_blocks)):
                part = slice(levels[0], levels[-1] + 1) if len(levels) else slice(0)
                left, right = self.B[part][:, :, self.i], self.B[part][:, :, self.j]
                for a, b in self.terms:
                    found += K[a, b][:, part] @ products(left, right, a, b)
        out = np.zeros((M, w, w))
        out[:, self.i, self.j] = found
        out[:, self.j, self.i] = found
        return out


def products(left: np.ndarray, right: np.ndarray, a: int, b: int) -> np.ndarray:
    """Products of columns of effects a and b, the second axis, both ways where these differ."""
    found = left[:, a] * right[:, b]
    return found if a == b else found + left[:, b] * right[:, a]
