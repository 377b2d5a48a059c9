"""Cholesky factors of many matrices of a few rows, whose axes come first: numpy's loop is over the many.

Symbols: ``A, L`` = matrices (q, q, …) and their lower factors, ``b`` = right sides (q, …).
"""

import numpy as np


def cholesky(A: np.ndarray) -> np.ndarray:
    """L of L Lᵀ = A, (q, q, …); nan where A is not positive."""
    L, q = np.zeros_like(A), len(A)
    with np.errstate(all="ignore"):
        for j in range(q):
            L[j, j] = np.sqrt(A[j, j] - np.sum(L[j, :j] ** 2, axis=0))
            for i in range(j + 1, q):
                L[i, j] = (A[i, j] - np.sum(L[i, :j] * L[j, :j], axis=0)) / L[j, j]
    return L


def forward(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """L⁻¹ b."""
    x = np.empty(np.broadcast_shapes(L.shape[1:], b.shape))
    for i in range(len(L)):
        x[i] = (b[i] - sum(L[i, k] * x[k] for k in range(i))) / L[i, i]
    return x


def backward(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """L⁻ᵀ b."""
    x = np.empty(np.broadcast_shapes(L.shape[1:], b.shape))
    for i in reversed(range(len(L))):
        x[i] = (b[i] - sum(L[k, i] * x[k] for k in range(i + 1, len(L)))) / L[i, i]
    return x


def inverse(L: np.ndarray) -> np.ndarray:
    """(L Lᵀ)⁻¹."""
    T, q = np.zeros_like(L), len(L)
    for j in range(q):
        T[j, j] = 1 / L[j, j]
        for i in range(j + 1, q):
            T[i, j] = -np.sum(L[i, j:i] * T[j:i, j], axis=0) / L[i, i]
    found = np.empty_like(L)
    for i in range(q):
        for j in range(i + 1):
            found[i, j] = found[j, i] = np.sum(T[i:, i] * T[i:, j], axis=0)
    return found
