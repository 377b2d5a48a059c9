r"""Sums by level under the numbers that levels have in another layout, and in other units.

With columns Φ' = Φ K, where K has the levels at their new places, A' = KᵀAK, y being one column more.

Symbols: ``A`` = products of all columns and y (d + 1, d + 1), ``K`` = the map, ``r`` = number of columns
that are not of the largest term, ``L, q`` = its levels and the effects of each.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import block_diag, coo_array, csr_array, kron

from ._gaussian import LevelSums
from ._layout import Layout


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
    return parted((K.T @ products(sums, before) @ K).tocsr(), after, sums.n)


def numbers_of(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the columns that are not of the largest term, (r,), and of its own, (L, q)."""
    d, at = layout.n_fixed + layout.n_effects, layout.largest
    if at is None:
        return np.arange(d), np.zeros((0, 1), dtype=int)
    first = layout.n_fixed + sum(block.size for block in layout.blocks[:at])
    levels = first + np.arange(layout.blocks[at].size).reshape(layout.blocks[at].n_levels, -1)
    return np.setdiff1d(np.arange(d), levels), levels


def products(sums: LevelSums, layout: Layout) -> csr_array:
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
