r"""The Gaussian integral over the coefficients of a linear regression, for one variance of the noise.

With the symbols of :mod:`._linear_posterior`, K, g and q are known without rounding (:mod:`._exact_sums`).
R, c, ρ² and the determinant are computed with as many decimal digits as the columns ask for: nothing need be
centred or scaled, whatever lies far out.  Only then numbers are rounded to double precision.  For an unknown
noise the curve over s = log v is needed beside the points v₀ of a coarse grid where it is known so: with
U diag(σ) the left part of the singular values of R at v₀, μ = σ² − v₀ and γ = Uᵀc,

    log |K + v| = log |K + v₀| + Σ log1p((v − v₀)/σ²),      ρ²(v) = ρ² + (v − v₀) Σ γ²/(μ + v),

which is exact at v₀, and errs beside it by rounding alone.  Where the columns interpolate y, as those of
fewer rows than columns do, the curve falls no faster than the prior does as v → 0; one v₀ below all μ > 0
then tells it for all smaller v, without differences:

    log |K + v| = log |K + v₀| + Σ_{μ>0} log1p((v − v₀)/σ²) + (d − rank K) log v/v₀,
    ρ²(v)/v = ρ²/v₀ + (v₀ − v) Σ_{μ>0} γ²/(μ (μ + v)).
"""

from collections.abc import Iterator
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from math import ldexp
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from ._exact_sums import ExactSums, rank

#: Decimal digits beyond those that cancel.
SPARE_DIGITS = 30
#: Pivots within this ratio of the largest are equal: the first is taken, however a processor rounds.
EQUAL_PIVOTS = Decimal("0.999999")
#: Distance in s of the points v₀.
POINT_SPACING = 8.0
#: Context of logarithms whose result is rounded to double precision.
LOGARITHM = Context(prec=25, Emax=MAX_EMAX, Emin=MIN_EMIN)


class Factor(NamedTuple):
    """The Gaussian integral over the coefficients at one v₀."""

    v: float
    R: np.ndarray  #: (d, d), of the columns in the order of the pivots
    order: np.ndarray  #: (d,)
    c: np.ndarray  #: (d,)
    log_det: float  #: of K + v₀
    rest: float  #: ρ²/v₀
    U: np.ndarray  #: left singular vectors of R, (d, d)
    squares: np.ndarray  #: σ², (d,)
    mu: np.ndarray  #: eigenvalues of K, (d,)
    gamma: np.ndarray  #: (d,)
    is_last: bool = False  #: it tells the curve at all smaller v

    def last_of(self, moments: "Moments") -> "Factor":
        """Itself as the last one, if y is interpolated and all eigenvalues but zero are above v₀."""
        seen = self.mu > self.v
        at_zero = np.sum(self.gamma[seen] ** 2 / self.mu[seen])  # ρ²/v₀, were y interpolated
        if self.mu[~seen].any() or not np.isclose(at_zero, self.rest, rtol=1e-3):
            return self
        if np.count_nonzero(seen) != moments.rank_if_interpolated():
            return self
        return self._replace(gamma=np.where(seen, self.gamma, 0.0), is_last=True)

    @classmethod
    def of(cls, moments: "Moments", v: Decimal) -> "Factor":
        R, order, log_det, rest = moments.cholesky(v)
        d = len(order)
        c, R, v0 = R[:, d], R[:, :d], float(v)
        U, squares = np.zeros((0, 0)), np.zeros(0)
        if d:
            sva, _, U, work, _, info = lapack.dgejsv(np.asfortranarray(R.T), joba=0, jobr=0)
            if info:
                raise np.linalg.LinAlgError("singular values did not converge")
            squares = (sva * (work[0] / work[1])) ** 2
        mu = squares - v0
        mu[mu < 4 * d * np.finfo(float).eps * squares] = 0.0
        return cls(v0, R, order, c, log_det, rest, U, squares, mu, U.T @ c)

    def log_likelihood(self, s: np.ndarray, n: float) -> np.ndarray:
        """log p(y | v = e^s), (m,)."""
        v, d = np.exp(s), len(self.mu)
        ratio = (v - self.v) / self.squares[:, None]
        if self.is_last:
            mu, gamma = self.mu[self.mu > 0, None], self.gamma[self.mu > 0, None]
            log_ratio = np.sum(np.log1p(ratio[self.mu > 0]), axis=0) + (d - len(mu)) * (s - np.log(self.v))
            squares = self.rest + (self.v - v) * np.sum(gamma**2 / (mu * (mu + v)), axis=0)
        else:
            log_ratio = np.sum(np.log1p(ratio), axis=0)
            more = (v - self.v) * np.sum(self.gamma[:, None] ** 2 / (self.mu[:, None] + v), axis=0)
            squares = np.maximum(self.rest * self.v + more, 0.0) / v
        log_det = self.log_det + log_ratio - d * s
        return -0.5 * (n * (np.log(2 * np.pi) + s) + log_det + squares)

    def draws(self, v: np.ndarray, rng: np.random.Generator, scales: np.ndarray) -> np.ndarray:
        """One draw of w | y, v for each v, (len(v), d).

        By a triangular system, in which columns far out keep their digits.  Normal numbers are turned by Uᵀ:
        where singular values coincide U is arbitrary, and the draws are not.
        """
        z = rng.standard_normal((len(v), len(self.mu)))
        r = (self.mu + v[:, None]) / self.squares
        t = self.U @ (self.gamma / r + np.sqrt(v[:, None] / r) * (z @ self.U)).T
        w = np.empty((len(v), len(self.mu)))
        w[:, self.order] = solve_triangular(self.R, t, check_finite=False).T
        return w * scales


