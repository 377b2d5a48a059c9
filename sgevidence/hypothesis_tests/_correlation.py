r"""A test of a correlation with a stretched beta prior (Jeffreys 1961; Ly, Verhagen and Wagenmakers 2016).

With flat priors of the means and of the logarithms of the standard deviations, the data say of ρ

    (1 − ρ²)^((n−1)/2) (1 − ρr)^(3/2 − n) ₂F₁(½, ½; n − ½; (1 + ρr)/2)

up to a constant (Hotelling 1953); (ρ + 1)/2 ~ Beta(1/κ, 1/κ).  The integral is over z = atanh ρ.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import betaln, hyp2f1

from ..models import rscale_of
from ._result import EQUAL_WITHIN, PLAIN_NULLS, BayesFactorResult, Effect, Nulls, array_of


class PairSums(NamedTuple):
    """Number, means and centred products of pairs, and the largest number of each column."""

    n: int
    mean: np.ndarray  #: (2,)
    products: np.ndarray  #: (2, 2)
    largest: np.ndarray  #: (2,)

    @classmethod
    def of(cls, x: Any, y: Any) -> Self:
        x, y = array_of("x", x, 1), array_of("y", y, 1)
        if len(x) != len(y):
            raise ValueError(f"x and y must have the same length, got {len(x)} and {len(y)}")
        pairs = np.column_stack([x, y])
        mean = pairs.mean(axis=0) if len(pairs) else np.zeros(2)
        products = (pairs - mean).T @ (pairs - mean)
        return cls(len(pairs), mean, products, np.abs(pairs).max(axis=0, initial=0.0))

    def plus(self, other: "PairSums") -> "PairSums":
        n, step = self.n + other.n, other.mean - self.mean
        between = np.outer(step, step) * self.n * other.n / max(n, 1)
        mean = self.mean + step * other.n / max(n, 1)
        largest = np.maximum(self.largest, other.largest)
        return PairSums(n, mean, self.products + other.products + between, largest)


@dataclass(frozen=True)
class Correlation:
    sums: PairSums
    rscale: float
    nulls: Nulls = PLAIN_NULLS
    scales: ClassVar[str] = "correlation"  #: the names that its rscale may have
    name: str = "Test of a correlation"

    def with_rows(self, x: Any, y: Any) -> "Correlation":
        return _checked(replace(self, sums=self.sums.plus(PairSums.of(x, y))))

    @property
    def n_samples(self) -> int:
        return self.sums.n

    @property
    def r(self) -> float:
        S = self.sums.products
        return float(S[0, 1] / np.sqrt(S[0, 0]) / np.sqrt(S[1, 1]))

    @property
    def statistics(self) -> dict[str, float]:
        return {"n": self.sums.n, "r": self.r}

    @property
    def hypotheses(self) -> tuple[str, str]:
        plain = "x and y are correlated", "x and y are not correlated"
        return self.nulls.hypotheses("the correlation", "the correlation is", "0", plain)

    @property
    def prior(self) -> str:
        return f"(correlation + 1)/2 ~ Beta({1 / self.rscale:.3g}, {1 / self.rscale:.3g})"

    def log_bayes_factor(self) -> tuple[float, float]:
        furthest = 60.0  # |z| beyond which nothing is left: 1 − ρ² is 10⁻⁵¹ there
        n, r, a = self.sums.n, self.r, 1 / self.rscale

        def log_unexplained(z: np.ndarray) -> np.ndarray:
            return -2 * (np.logaddexp(z, -z) - np.log(2))

        def log_prior(z: np.ndarray) -> np.ndarray:
            return a * log_unexplained(z) + (1 - 2 * a) * np.log(2) - betaln(a, a)

        def log_joint(z: np.ndarray) -> np.ndarray:
            rho = np.tanh(z)
            log_F = np.log(hyp2f1(0.5, 0.5, n - 0.5, (1 + rho * r) / 2) / hyp2f1(0.5, 0.5, n - 0.5, 0.5))
            log_ratio = (n - 1) / 2 * log_unexplained(z) - (n - 1.5) * np.log1p(-rho * r) + log_F
            return log_prior(z) + log_ratio

        def coordinate(rho: float) -> float:
            return math.copysign(math.inf, rho) if abs(rho) == 1 else math.atanh(rho)

        value, error = self.nulls.log_bayes_factor(
            Effect(coordinate, log_prior, log_joint, -furthest, furthest)
        )
        return value, error + n * float(EQUAL_WITHIN) / (1 - abs(r))


def correlation(
    x: Any,
    y: Any,
    *,
    null: tuple[float, float] | None = None,
    alternative: str = "two-sided",
    rscale: float | str = "medium",
) -> BayesFactorResult:
    """Are two columns correlated?

    Parameters
    ----------
    x, y : array-like of shape (n,)
        At least three pairs.
    null : (float, float), optional
        All correlations between the two are compared with all others.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        A correlation greater or less than 0 alone is compared with none.
    rscale : float or {"medium", "wide", "ultrawide"}, default="medium"
        κ of the prior (ρ + 1)/2 ~ Beta(1/κ, 1/κ): 1 is uniform, smaller ones are narrower about zero.  The
        words are those of the R package BayesFactor: 1/3 (its default), 1/√3, 1.

    Returns
    -------
    BayesFactorResult
        Log Bayes factor, nats, of a correlation against none.

    Raises
    ------
    ValueError, TypeError
        Naming the argument: numbers that are not finite, constant columns, columns on one line.

    Notes
    -----
    Pairs are normal given the correlation.  The density of the sample's r is Hotelling's, and the integral
    over ρ a quadrature, right to about 10⁻⁹ nats.

    References
    ----------
    A. Ly, J. Verhagen, E.-J. Wagenmakers (2016), Harold Jeffreys's default Bayes factor hypothesis tests,
    Journal of Mathematical Psychology 72, 19.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sgevidence.hypothesis_tests import correlation
    >>> length, width = load_iris().data[:, :2].T
    >>> correlation(length, width)
    Test of a correlation: n = 150, r = -0.1176
    Bayes factor 0.509 (log: -0.68 ± <0.01); (correlation + 1)/2 ~ Beta(3, 3)
    The data are 1.96 times as probable if x and y are not correlated as if x and y
    are correlated: not worth more than a bare mention.
    """
    nulls, rscale = Nulls.of(alternative, null, -1.0, 1.0), rscale_of("correlation", rscale)
    if null is not None and nulls.interval is None:
        raise ValueError(f"null must be a pair (low, high) of correlations, got {null!r}")
    return BayesFactorResult(_checked(Correlation(PairSums.of(x, y), rscale, nulls)))


def _checked(test: Correlation) -> Correlation:
    n, _, products, largest = test.sums
    if n < 3:
        raise ValueError(f"x and y must have at least three pairs, got {n}")
    for name, square, most in zip("xy", np.diag(products), largest):
        if square <= n * (EQUAL_WITHIN * most) ** 2:
            raise ValueError(f"{name} is constant, and has no correlation")
    if 1 - abs(test.r) < EQUAL_WITHIN:
        raise ValueError("y is a linear function of x: there is no chance to test it against")
    return test
