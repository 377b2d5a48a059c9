"""The evidence with crossed terms and curves: a Gaussian at the mode *given the hyperparameters*.

At each z Newton's method finds the mode of (b, v), a Gaussian regression with weights h = −∂²log p/∂η² and
targets η + score/h at every step.  Its Laplace approximation leads to the first q(z).  The mode is not the
mean: one more step, with scores and weights averaged over each row's N(η, var η), leads nearly to the
Gaussian with the least KL(q‖p) (Opper and Archambeau 2009).  Then z is drawn, and

* the columns ρ that are not of the largest grouping term from their Gaussian given z,
* the effects of the largest term are integrated level by level by quadrature, given ρ and z,

so that the mean weight is the evidence, whatever the Gaussian misses,

    p(y) = E_q[ p(y | ρ, z) N(ρ; 0, I) N(z; 0, I) / (q(ρ | z) q(z)) ].

One Gaussian for all z would not do: the widths of effects are what z says.

Symbols
-------
======  =============  ==========================================================
math    code           meaning
======  =============  ==========================================================
z       ``z``          hyperparameters, (M, k)
ρ       ``rest``       columns but those of the largest term, (M, r)
h, s    ``h, score``   curvature and score of each row, with its weight, (M, n)
======  =============  ==========================================================

References
----------
M. Opper, C. Archambeau (2009), The variational Gaussian approximation revisited, Neural Computation 21, 786.

Weighted products of the columns of ordered rows, for M sets of weights: each a sparse matrix times them.

Symbols: ``h`` = weights (M, n), ``R`` = columns (n, r) with m entries a row, ``G`` = stretches.
"""

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ..answers import Answer
from ..models import Predicted
from ..particles import Weights, systematic
from ._gaussian import (
    BATCH_OF_HYPERPARAMETERS,
    Conditional,
    LevelSums,
    conditional,
    in_order,
    inverse,
    rest_solutions,
    scaled,
    solutions,
)
from ._integral import check, integrate, widened
from ._model import EffectsModel
from ._quadrature import OrderedRows, enough_nodes, level_draws, log_integrals

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
        """Products of each level's columns and R, (M, G, q, r)."""
        G, q, r = self.shape
        found, turned = np.zeros((len(h), q, G * r)), np.ascontiguousarray(h.T)
        for i, (matrix, cells) in enumerate(self.between):
            found[:, i, cells] = (matrix @ turned).T
        return found.reshape(-1, q, G, r).swapaxes(1, 2)

    def variances(self, rest: np.ndarray, between: np.ndarray) -> np.ndarray:
        """R S Rᵀ of each row and twice R S W of its level, S (M, r, r) and (M, G, q, r), (M, n)."""
        flat = rest.reshape(len(rest), -1)
        if self.pairs is None:
            found = np.sum((self.R @ rest) * self.R, axis=2)
        else:
            twice = np.where(self.cells % (self.r + 1), 2.0, 1.0)  # of cells off the diagonal
            found = (self.pairs.T @ np.ascontiguousarray((flat[:, self.cells] * twice).T)).T
        for one, (matrix, cells) in zip(np.moveaxis(between, 2, 0), self.between):
            if one.size:
                of_cells = np.ascontiguousarray(one.reshape(len(rest), -1)[:, cells].T)
                found = found + 2 * (matrix.T @ of_cells).T
        return found

    def of_target(self, target: np.ndarray) -> np.ndarray:
        """Rᵀ of targets (M, n), (M, r)."""
        return (self.R_T @ target.T).T


def by_cell(values: np.ndarray, cell: np.ndarray, row: np.ndarray) -> tuple[csr_array, np.ndarray]:
    """Entries of rows (n, m) added up by cell: a matrix (cells, n), and the cells."""
    cells, place = np.unique(cell, return_inverse=True)
    at = place.ravel(), np.broadcast_to(row, cell.shape).ravel()
    return csr_array((values.ravel(), at), (len(cells), len(row))), cells


#: Newton steps to a mode, halvings of one, and nats that the last of them gained: for derivatives of
#: Laplace's approximation, and for draws, whose Gaussian is one more step ahead.
MAX_MODE_STEPS, MAX_MODE_HALVINGS, LAPLACE_TOLERANCE_NATS, DRAWN_TOLERANCE_NATS = 50, 12, 1e-6, 1.0
#: Standard deviations from the mean of the outer two of three Gauss–Hermite nodes; they weigh a sixth each.
OUTER_NODE = 3**0.5

