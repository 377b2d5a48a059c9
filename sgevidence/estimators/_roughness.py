r"""Curves that ask for more splines than they have, by two signs.

1. The rows decide most of the effects around the line: the mean of 1 − var(v) over effects v, whose prior
   variance is one.
2. The curve is far too smooth and leaves its rest in the residuals: those of neighbours are alike,

       r₁ = Σ e_k e_{k+1} / Σ e_k²,        r₁ ~ N(0, 1/m) of m cells without a rest,

   e_k the sum over rows of the same x and level of score/√curvature, over √(rows), in the order of x.

Symbols: ``e`` = residuals of cells (m,), ``v`` = effects (M, k).
"""

from typing import Any

import numpy as np

from ..effects import Smooth
from ..history import Rows
from ..particles import spread
from ._terms import terms_of

#: Share of a curve's effects that the rows decide, beyond which it asks for more splines: on mcycle of R it
#: is 0.71 of k = 10, 22 nats too few, 0.65 of k = 15, 0.9 nats, and 0.52 of k = 20, 0.1 nats.
MAX_DECIDED_SHARE = 0.6
#: Errors of r₁ beyond which neighbours are alike, one fit in 30 000; cells at least, and rows and draws at
#: most, of which it is made.
MAX_NEIGHBOUR_ERRORS, MIN_CELLS, MAX_RESIDUAL_ROWS, N_RESIDUAL_DRAWS = 4.0, 40, 20_000, 100


def rough_curve(model: Any, rows: Rows) -> str | None:
    """A sentence on a curve that asks for more splines than it has; None without one.

    ``rows`` are those of the last call, in the units of the model.
    """
    if not any(isinstance(term, Smooth) for term in terms_of(model)):
        return None
    effects = model._model.layout.split(model.particles_)[1]
    for term, v in zip(model._units.coding.block_terms, effects):
        if not isinstance(term, Smooth):
            continue
        decided = 1 - np.mean(v.reshape(len(v), -1).var(axis=0))
        remedy = "more knots" if term.knots else f"k={2 * term.n_basis}, which is n_basis= of Smooth"
        if decided > MAX_DECIDED_SHARE:
            return (
                f"{term.name} is as rough as its splines allow: a rougher curve may be better, give {remedy}"
            )
        if neighbours_are_alike(model, term, rows):
            return (
                f"residuals of neighbouring values of {term.column} are alike: {term.name} has too few "
                f"splines, or these rows depend on one another; give {remedy}"
            )
    return None


def neighbours_are_alike(model: Any, term: Smooth, rows: Rows) -> bool:
    """Whether residuals at neighbouring values of a curve's column have the same sign."""
    X, y = rows.X[:MAX_RESIDUAL_ROWS], np.asarray(rows.y, dtype=float)[:MAX_RESIDUAL_ROWS]
    _, cell = np.unique(places_along(model, term, X), axis=0, return_inverse=True)
    cell, counts = cell.ravel(), np.bincount(cell.ravel())
    if len(counts) < MIN_CELLS:
        return False
    theta = model.particles_[spread(model.particle_weights_, N_RESIDUAL_DRAWS)]
    eta, *others = model._model._distribution(theta, X)
    given = [one.mean(axis=0) if one.shape == (len(theta), 1) else one for one in others]
    family, eta = model._model.family, eta.mean(axis=0)
    h = np.maximum(family.curvature(eta, y, *given), np.finfo(float).tiny)
    e = np.bincount(cell, rows.weight[: len(y)] * family.score(eta, y, *given) / np.sqrt(h)) / np.sqrt(counts)
    e = e - e.mean()
    return bool(e[1:] @ e[:-1] > MAX_NEIGHBOUR_ERRORS / np.sqrt(len(e)) * (e @ e))


def places_along(model: Any, term: Smooth, X: np.ndarray) -> np.ndarray:
    """Level and value of the column of a curve of encoded rows, (n, 2)."""
    names = model._units.coding.column_terms
    first = names.index(term.name)
    last = first + model._units.coding.curves[term.name].n_effects
    if term.period is None:
        x = X[:, names.index(str(term.column))]
    else:  # the first harmonic
        x = np.arctan2(X[:, first + term.n_basis // 2], X[:, first]).round(9)
    return np.column_stack([X[:, last], x])
