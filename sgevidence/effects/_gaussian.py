"""Gaussian y: coefficients and effects in closed form at each ψ, from sums of products by level.

With A = ΦᵀΦ, c = Φᵀy of all columns, those of the terms included, D(z) the scaling of θ to coefficients and σ
the noise,

    log p(y | z) = −½ [n log 2πσ² + yᵀy/σ² − gᵀM⁻¹g + log |M|],    M = I + D A D/σ²,    g = D c/σ².

The term with most levels is block diagonal in M.  Each of its levels has V = I + Λᵀ A_l Λ/σ² and takes
B_lᵀ K B_l, K = Λ V⁻¹ Λᵀ/σ², from the products of the other columns and y (:mod:`._closed_form`).  The
Cholesky factor C of what is left has all numbers:

    log |M| = Σ log |V| + log |C|,      yᵀy/σ² − gᵀM⁻¹g = (last of the diagonal of C)².

The sums are all that a stream has to keep: they add up, and any cutting of the rows gives the same answer.

Symbols
-------
====================  ===========================  ===================================================
math                  code                         meaning
====================  ===========================  ===================================================
A by parts            ``rest, levels, between``    (1, r, r), (1, L, q, q), (1, L, q, r)
c by parts            ``y_rest, y_levels``         (1, r), (1, L, q)
B                     ``between_and_y``            (1, L, q, r + 1)
V, K                  ``V, K``                     (q, q, M, L), V as Cholesky factors
C                     ``C``                        (M, r + 1, r + 1)
====================  ===========================  ===================================================

**Cholesky factors** of many matrices of a few rows have the axes of a matrix first: numpy's loop is over the
many.  There ``A, L`` are matrices (q, q, …) and their lower factors, and ``b`` right sides (q, …).

**Another layout.**  Sums are carried to other numbers of the levels, and other units.  With columns Φ' = Φ K,
where K has the levels at their new places, A' = KᵀAK, y being one column more.  There ``A`` are products of
all columns and y (d + 1, d + 1), ``K`` is the map, ``r`` the number of columns that are not of the largest
term, and ``L, q`` are its levels and the effects of each.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import block_diag, coo_array, csr_array, issparse, kron

from ._layout import Layout


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


#: Numbers of one batch of hyperparameters, in double precision: 32 MB.
BATCH_OF_HYPERPARAMETERS = 4_000_000
#: Columns, in those of a row that are not zero, up to which dense arrays take less time than sparse ones.
MAX_DENSE_RATIO = 4


class LevelSums(NamedTuple):
    """Sums of squares and products with a leading axis, of one or of M; ``plus`` adds those of other rows."""

    rest: np.ndarray
    levels: np.ndarray
    between: np.ndarray
    y_rest: np.ndarray
    y_levels: np.ndarray
    y2: Any
    n: float

    @classmethod
    def of_rows(cls, layout: Layout, rows: Any) -> "LevelSums":
        """One pass over the rows, in blocks."""
        return cls(*rows.fold(lambda block: cls._of_block(layout, block), 20_000))

    @classmethod
    def _of_block(cls, layout: Layout, rows: Any) -> tuple:
        R, W, code, L = parted_columns(layout, rows.X)
        w, y = rows.weight, rows.y
        wW, wR = w[:, None] * W, R * w[:, None]
        E = [of_levels(column, code, L) for column in wW.T]
        levels = np.zeros((L, len(E), len(E)))
        for i, j in np.ndindex(levels.shape[1:]):
            levels[:, i, j] = E[i] @ W[:, j]
        between = np.array([densely(one @ R) for one in E]).swapaxes(0, 1)
        y_levels = np.array([one @ y for one in E]).T
        parts = densely(wR.T @ R), levels, between, wR.T @ y, y_levels
        return (*(part[None] for part in parts), float(w @ (y * y)), float(w.sum()))

    def plus(self, other: "LevelSums") -> "LevelSums":
        """Sums of both sets of rows."""
        return LevelSums(*(a + b for a, b in zip(self, other)))  # type: ignore[operator]

    @property
    def rest_and_y(self) -> np.ndarray:
        """Products of all columns but those of the largest term, and y, (M, r + 1, r + 1)."""
        y = np.broadcast_to(np.reshape(self.y2, (-1, 1, 1)), (len(self.rest), 1, 1))
        right = np.concatenate([self.y_rest[:, :, None], y], axis=1)
        return np.concatenate([np.concatenate([self.rest, self.y_rest[:, None]], axis=1), right], axis=2)

    @property
    def between_and_y(self) -> np.ndarray:
        """Products of the levels with all other columns and y."""
        return np.concatenate([self.between, self.y_levels[..., None]], axis=3)

    def eliminated(self, K: np.ndarray) -> np.ndarray:
        """Σ_l B_lᵀ K_l B_l of M sums."""
        B = self.between_and_y
        M, L, q, w = B.shape
        KB = np.stack([sum(K[a, b][..., None] * B[:, :, b] for b in range(q)) for a in range(q)], axis=2)
        return B.reshape(M, L * q, w).swapaxes(1, 2) @ KB.reshape(M, L * q, w)


def of_levels(column: np.ndarray, code: np.ndarray, n_levels: int) -> csr_array:
    """A column's values at the level of each row, (L, n)."""
    if not n_levels:
        return csr_array((0, len(code)))
    return csr_array((column, (code, np.arange(len(code)))), (n_levels, len(code)))