#: yᵀy of targets: any number that is larger than the squares that the effects take from it.
LARGE_SQUARES = 1e300


class ConditionalGaussian:
    """Modes given hyperparameters, for batches of them."""

    def __init__(self, model: EffectsModel, rows: OrderedRows) -> None:
        self.model, self.rows, self.layout = model, rows, model.layout
        self.at = model.layout.largest
        r, (G, q) = rows.R.shape[1], (len(rows.starts), rows.W.shape[1])
        self.start = np.zeros(r), np.zeros((G, q))
        self.products = RowProducts(rows)
        self._known: tuple | None = None
        elements = 8 * len(rows.y) * q + r * r + G * q * r
        # rows × draws × columns of one batch
        self.batch = max(1, min(600_000 // elements, BATCH_OF_HYPERPARAMETERS // (r * r + 1)))
        self.n_evaluations = 0
        self.n_nodes: int | None = None
        self.node_error = 0.0  #: nats
        self.drawn: list[tuple] = []  #: z, ρ and modes of v of all points

    # -- the linear predictor ---------------------------------------------------------------------

    def all_factors(self, z: np.ndarray) -> list[np.ndarray]:
        """Λ of all terms; the last array z that was asked for is remembered."""
        if self._known is None or self._known[0] is not z:
            self._known = z, self.layout.factors(z)
        return self._known[1]

    def factors(self, z: np.ndarray) -> tuple[np.ndarray, list]:
        """Λ of the largest term, or ones without one; blocks and Λ of the others."""
        all_factors = self.all_factors(z)
        others = [(b, f) for t, (b, f) in enumerate(zip(self.layout.blocks, all_factors)) if t != self.at]
        return np.ones((len(z), 1, 1)) if self.at is None else all_factors[self.at], others

    def rest_of_eta(self, rest: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Offset and the columns that are not of the largest term, (M, n)."""
        return (self.rows.R @ self.coefficients(rest, z).T).T + self.rows.offset

    def coefficients(self, rest: np.ndarray, z: np.ndarray) -> np.ndarray:
        """ρ in the units of its columns, (M, r): Λ v is v times the transpose."""
        _, others = self.factors(z)
        return scaled(rest[:, None], self.layout.scales, transposed(others))[:, 0]

    def eta(self, rest: np.ndarray, v: np.ndarray, z: np.ndarray) -> np.ndarray:
        """(M, n)."""
        eta = self.rest_of_eta(rest, z)
        if self.at is None:
            return eta
        return eta + self.rows.of_effects(self.rows.columns(self.factors(z)[0]), v)

    def log_joint(self, rest: np.ndarray, v: np.ndarray, z: np.ndarray, own: list) -> np.ndarray:
        """log p(y | ρ, v, z) − ½|ρ|² − ½|v|², (M,)."""
        squares = np.sum(rest**2, axis=1) + np.sum(v**2, axis=(1, 2))
        return np.sum(self.rows.log_likelihood(self.eta(rest, v, z), own), axis=1) - 0.5 * squares

    # -- modes ----------------------------------------------------------------------------------

    def modes(
        self, z: np.ndarray, tolerance: float = LAPLACE_TOLERANCE_NATS
    ) -> tuple[np.ndarray, np.ndarray, LevelSums, Conditional, np.ndarray]:
        """ρ (M, r), v (M, G, q), sums and Gaussian of the step that led there, and log joint (M,)."""
        own, M = self.model.own_of(z), len(z)
        rest, v = (np.broadcast_to(part, (M, *part.shape)) for part in self.start)
        value = self.log_joint(rest, v, z, own)
        for _ in range(MAX_MODE_STEPS):
            sums, found = self.newton(rest, v, z, own)
            to_rest, to_v = solutions(self.layout, sums, found, np.arange(M), 0.0, 0.0)
            d_rest, d_v, step = to_rest - rest, to_v - v, np.ones(M)
            for _ in range(MAX_MODE_HALVINGS):
                new = rest + step[:, None] * d_rest, v + step[:, None, None] * d_v
                ahead = self.log_joint(*new, z, own)
                worse = ~(ahead >= value - 1e-9 * np.abs(value))
                if not worse.any():
                    break
                step = np.where(worse, 0.5 * step, step)
            with np.errstate(invalid="ignore"):
                gained, (rest, v), value = np.max(ahead - value), new, ahead
            if gained < tolerance and not worse.any():
                break
        return rest, v, sums, found, value

    def newton(
        self, rest: np.ndarray, v: np.ndarray, z: np.ndarray, own: list, std: np.ndarray | None = None
    ) -> tuple[LevelSums, Conditional]:
        """The Gaussian of a step from here, that of weights h and targets η + s/h, and its sums.

        With ``std`` (M, n) s and h are means over N(η, std²).
        """
        eta, rows = self.eta(rest, v, z), self.rows
        score, h = rows.derivatives(eta, own)
        if std is not None:
            below, above = (rows.derivatives(eta + side * OUTER_NODE * std, own) for side in (-1, 1))
            score, h = ((4 * at + a + b) / 6 for at, a, b in zip((score, h), below, above))
        target = h * (eta - rows.offset) + score
        W, M = rows.W, len(z)
        A, y_rest = self.products.of_rest(h), self.products.of_target(target)
        if self.at is None:
            levels, between, y_levels = (
                np.zeros((M, 0, 1, 1)),
                np.zeros((M, 0, 1, A.shape[1])),
                np.zeros((M, 0, 1)),
            )
        else:
            levels = rows.by_level((h[..., None] * W)[..., None] * W[:, None, :])
            y_levels = rows.by_level(target[..., None] * W)
            between = self.products.of_levels(h)
        sums = LevelSums(A, levels, between, y_rest, y_levels, LARGE_SQUARES, 0.0)
        return sums, conditional(self.layout, sums, self.all_factors(z), np.ones(M), sums.eliminated)

    def variances(self, sums: LevelSums, found: Conditional) -> np.ndarray:
        """Variances of η in a Gaussian, (M, n)."""
        r, rows, (M, G, q) = self.products.r, self.rows, sums.y_levels.shape
        half = scaled(np.linalg.inv(found.C[:, :r, :r]), self.layout.scales, transposed(found.others))
        of_rest = half.swapaxes(1, 2) @ half
        K = np.moveaxis(inverse(found.V), (0, 1), (2, 3))
        K = found.factor[:, None] @ K @ found.factor[:, None].swapaxes(2, 3)
        to_level = -(K @ sums.between).reshape(M, G * q, r)
        between = (to_level @ of_rest).reshape(M, G, q, r)
        levels = K + between @ to_level.reshape(M, G, q, r).swapaxes(2, 3)
        known = self.products.variances(of_rest, between)
        of_rows = np.repeat(levels, rows.counts, axis=1)
        return known + np.sum((rows.W[:, None] @ of_rows)[:, :, 0] * rows.W, axis=2) if G else known

    def remember(self, z: np.ndarray) -> None:
        """Start from the mode at z (k,) from here on."""
        rest, v, *_ = self.modes(z[None])
        self.start = rest[0], v[0]

    # -- densities ------------------------------------------------------------------------------

    def laplace(self, z: np.ndarray) -> np.ndarray:
        """Laplace's approximation of log p(y, z), (M,)."""
        return self._in_batches(self._laplace, z)

    def log_weight(self, x: np.ndarray) -> np.ndarray:
        """log p(y, ρ, z) − log q(ρ | z) of x = (z, standard normals) (M, k + r), which are kept."""
        return self._in_batches(self._log_weight, x)

    def _in_batches(self, function, x: np.ndarray) -> np.ndarray:
        self.n_evaluations += len(x)
        return np.concatenate([function(part) for part in np.array_split(x, -(-len(x) // self.batch))])

    def _laplace(self, z: np.ndarray) -> np.ndarray:
        try:
            rest, v, _, _, value = self.modes(z)
            _, found = self.newton(rest, v, z, self.model.own_of(z))
        except np.linalg.LinAlgError:
            return (
                np.array([-np.inf])
                if len(z) == 1
                else np.concatenate([self._laplace(one[None]) for one in z])
            )
        return value - found.log_det + log_normal(z)

    def _log_weight(self, x: np.ndarray) -> np.ndarray:
        z, normals = x[:, : -self.products.r], x[:, -self.products.r :]
        try:
            v, log_det, rest = self._drawn(z, normals)
        except np.linalg.LinAlgError:
            if len(x) > 1:
                return np.concatenate([self._log_weight(one[None]) for one in x])
            self.drawn.append((z, np.zeros((1, self.products.r)), self.start[1][None]))
            return np.array([-np.inf])
        self.drawn.append((z, rest, v))
        log_q = log_normal(normals) + log_det
        own, offset = self.model.own_of(z), self.rest_of_eta(rest, z)
        if self.at is None:
            log_p = np.sum(self.rows.log_likelihood(offset, own), axis=1)
        else:
            log_p = self._log_integrals(offset, self.factors(z)[0], own, v)
        return log_p + log_normal(rest) + log_normal(z) - log_q

    def _log_integrals(self, offset: np.ndarray, factor: np.ndarray, own: list, v: np.ndarray) -> np.ndarray:
        """Over the effects of the largest term, with as many nodes as the first points have asked for."""
        if self.n_nodes is None:
            few = slice(4)  # points at which the nodes of the levels are chosen
            tried = self.rows, offset[few], factor[few], [one[few] for one in own], v[few]
            self.n_nodes, self.node_error = enough_nodes(partial(log_integrals, *tried), v.shape[2])
        return log_integrals(self.rows, offset, factor, own, v, self.n_nodes)

    def _drawn(self, z: np.ndarray, normals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Modes of v, log |C| of the Gaussian of ρ, and ρ drawn from it by standard normals.

        Points of the same z that follow one another have one Gaussian.
        """
        is_new = np.r_[True, np.any(z[1:] != z[:-1], axis=1)]
        copies = np.cumsum(is_new) - 1
        z = z[is_new]
        rest, v, sums, found, _ = self.modes(z, DRAWN_TOLERANCE_NATS)
        std = np.sqrt(self.variances(sums, found))
        _, found = self.newton(rest, v, z, self.model.own_of(z), std)
        log_det = np.sum(np.log(np.diagonal(found.C, axis1=1, axis2=2)[:, :-1]), axis=1)
        return v[copies], log_det[copies], rest_solutions(found, copies, normals)

    def draws(self, chosen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """θ of points by number, the last is −1, with draws of the effects of the largest term, (M, d)."""
        out, drawn = [], [np.concatenate(part) for part in zip(*self.drawn)]
        for part in np.array_split(chosen, -(-len(chosen) // self.batch)):
            z, rest, v = (known[part] for known in drawn)
            levels = np.zeros((len(part), 0))
            if self.at is not None:
                known = self.rows, self.rest_of_eta(rest, z), self.factors(z)[0], self.model.own_of(z)
                levels = level_draws(*known, v, rng)
            out.append(np.concatenate([in_order(self.layout, rest, levels), z], axis=1))
        return np.concatenate(out)


def transposed(others: list) -> list:
    """Λᵀ of each block: Λ v of row vectors."""
    return [(block, factor.swapaxes(1, 2)) for block, factor in others]


def log_normal(x: np.ndarray) -> np.ndarray:
    """log N(x; 0, I), (M,)."""
    return -0.5 * np.sum(x**2 + np.log(2 * np.pi), axis=1)


def conditional_answer(
    model: EffectsModel, rows: OrderedRows, rng: np.random.Generator, size: int, log_rest: float = -np.inf
) -> Answer:
    """Evidence and draws; ``log_rest`` is the logarithm of the other terms of a sum."""
    f = ConditionalGaussian(model, rows)
    start = np.full(model.layout.n_hyperparameters + model.n_own, -0.5)
    if isinstance(model.family, Predicted):
        start[-model.family.n_columns :] = (
            0.0  # coefficients may have either sign, where −½ is small for a scale
        )
    f.remember(start)
    # points of the integral: each has draws of ρ, too, so that more are needed than for quadrature alone
    found = integrate(f.log_weight, start, rng, 512, f.laplace, rows.R.shape[1], log_rest)
    found = check(widened(found, f.node_error))
    chosen = rng.permutation(systematic(Weights(found.log_w).W, rng, size))
    cost = float(f.n_evaluations * len(rows.y))
    return Answer(f.draws(chosen - len(found.x), rng), np.zeros(size), found.log_Z, found.std, cost)
