r"""Student's t test with a Cauchy prior of the effect size (Jeffreys 1961; Rouder et al. 2009).

One sample is a regression on a column of ones, two are one on an indicator of the group, so that with N rows,
or N = n₁n₂/(n₁ + n₂), an effect d̄ and the squares q about the means

    1 − R² = q / (q + N d̄²),    δ = μ/σ ~ Cauchy(0, r)  ⟺  g ~ InvGamma(1/2, N r²/2)

in the integral of :class:`~sgevidence.models.GPrior` with one column.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from ..models import GPrior, rscale_of
from ._result import EQUAL_WITHIN, BayesFactorResult, array_of, number_of


class Sums(NamedTuple):
    """Number, mean and centred squares of a sample, and its largest number."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    largest: float = 0.0

    @classmethod
    def of(cls, x: np.ndarray, largest: float) -> Self:
        """In two passes."""
        if not len(x):
            return cls()
        return cls(len(x), float(x.mean()), float(np.sum((x - x.mean()) ** 2)), largest)

    def plus(self, other: "Sums") -> "Sums":
        """Both samples together (Chan, Golub and LeVeque 1983)."""
        n = self.n + other.n
        if not self.n or not other.n:
            return other if other.n else self
        step = other.mean - self.mean
        squares = self.squares + other.squares + step**2 * self.n * other.n / n
        return Sums(n, self.mean + step * other.n / n, squares, max(self.largest, other.largest))


@dataclass(frozen=True)
class TTest:
    kind: str  #: "one-sample", "paired" or "two-sample"
    samples: tuple[Sums, ...]
    null: float
    rscale: float

    def with_rows(self, x: Any, y: Any = None) -> "TTest":
        more = sums_of(self.kind, x, y, self.null)
        return _checked(replace(self, samples=tuple(a.plus(b) for a, b in zip(self.samples, more))))

    def with_rscale(self, rscale: Any) -> "TTest":
        return replace(self, rscale=rscale_of("ttest", rscale))

    @property
    def name(self) -> str:
        return f"{self.kind} t-test".capitalize()

    @property
    def n_samples(self) -> int:
        return sum(sample.n for sample in self.samples)

    @property
    def _effective(self) -> float:
        n = [sample.n for sample in self.samples]
        return float(n[0]) if len(n) == 1 else n[0] * n[1] / (n[0] + n[1])

    @property
    def effect(self) -> float:
        """Mean, or difference of the means, minus that of the null."""
        return self.samples[0].mean - (self.samples[1].mean if len(self.samples) > 1 else 0.0)

    @property
    def squares(self) -> float:
        return sum(sample.squares for sample in self.samples)

    @property
    def statistics(self) -> dict[str, float]:
        df = self.n_samples - len(self.samples)
        t = self.effect / np.sqrt(self.squares / df / self._effective)
        sizes = (
            {"n": self.samples[0].n}
            if len(self.samples) == 1
            else {
                "n_x": self.samples[0].n,
                "n_y": self.samples[1].n,
            }
        )
        return {**sizes, "t": float(t), "df": df}

    @property
    def hypotheses(self) -> tuple[str, str]:
        what = {"one-sample": "mean", "paired": "mean difference", "two-sample": "difference of the means"}
        where = f"the {what[self.kind]} is"
        return f"{where} not {self.null:g}", f"{where} {self.null:g}"

    @property
    def prior(self) -> str:
        return f"effect size ~ Cauchy(0, {self.rscale:.3g})"

    def log_bayes_factor(self) -> tuple[float, float]:
        N = self._effective
        rest = self.squares / (self.squares + N * self.effect**2)
        nu = self.n_samples - len(self.samples) + 1.0
        value, error = GPrior("inverse-gamma", N * self.rscale**2).log_bayes_factor(rest, 1, nu)
        largest = max(sample.largest for sample in self.samples)
        rounding = EQUAL_WITHIN * largest / np.sqrt(self.squares / self.n_samples)  # of the squares, relative
        return value, error + float(nu * rounding * (1 - rest))