def densely(A: Any) -> np.ndarray:
    """A sparse array with its zeros."""
    return A.toarray() if issparse(A) else A


def parted_columns(layout: Layout, X: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray, int]:
    """All columns but those of the largest term (n, r), its W (n, q) and levels (n,), and their number.

    The first are a sparse array where most of them are zero.
    """
    parts, at, found = [X[:, : layout.n_fixed]], layout.largest, layout.inputs(X)
    columns, first = [np.broadcast_to(np.arange(layout.n_fixed), parts[0].shape)], layout.n_fixed
    for t, (block, (W, code)) in enumerate(zip(layout.blocks, found)):
        if t != at:
            parts.append(W)
            columns.append(first + code[:, None] * block.n_effects + np.arange(block.n_effects))
            first += block.size
    values, places = np.concatenate(parts, axis=1), np.concatenate(columns, axis=1)
    rows = np.broadcast_to(np.arange(len(X))[:, None], places.shape)
    R: Any = csr_array((values.ravel(), (rows.ravel(), places.ravel())), (len(X), first))
    if first <= MAX_DENSE_RATIO * values.shape[1]:
        R = R.toarray()
    if at is None:
        return R, np.zeros((len(X), 1)), np.zeros(len(X), dtype=np.int64), 0
    return R, *found[at], layout.blocks[at].n_levels


class Conditional(NamedTuple):
    """log p(y | z) of M hyperparameters, and the factors of which effects are drawn."""

    log_p: np.ndarray  #: (M,)
    log_det: np.ndarray  #: ½ log |M|, (M,)
    squares: np.ndarray  #: yᵀy/σ² − gᵀM⁻¹g, (M,)
    V: np.ndarray
    C: np.ndarray
    sigma: np.ndarray
    factor: np.ndarray  #: Λ of the largest term, (M, q, q)
    others: list  #: the other blocks, and Λ of each