class Moments(NamedTuple):
    """K, g and q of rows, exactly."""

    sums: ExactSums  #: of [1, X, y]
    scales: np.ndarray  #: of X, and of 1 if there is an intercept
    fit_intercept: bool

    @property
    def n(self) -> float:
        return self.sums.total_weight

    def cholesky(self, v: Decimal) -> tuple[np.ndarray, np.ndarray, float, float]:
        """R with c as its last column (d, d + 1), the pivots' order, log |K + v| and ρ²/v."""
        with localcontext(Context(prec=SPARE_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)) as context:
            A = self._matrix()
            trace, q, d = sum(np.diag(A)[:-1], v), A[-1, -1], len(A) - 1
            cancel = max((trace / v * max(d, 1)).adjusted(), 0) + max((1 + q / v).adjusted(), 0)
            if cancel > 0:
                context.prec = SPARE_DIGITS + cancel
                A = self._matrix()
            order, log_det = np.arange(d), Decimal(0)
            A[np.arange(d), np.arange(d)] += v
            for k in range(d):
                pivots = np.diag(A)[k:d]
                p = k + int(np.argmax(pivots >= EQUAL_PIVOTS * max(pivots)))
                swap = [p, k]
                A[[k, p]], order[[k, p]] = A[swap], order[swap]
                A[:, [k, p]] = A[:, swap]
                log_det += A[k, k].ln(LOGARITHM)
                A[k, k:] /= A[k, k].sqrt()
                A[k + 1 :, k + 1 :] -= np.multiply.outer(A[k, k + 1 :], A[k, k + 1 :])
            rest = float(max(A[d, d], Decimal(0)) / v)
        R = A[:d].astype(float)
        R[np.tril_indices(d, -1)] = 0.0
        return R, order, float(log_det), rest

    def _columns(self) -> list[int]:
        """Places of X, the intercept if there is one, and y."""
        p = len(self.sums.exponents) - 2
        return [*range(1, p + 1), *([0] if self.fit_intercept else []), p + 1]

    def rank_if_interpolated(self) -> int | None:
        """Rank of K where y is a combination of the columns, so that ρ² is zero at v = 0; else None."""
        columns = self._columns()
        M = self.sums.integers[np.ix_(columns, columns)]
        r = rank(M[:, :-1])
        return r if rank(M) == r else None

    def rounded(self) -> np.ndarray:
        """[[K, g], [gᵀ, q]] in double precision, with infinities where it does not hold them."""
        sums, columns = self.sums, self._columns()
        d = len(columns)
        exponents = [int(sums.exponents[j]) for j in columns]
        out = np.empty((d, d))
        try:
            for i, a in enumerate(columns):
                for j, b in enumerate(columns[: i + 1]):
                    value = int(sums.integers[a, b])
                    # binary digits of a sum that are looked at when it is rounded to double precision
                    more = max(value.bit_length() - 64, 0)
                    exponent = more + exponents[i] + exponents[j] + sums.unit
                    out[i, j] = out[j, i] = ldexp(value >> more, exponent)
        except OverflowError:
            return np.full((d, d), np.inf)
        scales = np.append(self.scales, 1.0)
        return out * np.multiply.outer(scales, scales)

    def _matrix(self) -> np.ndarray:
        """[[K, g], [gᵀ, q]] in the precision of the context."""
        sums, columns = self.sums, self._columns()
        factors = np.array([Decimal(2) ** int(sums.exponents[j]) for j in columns], dtype=object)
        factors[:-1] *= np.array([Decimal(float(scale)) for scale in self.scales], dtype=object)
        M = sums.integers[np.ix_(columns, columns)]
        M = np.array([Decimal(int(value)) for value in M.ravel()], dtype=object).reshape(M.shape)
        return M * (np.multiply.outer(factors, factors) * Decimal(2) ** sums.unit)


class Factors:
    """The curve over s = log v from factors at points v₀ of a coarse grid, made where they are needed."""

    def __init__(self, moments: Moments) -> None:
        self.moments = moments
        self._known: dict[int, Factor] = {}
        self._last: int | None = None  #: of the factor that tells the curve at all smaller v

    def log_likelihood(self, s: np.ndarray, n: float) -> np.ndarray:
        """log p(y | v = e^s), (m,)."""
        out = np.empty(len(s))
        for factor, which in self.at(s):
            out[which] = factor.log_likelihood(s[which], n)
        return out

    def draws(self, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One draw of w | y, v = e^s for each s, (m, d)."""
        out = np.empty((len(s), len(self.moments.scales)))
        for factor, which in self.at(s):
            out[which] = factor.draws(np.exp(s[which]), rng, self.moments.scales)
        return out

    def at(self, s: np.ndarray) -> Iterator[tuple[Factor, np.ndarray]]:
        """Factors at the points v₀ next to s, from above, and which s they are for."""
        k = np.rint(s / POINT_SPACING).astype(int)
        for one in np.unique(k)[::-1].tolist():
            if self._last is None or one >= self._last:
                yield self._factor(one), k == one
            else:
                yield self._known[self._last], k <= one
                return

    def _factor(self, k: int) -> Factor:
        if k not in self._known:
            factor = Factor.of(self.moments, Decimal(float(np.exp(k * POINT_SPACING)))).last_of(self.moments)
            self._known[k], self._last = factor, k if factor.is_last else self._last
        return self._known[k]
