r"""Gaussian y: coefficients and effects in closed form at each ψ, from sums of products by level.

With A = ΦᵀΦ, c = Φᵀy of all columns, those of the terms included, D(z) the scaling of θ to coefficients and σ
the noise,

    log p(y | z) = −½ [n log 2πσ² + yᵀy/σ² − gᵀM⁻¹g + log |M|],    M = I + D A D/σ²,    g = D c/σ².

The term with most levels is block diagonal in M and is eliminated level by level; the other columns, r of
them, are left:

    M = (V  F; Fᵀ  B),      C = B − Fᵀ V⁻¹ F,     log |M| = log |V| + log |C|.

The sums are all that a stream has to keep: they add up, and any cutting of the rows gives the same answer.

Symbols
-------
====================  ===========================  ===================================================
math                  code                         meaning
====================  ===========================  ===================================================
A by parts            ``rest, levels, between``    (1, r, r), (1, L, q, q), (1, L, q, r)
c by parts            ``y_rest, y_levels``         (1, r), (1, L, q)
V, F, C               ``V, F, C``                  (M, L, q, q), (M, L, q, r), (M, r, r)
====================  ===========================  ===================================================
"""

from typing import Any, NamedTuple

import numpy as np

from ._layout import Layout

#: Numbers of one batch of hyperparameters, in double precision: 32 MB.
BATCH_OF_HYPERPARAMETERS = 4_000_000


class LevelSums(NamedTuple):
    """Sums of squares and products with a leading axis, of one or of M; ``plus`` adds those of other rows."""

    rest: np.ndarray
    levels: np.ndarray
    between: np.ndarray
    y_rest: np.ndarray
    y_levels: np.ndarray
    y2: float
    n: float

    @classmethod
    def of_rows(cls, layout: Layout, rows: Any) -> "LevelSums":
        """One pass over the rows, in blocks."""
        return cls(*rows.fold(lambda block: cls._of_block(layout, block), 20_000))

    @classmethod
    def _of_block(cls, layout: Layout, rows: Any) -> tuple:
        R, W, code, L = parted_columns(layout, rows.X)
        w, y = rows.weight, rows.y
        q, r = W.shape[1], R.shape[1]
        levels, between, y_levels = np.zeros((L, q, q)), np.zeros((L, q, r)), np.zeros((L, q))
        if L:
            order = np.argsort(code, kind="stable")
            starts = np.flatnonzero(np.r_[True, np.diff(code[order]) > 0])
            at = code[order][starts]
            wW = (w[:, None] * W)[order]
            levels[at] = np.add.reduceat(wW[:, :, None] * W[order][:, None, :], starts)
            y_levels[at] = np.add.reduceat(wW * y[order][:, None], starts)
            for j in range(q):  # (n, r) at a time
                between[at, j] = np.add.reduceat(wW[:, j, None] * R[order], starts)
        wR = w[:, None] * R
        parts = wR.T @ R, levels, between, wR.T @ y, y_levels
        return (*(part[None] for part in parts), float(w @ (y * y)), float(w.sum()))

    def plus(self, other: "LevelSums") -> "LevelSums":
        """Sums of both sets of rows."""
        return LevelSums(*(a + b for a, b in zip(self, other)))  # type: ignore[operator]