def conditional(
    layout: Layout,
    sums: LevelSums,
    factors: list[np.ndarray],
    sigma: np.ndarray,
    eliminate: Callable[[np.ndarray], np.ndarray],
) -> Conditional:
    """The Gaussian of (b, v) for each of M hyperparameters; ``sigma`` (M,), ``eliminate`` K."""
    at, (M, r) = layout.largest, (len(sigma), sums.rest.shape[1])
    others = [(b, f) for t, (b, f) in enumerate(zip(layout.blocks, factors)) if t != at]
    Lam = np.ones((M, 1, 1)) if at is None else factors[at]
    L, q = sums.levels.shape[1:3]
    A = np.moveaxis(sums.levels, 1, 3).reshape(len(sums.levels), q * q, L)
    # both sides at once: Λᵀ A Λ/σ² and Λ V⁻¹ Λᵀ/σ² of q × q matrices that are rows of numbers
    sides = (Lam[:, :, None, :, None] * Lam[:, None, :, None, :]).reshape(M, q * q, q * q)
    sides = sides / sigma[:, None, None] ** 2
    V = np.moveaxis((sides.swapaxes(1, 2) @ A).reshape(M, q, q, L), 0, 2)
    V = cholesky(V + np.eye(q)[:, :, None, None])
    K = np.moveaxis(inverse(V), 2, 0).reshape(M, q * q, L)
    K = np.moveaxis((sides @ K).reshape(M, q, q, L), 0, 2)
    C = (sums.rest_and_y - eliminate(K)) / sigma[:, None, None] ** 2
    C = scaled(scaled(C, layout.scales, others).swapaxes(1, 2), layout.scales, others)
    precision = np.ones(r + 1)
    precision[: layout.n_fixed] = layout.fixed_precision
    precision[r] = 0.0
    y2 = sums.y2 / sigma**2
    C[:, range(r + 1), range(r + 1)] += precision
    C[:, r, r] += y2  # so that rounding does not take the sign of squares that are nothing
    C = np.linalg.cholesky(C)
    diagonal = np.diagonal(C, axis1=1, axis2=2)
    log_det = np.sum(np.log(np.prod([V[i, i] for i in range(q)], axis=0)), axis=1)
    log_det += np.sum(np.log(diagonal[:, :r]), axis=1)
    squares = diagonal[:, r] ** 2 - y2
    log_p = -0.5 * (sums.n * np.log(2 * np.pi * sigma**2) + squares) - log_det
    return Conditional(log_p, log_det, squares, V, C, sigma, Lam, others)


def scaled(A: np.ndarray, scales: np.ndarray, others: list) -> np.ndarray:
    """The last axis of A (…, r) times D: S, then Λ of each level of the terms that are not the largest."""
    M = len(others[0][1]) if others else len(A)
    A = np.broadcast_to(A, (M, *A.shape[1:])).copy()
    at = len(scales)
    A[..., :at] *= scales
    for block, factor in others:
        part = A[..., at : at + block.size]
        factor = factor.reshape(M, *[1] * (A.ndim - 2), *factor.shape[1:])
        if block.n_effects == 1:
            part *= factor[..., 0]
        else:
            split = part.reshape(*part.shape[:-1], block.n_levels, block.n_effects)
            part[...] = (split @ factor).reshape(part.shape)
        at += block.size
    return A


def rest_solutions(found: Conditional, copies: np.ndarray, z_rest: Any) -> np.ndarray:
    """The columns that are not of the largest term (N, r) of standard normals; ``copies`` as below."""
    r = found.C.shape[1] - 1
    right, rest = found.C[copies, r, :r] + z_rest, np.empty((len(copies), r))
    for m, C in enumerate(found.C):
        of_m = slice(*np.searchsorted(copies, [m, m + 1]))
        rest[of_m] = solve_triangular(C[:r, :r], right[of_m].T, trans=1, lower=True, check_finite=False).T
    return rest


