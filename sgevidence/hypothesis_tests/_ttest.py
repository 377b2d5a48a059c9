"""Student's t test with a Cauchy prior of the effect size (Jeffreys 1961; Rouder et al. 2009).

One sample is a regression on a column of ones, two are one on an indicator of the group, so that with N rows,
or N = n₁n₂/(n₁ + n₂), an effect d̄ and the squares q about the means

    1 − R² = q / (q + N d̄²),    δ = μ/σ ~ Cauchy(0, r)  ⟺  g ~ InvGamma(1/2, N r²/2)

in the integral of :class:`~sgevidence.models.GPrior` with one column.  One side, an interval, and two noises
(Welch 1947) are integrals over δ (below).

The likelihood of an effect size, from the t statistic of one σ or of two.

With N rows, ν degrees of freedom, a mean d̄ and squares q about it, t² = N d̄² ν/q has the noncentral density
with δ√N, which over the central one is

    L(δ) = exp(−½ μ²ν/(ν + t²)) I(a)/I(0),    I(a) = ∫₀^∞ x^ν e^{−(x − a)²/2} dx,

    μ = δ√N,    a = μt/√(ν + t²),

an integral over log x about its mode x* = b e^{asinh h}, b² = ν + 1, h = a/2b.

Two noises σ₁ and σ₂ have flat priors of their logarithms, and δ is in units of √((σ₁² + σ₂²)/2).  Given
ρ = log σ₁/σ₂, v₁ = 2/(1 + e^{−2ρ}) and v₂ = 2/(1 + e^{2ρ}), all is as with one σ where N = 1/(v₁/n₁ + v₂/n₂)
and q = S₁/v₁ + S₂/v₂, and ρ has the density under no effect

    p(ρ) ∝ v₁^{−(n₁−1)/2} v₂^{−(n₂−1)/2} √N (q + N d̄²)^{−(n−1)/2}.

Symbols: ``delta`` = δ, (m,); ``nu`` = ν; ``rho, log_p`` = nodes and their log probabilities, (k,).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.polynomial import Chebyshev
from scipy.special import logsumexp

from ..models import GPrior, closed_in, rscale_of
from ._result import (
    EQUAL_WITHIN,
    NULLS_TAIL_NATS,
    PLAIN_NULLS,
    BayesFactorResult,
    Effect,
    Nulls,
    array_of,
    log_integrals,
    number_of,
)

#: Largest |ρ| that is looked at; nodes over what counts of it.
MAX_LOG_RATIO, N_RATIO_NODES = 60.0, 96
#: Effects times nodes that are computed at a time; degree of the polynomial that stands for more integrals.
PAIRS_AT_A_TIME, N_CHEBYSHEV = 2**18, 127


def log_ratio(delta: np.ndarray, t: np.ndarray, N: np.ndarray, nu: float) -> np.ndarray:
    """log L, elementwise over arrays (m,)."""
    mu = delta * np.sqrt(N)
    grows = np.arcsinh(mu * t / np.sqrt(nu + t**2) / (2 * np.sqrt(nu + 1)))
    at_mode = (nu + 1) * (grows + np.sinh(grows) * np.exp(-grows))
    width = _log_width(grows, nu) - _log_width(np.zeros(1), nu)
    return width + at_mode - 0.5 * mu**2 * (nu / (nu + t**2))


def _log_width(grows: np.ndarray, nu: float) -> np.ndarray:
    """log I less the log of its integrand at the mode x* = b e^grows, (m,): of many by their polynomial."""
    if len(grows) > 2 * N_CHEBYSHEV:
        ends = grows.min() - 1e-3, grows.max() + 1e-3
        smooth = Chebyshev.interpolate(_log_width, N_CHEBYSHEV, ends, (nu,))
        if np.abs(smooth.coef[-4:]).max() < 1e-12:  # nats
            return smooth(grows)
    x2 = (nu + 1) * np.exp(2 * grows)

    def log_f(w: np.ndarray) -> np.ndarray:
        more = np.expm1(w)
        # −½ [(x − a)² − (x* − a)²] with x = x* e^w and x*(x* − a) = ν + 1
        return (nu + 1) * (w - more) - 0.5 * x2[:, None] * more**2

    return log_integrals(log_f, 1 / np.sqrt(x2 + nu + 1))


class TwoNoises(NamedTuple):
    """Nodes of ρ, with what the data say of the effect given each."""

    log_p: np.ndarray  #: under no effect, (k,)
    t: np.ndarray  #: (k,)
    N: np.ndarray  #: (k,)
    nu: float

    @classmethod
    def of(cls, n: tuple[float, float], squares: tuple[float, float], effect: float) -> "TwoNoises":
        """From the numbers, the squares about the means, and the difference of the means."""
        nu = sum(n) - 2.0

        def given(rho: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            """log p(ρ) under no effect, its best under any, and log N/q."""
            log_v = [np.log(2) - np.logaddexp(0, sign * 2 * rho) for sign in (-1, 1)]
            log_N = -np.logaddexp(log_v[0] - np.log(n[0]), log_v[1] - np.log(n[1]))
            log_q = np.logaddexp(np.log(squares[0]) - log_v[0], np.log(squares[1]) - log_v[1])
            log_w = 0.5 * (log_N - (n[0] - 1) * log_v[0] - (n[1] - 1) * log_v[1])
            none = log_w - (nu + 1) / 2 * (log_q + np.log1p(effect**2 * np.exp(log_N - log_q)))
            return none, log_w - (nu + 1) / 2 * log_q, log_N - log_q

        ends = -MAX_LOG_RATIO, MAX_LOG_RATIO
        rho = closed_in(lambda rho: np.array(given(rho)[:2]), *ends, N_RATIO_NODES, NULLS_TAIL_NATS, 0.7)
        none, _, by_squares = given(rho)
        N = 1 / (2 / (1 + np.exp(-2 * rho)) / n[0] + 2 / (1 + np.exp(2 * rho)) / n[1])
        t = effect * np.exp(0.5 * by_squares) * np.sqrt(nu)
        return cls(none - logsumexp(none), t, N, nu)

    def log_ratio(self, delta: np.ndarray) -> np.ndarray:
        """log of the mean of L over ρ, (m,)."""
        k = len(self.t)
        parts = np.array_split(delta, max(1, -(-len(delta) * k // PAIRS_AT_A_TIME)))
        return np.concatenate([self._log_mean(part, k) for part in parts])

    def _log_mean(self, delta: np.ndarray, k: int) -> np.ndarray:
        m = len(delta)
        each = log_ratio(np.repeat(delta, k), np.tile(self.t, m), np.tile(self.N, m), self.nu)
        return logsumexp(each.reshape(m, k) + self.log_p, axis=1)


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
    nulls: Nulls = PLAIN_NULLS
    scales: ClassVar[str] = "ttest"  #: the names that its rscale may have
    equal_variances: bool = True

    def with_rows(self, x: Any, y: Any = None) -> "TTest":
        x, y = pairs_of(x, y, self.kind == "paired")
        more = sums_of(self.kind, x, y, self.null)
        return _checked(replace(self, samples=tuple(a.plus(b) for a, b in zip(self.samples, more))))

    @property
    def name(self) -> str:
        return f"{self.kind} t-test".capitalize() + ("" if self.equal_variances else ", two variances")

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
        df: float = self.n_samples - len(self.samples)
        variance = self.squares / df / self._effective
        if not self.equal_variances:  # Welch and Satterthwaite
            parts = [sample.squares / (sample.n - 1) / sample.n for sample in self.samples]
            variance = sum(parts)
            df = variance**2 / sum(v**2 / (sample.n - 1) for v, sample in zip(parts, self.samples))
        t = self.effect / np.sqrt(variance)
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
        where, null = f"the {what[self.kind]} is", f"{self.null:g}"
        plain = f"{where} not {null}", f"{where} {null}"
        return self.nulls.hypotheses("the effect size", where, null, plain)

    @property
    def prior(self) -> str:
        return f"effect size ~ Cauchy(0, {self.rscale:.3g})"

    def log_bayes_factor(self) -> tuple[float, float]:
        N, nu = self._effective, self.n_samples - len(self.samples) + 1.0
        rest = self.squares / (self.squares + N * self.effect**2)
        if self.nulls == PLAIN_NULLS and self.equal_variances:
            value, error = GPrior("inverse-gamma", N * self.rscale**2).log_bayes_factor(rest, 1, nu)
        else:
            value, error = self.nulls.log_bayes_factor(self._effect_size(N, nu - 1))
        largest = max(sample.largest for sample in self.samples)
        rounding = EQUAL_WITHIN * largest / np.sqrt(self.squares / self.n_samples)  # of the squares, relative
        return value, error + float(nu * rounding * (1 - rest))

    def _effect_size(self, N: float, nu: float) -> Effect:
        """δ = r sinh u."""
        furthest = 60.0  # |u| beyond which a Cauchy density leaves 10⁻²⁶
        if self.equal_variances:
            t = np.array([self.effect * np.sqrt(N * nu / self.squares)])
            likelihood: Callable = partial(log_ratio, t=t, N=np.array([N]), nu=nu)
        else:
            n, squares = zip(*((sample.n, sample.squares) for sample in self.samples))
            likelihood = TwoNoises.of(n, squares, self.effect).log_ratio

        def log_prior(u: np.ndarray) -> np.ndarray:
            return -np.logaddexp(u, -u) + np.log(2 / np.pi)  # 1/(π cosh u)

        def log_joint(u: np.ndarray) -> np.ndarray:
            return log_prior(u) + likelihood(self.rscale * np.sinh(u))

        return Effect(lambda x: float(np.arcsinh(x / self.rscale)), log_prior, log_joint, -furthest, furthest)


def ttest(
    x: Any,
    y: Any = None,
    *,
    paired: bool = False,
    null: float | tuple[float, float] = 0.0,
    alternative: str = "two-sided",
    equal_variances: bool = True,
    rscale: float | str = "medium",
) -> BayesFactorResult:
    """Does a mean differ from a number, or do two means differ?

    Parameters
    ----------
    x : array-like of shape (n,)
        With ``paired`` it may be a table of two columns, the pairs.
    y : array-like of shape (m,), optional
        The second sample; with ``paired`` the partner of each x.  None: one sample.
    paired : bool, default=False
        Are x and y two measurements of the same units?  Then their differences x − y are one sample.
    null : float or (float, float), default=0.0
        Mean, or difference of the means of x and y, under the null hypothesis.  A pair: all effect sizes δ
        between the two are compared with all others.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        A mean greater or less than ``null`` alone is compared with it.
    equal_variances : bool, default=True
        Have two samples one σ?  If not, δ is in units of √((σ_x² + σ_y²)/2) (Welch's problem).
    rscale : float or {"medium", "wide", "ultrawide"}, default="medium"
        Scale r of the Cauchy prior of the effect size δ = (μ − null)/σ: half of the prior lies within r of
        0.  The words are those of the R package BayesFactor: √2/2 (its default), 1, √2.

    Returns
    -------
    BayesFactorResult
        Log Bayes factor, nats, of a difference against none, of one side against none, or of effects outside
        the interval against those inside it; its printed text says which.

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
    unit of x.  The integral over the prior of the effect is right to about 10⁻⁸ nats, also far out in a tail.

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
    kind = "paired" if paired else "one-sample" if y is None else "two-sample"
    if not equal_variances and kind != "two-sample":
        raise ValueError("equal_variances=False needs two samples, x and y")
    x, y = pairs_of(x, y, paired)
    if kind == "two-sample":
        _refuse_groups(x, y)
    nulls = Nulls.of(alternative, null)
    null = number_of("null", 0.0 if nulls.interval else null)
    samples = sums_of(kind, x, y, null)
    test = TTest(kind, samples, null, rscale_of("ttest", rscale), nulls, bool(equal_variances))
    return BayesFactorResult(_checked(test))


def pairs_of(x: Any, y: Any, paired: bool) -> tuple[Any, Any]:
    """x and y, of pairs also from a table of two columns."""
    if not paired or y is not None:
        return x, y
    table = array_of("x", x, np.ndim(x)) if np.ndim(x) == 2 else np.zeros((0, 0))
    if table.shape[1] != 2:
        raise ValueError("paired=True needs y, the partner of each x, or a table of two columns as x")
    return table[:, 0], table[:, 1]


def _refuse_groups(x: Any, y: Any) -> None:
    """A second argument that says which group a row is in."""
    labels, values = np.ravel(np.asarray(y)), np.ravel(np.asarray(x))
    is_text = labels.dtype.kind in "USO" and any(isinstance(one, str) for one in labels.tolist())
    if not is_text:
        try:
            labels, values = np.array(labels.tolist()), np.array(values.tolist())
        except ValueError:  # lists among them
            return
        if not {labels.dtype.kind, values.dtype.kind} <= set("fiub"):  # which are refused as no numbers
            return
    levels = list(dict.fromkeys(labels.tolist())) if is_text else np.unique(labels).tolist()
    is_group = len(labels) == len(values) and len(levels) == 2 and len(np.unique(values)) > 2
    if is_text or is_group:
        a, b = levels if len(levels) == 2 else ("a", "b")
        raise ValueError(
            f"y says which group a row is in, and not a second sample: ttest(x[y == {a!r}], x[y == {b!r}])"
        )


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
        least = 2 if len(test.samples) == 1 or not test.equal_variances else 1
        if sample.n < least:
            raise ValueError(f"{name} must have at least {least} values, got {sample.n}")
    if test.n_samples < len(test.samples) + 1:
        raise ValueError("x and y must have at least three values together")
    largest = max(sample.largest for sample in test.samples)
    for name, sample in zip(names, () if test.equal_variances else test.samples):
        if sample.squares <= sample.n * (EQUAL_WITHIN * largest) ** 2:
            raise ValueError(f"{name} is constant: without equal variances each sample needs a spread")
    if test.squares <= test.n_samples * (EQUAL_WITHIN * largest) ** 2:
        what = {"one-sample": "x is", "paired": "the differences x − y are", "two-sample": "x and y are each"}
        raise ValueError(f"{what[test.kind]} constant: without any spread there is no effect size")
    return test
