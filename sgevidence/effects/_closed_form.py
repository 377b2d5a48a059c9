"""The evidence of Gaussian y: effects in closed form, hyperparameters by quasi-random points.

The points are the same for the same sums, whatever seed the sampler has: the answer is a function of the
rows, as a closed form is, with a standard error of a few thousandths of a nat.

Symbols: ``z`` = hyperparameters (M, k), ``M`` = points.

Products of the other columns that the levels of one term take away, Σ_l B_lᵀ K_l B_l.

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

from collections.abc import Callable
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from ..exceptions import DivergenceError
from ..particles import Weights, systematic
from ._gaussian import BATCH_OF_HYPERPARAMETERS, Conditional, LevelSums, conditional, in_order, solutions
from ._integral import Integral, check, integrate
from ._layout import Layout

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
            entries = pair_products(B[level, :, left], B[level, :, right], a, b), (cell, level)
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
                    found += K[a, b][:, part] @ pair_products(left, right, a, b)
        out = np.zeros((M, w, w))
        out[:, self.i, self.j] = found
        out[:, self.j, self.i] = found
        return out


def pair_products(left: np.ndarray, right: np.ndarray, a: int, b: int) -> np.ndarray:
    """Products of columns of effects a and b, the second axis, both ways where these differ."""
    found = left[:, a] * right[:, b]
    return found if a == b else found + left[:, b] * right[:, a]


#: Points of the integral, at least and at most, and numbers of levels and columns that all of them have.
MIN_CLOSED_FORM_POINTS, MAX_CLOSED_FORM_POINTS, CLOSED_FORM_NUMBERS = 256, 1024, 4_000_000
#: Draws from the prior of which the best starts the way to the mode.
N_PRIOR_STARTS = 32
#: Numbers of all levels for one batch of hyperparameters, which stay in the cache.
BATCH_OF_LEVELS = 100_000
#: Noise in sizes of y that is as good as none, and the share of the squares of y that is left then.
LEAST_NOISE, SMALLEST_SHARE = 1e-6, 1e-10
#: Nats lost to rounding beyond which a noise is not looked at; their share where it is 30 times as large, and
#: the weight of points there above which the rows have no noise that numbers can tell.
MAX_NOISE_ROUNDING_NATS, NEAR_LOST, MAX_NOISELESS_SHARE = 0.1, 1e-3, 1e-3
#: Words for rows that are fitted exactly.
NOISELESS = (
    "the terms fit y exactly, and its density has no bound as the noise becomes small: leave out a term, or "
    "state noise_std= under prior='normal'"
)


class GaussianPosterior:
    """Evidence and draws, given the sums of all rows.

    ``sigma`` gives the noise (M,) of the hyperparameters z (M, k), of which the family's are the last.
    """

    def __init__(
        self, layout: Layout, sums: LevelSums, n_own: int, sigma: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        self.layout, self.sums, self.n_own, self.sigma = layout, sums, n_own, sigma

    @cached_property
    def integral(self) -> Integral:
        """Over the hyperparameters; ArithmeticError where it cannot be trusted."""
        # seed of the scrambled sequences
        rng, k = np.random.default_rng(20_260), self.layout.n_hyperparameters + self.n_own
        starts = rng.standard_normal((N_PRIOR_STARTS, k))
        start = starts[np.argmax(self.log_density(starts))]
        try:
            found = check(integrate(self.log_density, start, rng, self._n_points))
            W = np.exp(found.log_w - logsumexp(found.log_w))
            if (
                W @ (self._lost_nats(self.sigma(found.x)) > NEAR_LOST * MAX_NOISE_ROUNDING_NATS)
                > MAX_NOISELESS_SHARE
            ):
                raise ArithmeticError("the noise is as small as numbers can tell")
            return found
        except (ArithmeticError, np.linalg.LinAlgError):
            if self._is_noiseless(starts[:1]):
                raise DivergenceError(NOISELESS) from None
            raise

    def _lost_nats(self, sigma: np.ndarray) -> np.ndarray:
        """Nats that rounding of yᵀy/σ² may cost, (M,)."""
        with np.errstate(divide="ignore"):
            return np.finfo(float).eps * self.sums.y2 / sigma**2

    def _is_noiseless(self, z: np.ndarray) -> bool:
        if self.sums.y2 == 0.0:
            return True
        variance = LEAST_NOISE**2 * self.sums.y2 / self.sums.n
        try:
            found = conditional(
                self.layout, self.sums, self.layout.factors(z), np.sqrt([variance]), self._elimination
            )
        except np.linalg.LinAlgError:
            return False
        return bool(found.squares[0] * variance < SMALLEST_SHARE * self.sums.y2)

    @property
    def log_evidence(self) -> float:
        return self.integral.log_Z

    @property
    def log_evidence_std(self) -> float:
        return self.integral.std

    def log_density(self, z: np.ndarray) -> np.ndarray:
        """log p(y, z), (M,)."""
        log_prior = -0.5 * np.sum(z**2 + np.log(2 * np.pi), axis=1)
        return log_prior + self._in_batches(self._log_p, z)

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draws of θ, (size, d)."""
        chosen, times = np.unique(systematic(Weights(self.integral.log_w).W, rng, size), return_counts=True)
        n_parts, ends = min(len(chosen), -(-size // self._batch)), np.cumsum(times)
        out = np.empty((0, 0))
        for part in np.array_split(np.arange(len(chosen)), n_parts):
            copies = np.repeat(np.arange(len(part)), times[part])
            draws = self._draws(self.integral.x[chosen[part]], copies, rng)
            out = out if len(out) else np.empty((size, draws.shape[1]))  # of 10⁵ levels no copy is made
            out[ends[part[-1]] - len(draws) : ends[part[-1]]] = draws
        rng.shuffle(out)
        return out

    def _draws(self, z: np.ndarray, copies: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """θ of as many copies of each z, with effects of their own."""
        found, (L, q) = self._conditional(z), self.sums.levels.shape[1:3]
        normals = rng.standard_normal((len(copies), self.sums.rest.shape[1]))
        effects = solutions(
            self.layout, self.sums, found, copies, normals, rng.standard_normal((len(copies), L, q))
        )
        return np.concatenate([in_order(self.layout, *effects), z[copies]], axis=1)

    def _in_batches(self, function: Callable, z: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [function(part) for part in np.array_split(z, max(1, -(-len(z) // self._batch)))]
        )

    def _log_p(self, z: np.ndarray) -> np.ndarray:
        """log p(y | z); −∞ where rounding takes a variance's sign or all digits, far from all that counts."""
        try:
            found = self._conditional(z)
            has_digits = (found.squares > 0) & (self._lost_nats(found.sigma) < MAX_NOISE_ROUNDING_NATS)
            return np.where(has_digits, found.log_p, -np.inf)
        except np.linalg.LinAlgError:
            if len(z) == 1:
                return np.array([-np.inf])
            return np.concatenate([self._log_p(half) for half in np.array_split(z, 2)])

    def _conditional(self, z: np.ndarray) -> Conditional:
        return self._given(self.layout.factors(z), self.sigma(z))

    def _given(self, factors: list[np.ndarray], sigma: np.ndarray) -> Conditional:
        return conditional(self.layout, self.sums, factors, sigma, self._elimination)

    @cached_property
    def _elimination(self) -> Elimination:
        return Elimination(self.sums.between_and_y[0])

    @property
    def _size(self) -> tuple[int, int]:
        """Numbers of all levels, and of the products of the other columns, at one point."""
        (L, q), r = self.sums.levels.shape[1:3], self.sums.rest.shape[1] + 1
        return L * q * q + 1, r * r

    @property
    def _n_points(self) -> int:
        """A power of two: where there are many levels, the hyperparameters are nearly normal."""
        affordable = CLOSED_FORM_NUMBERS / sum(self._size)
        return 2 ** int(np.log2(np.clip(affordable, MIN_CLOSED_FORM_POINTS, MAX_CLOSED_FORM_POINTS)))

    @property
    def _batch(self) -> int:
        levels, rest = self._size
        return max(1, min(BATCH_OF_LEVELS // levels, BATCH_OF_HYPERPARAMETERS // rest))