def parted_columns(layout: Layout, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """All columns but those of the largest term (n, r), its W (n, q) and levels (n,), and their number."""
    parts, at, found = [X[:, : layout.n_fixed]], layout.largest, layout.inputs(X)
    for t, (block, (W, code)) in enumerate(zip(layout.blocks, found)):
        if t == at:
            continue
        wide = np.zeros((len(X), block.n_levels, block.n_effects))
        wide[np.arange(len(X)), code] = W
        parts.append(wide.reshape(len(X), -1))
    R = np.concatenate(parts, axis=1)
    if at is None:
        return R, np.zeros((len(X), 1)), np.zeros(len(X), dtype=np.int64), 0
    return R, *found[at], layout.blocks[at].n_levels


class Conditional(NamedTuple):
    """log p(y | z) of M hyperparameters, and the factors of which effects are drawn."""

    log_p: np.ndarray  #: (M,)
    log_det: np.ndarray  #: ½ log |M|, (M,)
    squares: np.ndarray  #: yᵀy/σ² − gᵀM⁻¹g, (M,)
    V: np.ndarray  #: Cholesky factors
    F: np.ndarray  #: V^(−½) F
    h: np.ndarray  #: V^(−½) g of the levels, (M, L, q)
    C: np.ndarray  #: Cholesky factors
    e: np.ndarray  #: C^(−½) of what is left of g, (M, r)


def conditional(layout: Layout, sums: LevelSums, factors: list[np.ndarray], sigma: np.ndarray) -> Conditional:
    """The Gaussian of (b, v) for each of M hyperparameters; ``sigma`` (M,)."""
    at, M = layout.largest, len(sigma)
    others = [(b, f) for t, (b, f) in enumerate(zip(layout.blocks, factors)) if t != at]
    Lam = np.ones((M, 1, 1)) if at is None else factors[at]
    s = sigma[:, None]
    half = scaled(sums.rest, layout.scales, others).swapaxes(1, 2)
    B = scaled(half, layout.scales, others) / s[:, :, None] ** 2
    g = scaled(sums.y_rest, layout.scales, others) / s**2
    Lt, precision = Lam.swapaxes(1, 2)[:, None], s[:, :, None, None] ** -2
    V = np.linalg.cholesky(Lt @ sums.levels @ Lam[:, None] * precision + np.eye(Lam.shape[1]))
    F = solved(V, scaled(Lt @ sums.between * precision, layout.scales, others))
    h = solved(V, Lt @ sums.y_levels[..., None] * precision)[..., 0]
    flat, h_flat = F.reshape(M, -1, F.shape[-1]), h.reshape(M, -1)
    precision_of_rest = np.ones(B.shape[1])
    precision_of_rest[: layout.n_fixed] = layout.fixed_precision
    C = np.linalg.cholesky(B + np.diag(precision_of_rest) - flat.swapaxes(1, 2) @ flat)
    e = solved(C, (g - np.einsum("mar,ma->mr", flat, h_flat))[..., None])[..., 0]
    log_det = sum(np.log(np.diagonal(A, axis1=-2, axis2=-1)).reshape(M, -1).sum(axis=1) for A in (V, C))
    squares = sums.y2 / sigma**2 - np.sum(h_flat**2, axis=1) - np.sum(e**2, axis=1)
    log_p = -0.5 * (sums.n * np.log(2 * np.pi * sigma**2) + squares) - log_det
    return Conditional(log_p, log_det, squares, V, F, h, C, e)


def scaled(A: np.ndarray, scales: np.ndarray, others: list) -> np.ndarray:
    """The last axis of A (…, r) times D: S, then Λ of each level of the terms that are not the largest."""
    M = len(others[0][1]) if others else len(A)
    parts, at = (
        [np.broadcast_to(A[..., : len(scales)] * scales, (M, *A.shape[1:-1], len(scales)))],
        len(scales),
    )
    for block, factor in others:
        part = A[..., at : at + block.size]
        split = part.reshape(*part.shape[:-1], block.n_levels, block.n_effects)
        Lam = factor.reshape(M, *[1] * (A.ndim - 2), *factor.shape[1:])
        parts.append((split @ Lam).reshape(M, *A.shape[1:-1], block.size))
        at += block.size
    return np.concatenate(parts, axis=-1)


def solved(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """L⁻¹ b of batches of lower triangular matrices (…, q, q); those of one and two rows by hand."""
    q = L.shape[-1]
    if q > 2 or q == 0:
        return np.linalg.solve(L, b)
    first = b[..., :1, :] / L[..., :1, :1]
    if q == 1:
        return first
    return np.concatenate([first, (b[..., 1:, :] - L[..., 1:, :1] * first) / L[..., 1:, 1:]], axis=-2)


def solutions(found: Conditional, z_rest: Any, z_levels: Any) -> tuple[np.ndarray, np.ndarray]:
    """The columns that are left (M, r) and the levels (M, L, q) of standard normals; zeros give the mean."""
    rest = np.linalg.solve(found.C.swapaxes(-1, -2), (found.e + z_rest)[..., None])[..., 0]
    right = found.h + z_levels - np.einsum("mlir,mr->mli", found.F, rest)
    return rest, np.linalg.solve(found.V.swapaxes(-1, -2), right[..., None])[..., 0]


def draws(layout: Layout, found: Conditional, rng: np.random.Generator) -> np.ndarray:
    """One draw of (b, v) for each of the hyperparameters, in the order of θ, (M, p + Σ L q)."""
    normals = rng.standard_normal(found.e.shape), rng.standard_normal(found.h.shape)
    return in_order(layout, *solutions(found, *normals))


def in_order(layout: Layout, rest: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """(b, v) as θ has them, from the columns that are not of the largest term, and its effects."""
    M, at, parts = len(rest), layout.n_fixed, [rest[:, : layout.n_fixed]]
    for t, block in enumerate(layout.blocks):
        if t == layout.largest:
            parts.append(levels.reshape(M, -1))
        else:
            parts.append(rest[:, at : at + block.size])
            at += block.size
    return np.concatenate(parts, axis=1)