def ttest(
    x: Any,
    y: Any = None,
    *,
    paired: bool = False,
    null: float = 0.0,
    rscale: float | str = "medium",
) -> BayesFactorResult:
    """Does a mean differ from a number, or do two means differ?

    Parameters
    ----------
    x : array-like of shape (n,)
    y : array-like of shape (m,), optional
        The second sample; with ``paired`` the partner of each x.  None: one sample.
    paired : bool, default=False
        Are x and y two measurements of the same units?  Then their differences x − y are one sample.
    null : float, default=0.0
        Mean, or difference of the means of x and y, under the null hypothesis.
    rscale : float or {"medium", "wide", "ultrawide"}, default="medium"
        Scale r of the Cauchy prior of the effect size δ = (μ − null)/σ: half of the prior lies within r of
        0.  The words are those of the R package BayesFactor: √2/2 (its default), 1, √2.

    Returns
    -------
    BayesFactorResult
        Log Bayes factor, nats, of a difference against none.

    Raises
    ------
    ValueError, TypeError
        Naming the argument: numbers that are not finite, too few, or all equal.

    See Also
    --------
    anova : More than two groups.

    Notes
    -----
    μ and log σ have flat priors, shared by both hypotheses, so that the Bayes factor does not depend on the
    unit of x; two samples have the same σ.  The integral over the prior of the effect is a trapezoid rule,
    right to about 10⁻⁸ nats.

    References
    ----------
    J. N. Rouder, P. L. Speckman, D. Sun, R. D. Morey, G. Iverson (2009), Bayesian t tests for accepting and
    rejecting the null hypothesis, Psychonomic Bulletin & Review 16, 225.

    Examples
    --------
    Hours of sleep that ten patients gained by two drugs (Student 1908):

    >>> from sgevidence.hypothesis_tests import ttest
    >>> first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    >>> second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    >>> ttest(first, second, paired=True)
    Paired t-test: n = 10, t = -4.062, df = 9
    Bayes factor 17.3 (log: 2.85 ± <0.01); effect size ~ Cauchy(0, 0.707)
    The data are 17.3 times as probable if the mean difference is not 0 as if the
    mean difference is 0: positive evidence.
    """
    kind = "one-sample" if y is None else "paired" if paired else "two-sample"
    if paired and y is None:
        raise ValueError("paired=True needs y, the partner of each x")
    null = number_of("null", null)
    test = TTest(kind, sums_of(kind, x, y, null), null, rscale_of("ttest", rscale))
    return BayesFactorResult(_checked(test))


def sums_of(kind: str, x: Any, y: Any, null: float) -> tuple[Sums, ...]:
    """Sums of x − null, of x − y − null, or of x − null and of y."""
    x = array_of("x", x, 1)
    if kind == "one-sample":
        if y is not None:
            raise ValueError("y is given, and the test is of one sample")
        return (Sums.of(x - null, _largest(x, null)),)
    if y is None:
        raise ValueError(f"a {kind} t-test needs y")
    y = array_of("y", y, 1)
    if kind == "two-sample":
        return Sums.of(x - null, _largest(x, null)), Sums.of(y, _largest(y))
    if len(x) != len(y):
        raise ValueError(f"x and y are pairs, and must have the same length, got {len(x)} and {len(y)}")
    return (Sums.of(x - y - null, _largest(x, y, null)),)


def _largest(*values: Any) -> float:
    return max((float(np.abs(v).max()) for v in values if np.size(v)), default=0.0)


def _checked(test: TTest) -> TTest:
    names = ("x", "y")
    for name, sample in zip(names, test.samples):
        least = 2 if len(test.samples) == 1 else 1
        if sample.n < least:
            raise ValueError(f"{name} must have at least {least} values, got {sample.n}")
    if test.n_samples < len(test.samples) + 1:
        raise ValueError("x and y must have at least three values together")
    largest = max(sample.largest for sample in test.samples)
    if test.squares <= test.n_samples * (EQUAL_WITHIN * largest) ** 2:
        what = {"one-sample": "x is", "paired": "the differences x − y are", "two-sample": "x and y are each"}
        raise ValueError(f"{what[test.kind]} constant: without any spread there is no effect size")
    return test