def solutions(
    layout: Layout, sums: LevelSums, found: Conditional, copies: np.ndarray, z_rest: Any, z_levels: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The columns that are left (N, r) and the levels (N, L, q) of standard normals; zeros give the mean.

    ``copies`` are the hyperparameters of each, in order, (N,).
    """
    q, rest = len(found.V), rest_solutions(found, copies, z_rest)
    turned = [(block, factor[copies].swapaxes(1, 2)) for block, factor in found.others]
    known = scaled(rest, layout.scales, turned)
    left = np.empty((q, len(copies), sums.levels.shape[1]))
    for i, (b, y) in enumerate(zip(np.moveaxis(sums.between, 2, 0), np.moveaxis(sums.y_levels, 2, 0))):
        known_part = known @ b[0].T if len(b) == 1 else (b[copies] @ known[..., None])[..., 0]
        left[i] = (y if len(y) == 1 else y[copies]) - known_part
    half = found.factor[copies] / found.sigma[copies, None, None] ** 2  # Λ/σ²
    V = found.V[:, :, copies]
    h = np.array([sum(half[:, j, i, None] * left[j] for j in range(q)) for i in range(q)])
    v = backward(V, forward(V, h) + np.moveaxis(np.broadcast_to(z_levels, (*h.shape[1:], q)), 2, 0))
    return rest, np.moveaxis(v, 0, 2)


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


class ColumnMaps(NamedTuple):
    """New columns as functions of the old ones."""

    fixed: np.ndarray  #: those of fixed columns and of y, which comes last
    blocks: Sequence[np.ndarray]  #: those of each term, (q, q)

    @classmethod
    def identity(cls, layout: Layout) -> "ColumnMaps":
        """Columns that stay as they are."""
        return cls(np.eye(layout.n_fixed + 1), [np.eye(block.n_effects) for block in layout.blocks])

    @classmethod
    def between(cls, layout: Layout, old: tuple, new: tuple) -> "ColumnMaps | None":
        """Maps between columns (n, c) and y (n,) of the same rows in two units; None where there are none."""
        fixed = [np.column_stack([X[:, : layout.n_fixed], y]) for X, y in (old, new)]
        pairs = [fixed, *zip(*([W for W, _ in layout.inputs(X)] for X, _ in (old, new)))]
        maps = [np.linalg.lstsq(A, B)[0] for A, B in pairs]
        # differences of columns in units of about one that are rounding
        exact = all(np.allclose(A @ K, B, rtol=0, atol=1e-9) for K, (A, B) in zip(maps, pairs))
        return cls(maps[0], maps[1:]) if exact else None


def relaid(
    sums: LevelSums,
    before: Layout,
    after: Layout,
    places: Sequence[np.ndarray],
    maps: ColumnMaps | None = None,
) -> LevelSums:
    """Sums of the same rows, of whose terms level k has the number ``places[t][k]``."""
    fixed, own = ColumnMaps.identity(before) if maps is None else maps
    parts, p = [csr_array(fixed[:-1, :-1])], before.n_fixed
    for block, new, place, one in zip(before.blocks, after.blocks, places, own):
        entries = np.ones(len(place)), (np.arange(len(place)), place)
        parts.append(kron(coo_array(entries, (block.n_levels, new.n_levels)), csr_array(one)))
    K = block_diag([*parts, csr_array(fixed[-1:, -1:])], format="lil")
    K[:p, [-1]] = fixed[:-1, -1:]
    K = K.tocsr()
    return parted((K.T @ cross_products(sums, before) @ K).tocsr(), after, sums.n)


def numbers_of(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the columns that are not of the largest term, (r,), and of its own, (L, q)."""
    d, at = layout.n_fixed + layout.n_effects, layout.largest
    if at is None:
        return np.arange(d), np.zeros((0, 1), dtype=int)
    first = layout.n_fixed + sum(block.size for block in layout.blocks[:at])
    levels = first + np.arange(layout.blocks[at].size).reshape(layout.blocks[at].n_levels, -1)
    return np.setdiff1d(np.arange(d), levels), levels


def cross_products(sums: LevelSums, layout: Layout) -> csr_array:
    """A of all columns, sparse."""
    rest, levels = numbers_of(layout)
    y, entries = layout.n_fixed + layout.n_effects, []

    def add(values: np.ndarray, rows: np.ndarray, columns: np.ndarray, twice: bool) -> None:
        rows, columns = (np.broadcast_to(k, values.shape).ravel() for k in (rows, columns))
        entries.append((values.ravel(), rows, columns))
        if twice:
            entries.append((values.ravel(), columns, rows))

    add(sums.rest[0], rest[:, None], rest, False)
    add(sums.levels[0], levels[:, :, None], levels[:, None, :], False)
    add(sums.between[0], levels[:, :, None], rest, True)
    add(sums.y_rest[0], rest, np.array(y), True)
    add(sums.y_levels[0], levels, np.array(y), True)
    add(np.array([sums.y2]), np.array(y), np.array(y), False)
    values, rows, columns = (np.concatenate(part) for part in zip(*entries))
    A = coo_array((values, (rows, columns)), (y + 1, y + 1)).tocsr()
    A.eliminate_zeros()
    return A


def parted(A: csr_array, layout: Layout, n: float) -> LevelSums:
    """Sums by level of a layout, of the products of all of its columns."""
    rest, levels = numbers_of(layout)
    L, q = levels.shape
    of_levels = A[levels.ravel()]
    own, at = np.zeros((L, q, q)), of_levels[:, levels.ravel()].tocoo()
    own[at.row // q, at.row % q, at.col % q] = at.data
    y = A[:, [-1]].toarray()[:, 0]
    between = of_levels[:, rest].toarray().reshape(L, q, len(rest))
    of_rest = A[rest][:, rest].toarray()
    return LevelSums(of_rest[None], own[None], between[None], y[rest][None], y[levels][None], float(y[-1]), n)
