"""All subsets of the columns, by elimination along a tree.

At each level a column, or a group of columns, is left out or goes into the model.  What is left of the
bordered matrix (:mod:`._moments`) is shared by all subsets further down, so that a subset costs a few
operations per node instead of k³ (Furnival and Wilson 1974).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._moments import Moments, step
from ._noise_grid import Lacks, NoiseGrid


def enumerate_subsets(
    moments: Moments,
    always: Sequence[int],
    groups: Sequence[Sequence[int]],
    covering: Callable[[Any, list[np.ndarray]], Any] = NoiseGrid.covering,
) -> tuple[np.ndarray, np.ndarray, Any]:
    """Log evidence of all subsets, its error from rounding, nats, and the integral of the prior.

    ``covering`` makes this integral from the moments and the subsets at both ends.  Arrays are
    (2**len(groups),): bit g of a subset's index says whether group g is in.
    """
    always, every = list(always), [j for group in groups for j in group]
    grid = covering(moments, [np.array(always), np.array(always + every)])
    while True:
        found, lost, lacks = _pass(moments, grid, always, groups)
        better = grid.improved(lacks)
        if better is None:
            return found, lost, grid
        grid = better


def _pass(moments, grid, always, groups):
    order = [*always, *(j for group in groups for j in group)]
    p = len(moments.m)
    T = moments.bordered(grid.s)[np.ix_([*order, p, p + 1], [*order, p, p + 1])][None]
    log_ridge = np.log(moments.precision[order])[:, None] + grid.s
    diagonal = T[0, np.arange(len(order)), np.arange(len(order))]
    start = (T, np.zeros((1, len(grid.s))), np.ones((1, len(grid.s))))
    node = _with(start, range(len(always)), log_ridge, diagonal)
    stops = np.cumsum([len(always), *map(len, groups)])
    found = np.empty(2 ** len(groups))
    lost = np.empty_like(found)
    lacks = Lacks()
    # levels of the tree that are computed as arrays; those above are walked one by one
    head = max(len(groups) - 10, 0)

    def walk(node, level, index):
        nonlocal lacks
        if level < head:
            columns = range(stops[level], stops[level + 1])
            walk(_without(node, len(columns)), level + 1, index)
            walk(_with(node, columns, log_ridge, diagonal), level + 1, index + 2**level)
            return
        for g in range(level, len(groups)):
            columns = range(stops[g], stops[g + 1])
            out, put = _without(node, len(columns)), _with(node, columns, log_ridge, diagonal)
            node = tuple(np.concatenate(pair) for pair in zip(out, put))
        T, log_det, loss = node
        evidence, error, new = grid.integrated(*moments.curves(log_det, T), loss)
        where = index + 2**head * np.arange(len(evidence))
        found[where], lost[where] = evidence, error
        lacks = lacks.either(new)

    walk(node, 0, 0)
    return found, lost, lacks


def _without(node, width):
    T, log_det, loss = node
    return T[:, width:, width:], log_det, loss


def _with(node, columns, log_ridge, diagonal):
    T, log_det, loss = node
    for j in columns:
        log_det, loss, T = step(T, log_det, loss, log_ridge[j], diagonal[j])
    return T, log_det, loss
