r"""Weighted products of the columns of ordered rows, for M sets of weights: each a sparse matrix times them.

Symbols: ``h`` = weights (M, n), ``R`` = columns (n, r) with m entries a row, ``G`` = stretches.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ._rows import OrderedRows

#: Numbers of all pairs of dense columns up to which they are kept, 64 MB.
MAX_DENSE_PAIRS = 8_000_000


class RowProducts:
    """Rᵀ h R and the products of R with the columns of each level."""

    def __init__(self, rows: OrderedRows) -> None:
        self.R, (n, self.r) = rows.R, rows.R.shape
        self.R_T = rows.R.T.tocsr() if issparse(rows.R) else rows.R.T
        self.pairs: Any = None
        self.shape = len(rows.starts), rows.W.shape[1], self.r
        row = np.arange(n)[:, None]
        if issparse(rows.R):
            columns, values = rows.R.indices.reshape(n, -1), rows.R.data.reshape(n, -1)
            u, w = np.triu_indices(columns.shape[1])
            low, high = (f(columns[:, u], columns[:, w]) for f in (np.minimum, np.maximum))
            self.pairs, self.cells = by_cell(values[:, u] * values[:, w], low * self.r + high, row)
        else:
            columns, values = np.broadcast_to(np.arange(self.r), (n, self.r)), rows.R
            if n * self.r * (self.r + 1) <= 2 * MAX_DENSE_PAIRS:
                i, j = np.triu_indices(self.r)
                self.pairs, self.cells = (rows.R[:, i] * rows.R[:, j]).T, i * self.r + j
        stretch = np.repeat(np.arange(len(rows.starts)), rows.counts)[:, None]
        self.between = [
            by_cell(values * one, stretch * self.r + columns, row) for one in rows.W.T[:, :, None]
        ]

    def of_rest(self, h: np.ndarray) -> np.ndarray:
        """Rᵀ h R, (M, r, r)."""
        if self.pairs is None:
            return (self.R.T * h[:, None]) @ self.R
        A = np.zeros((len(h), self.r * self.r))
        A[:, self.cells] = (self.pairs @ np.ascontiguousarray(h.T)).T
        i, j = np.divmod(self.cells, self.r)
        A[:, j * self.r + i] = A[:, self.cells]
        return A.reshape(-1, self.r, self.r)

    def of_levels(self, h: np.ndarray) -> np.ndarray:
        """Of each level's columns and R, (M, G, q, r)."""
        G, q, r = self.shape
        found, turned = np.zeros((len(h), q, G * r)), np.ascontiguousarray(h.T)
        for i, (matrix, cells) in enumerate(self.between):
            found[:, i, cells] = (matrix @ turned).T
        return found.reshape(-1, q, G, r).swapaxes(1, 2)

    def of_target(self, target: np.ndarray) -> np.ndarray:
        """Rᵀ of targets (M, n), (M, r)."""
        return (self.R_T @ target.T).T


def by_cell(values: np.ndarray, cell: np.ndarray, row: np.ndarray) -> tuple[csr_array, np.ndarray]:
    """Entries of rows (n, m) added up by cell: a matrix (cells, n), and the cells."""
    cells, place = np.unique(cell, return_inverse=True)
    at = place.ravel(), np.broadcast_to(row, cell.shape).ravel()
    return csr_array((values.ravel(), at), (len(cells), len(row))), cells
