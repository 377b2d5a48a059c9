"""One side, intervals and two noises: against other integrals, and against R's BayesFactor 0.9.12-4.4."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from data_of_r import DOLLS, MPG, QSEC, SLEEP
from scipy import integrate, stats
from scipy.special import expit, hyp2f1, logit, logsumexp
from sklearn.datasets import load_iris

from sgevidence.hypothesis_tests import contingency, correlation, proportion, ttest

FIRST, SECOND = SLEEP
IRIS = load_iris().data
#: Nothing here is tuned to a seed: any other will do.
SEED = 20261128


def log_of(result):
    return result.log_bayes_factor


R = {
    # extractBF(ttestBF(x − y, nullInterval = c(-Inf, 0)), logbf = TRUE): the interval, and its complement
    "t, less": (lambda **kw: ttest(FIRST, SECOND, paired=True, **kw), "less", 3.53854876895),
    "t, greater": (lambda **kw: ttest(FIRST, SECOND, paired=True, **kw), "greater", -2.29437325936),
    "t, (-.1, .1)": (
        lambda **kw: ttest(FIRST - SECOND, **kw),
        (-0.1, 0.1),
        2.9363462610097 - 0.0879059630037,
    ),
    "t, two samples": (
        lambda **kw: ttest(FIRST, SECOND, rscale="wide", **kw),
        (0.2, 1.5),
        0.406954014048 + 2.464549207213,
    ),
    "t, unequal sizes": (lambda **kw: ttest(IRIS[:50, 1], IRIS[60:100, 1], **kw), "greater", 27.2846136054),
    "p, greater": (lambda **kw: proportion(15, 25, **kw), "greater", 0.0713385595336),
    "p, (.4, .6)": (lambda **kw: proportion(15, 25, **kw), (0.4, 0.6), -0.7864684103875 + 0.0131382261071),
    "r, less": (lambda **kw: correlation(IRIS[:, 0], IRIS[:, 1], **kw), "less", -0.0655367755945),
    "r, (-.1, .1)": (
        lambda **kw: correlation(IRIS[:, 0], IRIS[:, 1], **kw),
        (-0.1, 0.1),
        -1.035649297117 - 0.167132648793,
    ),
    "r, greater": (lambda **kw: correlation(MPG, QSEC, rscale="ultrawide", **kw), "greater", 1.88907155207),
}


@pytest.mark.parametrize("name", R)
def test_answers_of_bayesfactor(name):
    run, asked, expected = R[name]
    result = run(**({"alternative": asked} if isinstance(asked, str) else {"null": asked}))
    tolerance = 1e-3 if name.startswith("r,") else 1e-6  # R's integrate() of correlations is as rough
    assert result.log_bayes_factor == pytest.approx(expected, abs=tolerance)
    assert 0 <= result.log_bayes_factor_std < 1e-6


def test_a_probability_less_than_another():
    """proportionBF(560, 1000, p = .3, rscale = 1, nullInterval = c(0, .3)) and its complement."""
    run = [proportion(560, 1000, null=0.3, rscale=1, alternative=side) for side in ("less", "greater")]
    assert [log_of(one) for one in run] == pytest.approx([-6.25691417943, 142.42150159211], abs=1e-6)


# -- by other integrals ---------------------------------------------------------------------------------


def of_mean_and_sd(t, n):
    """n numbers with this t statistic against 0, as a sum of two: an update of many rows is not needed."""
    x = np.random.default_rng([SEED, n]).standard_normal(n)
    x = (x - x.mean()) / x.std(ddof=1)
    return x + t / np.sqrt(n)


def simpson(log_f, low, high, nodes=2401):
    """log ∫ exp log_f, nodes closer to both ends."""
    v = low + (high - low) * (0.5 - 0.5 * np.cos(np.linspace(0, np.pi, nodes)))
    f = log_f(v)
    return f.max() + np.log(integrate.simpson(np.exp(f - f.max()), x=v))


def log_m(t, n, r, a, b):
    """By Bayes' rule: σ on a grid about where it is likely given δ, then the prior of δ in [a, b]."""
    x, Q = t / np.sqrt(n), n - 1 + t**2

    def log_likelihood(delta):
        b, root = n * x * delta, np.sqrt((n * x * delta) ** 2 + 4 * Q * n)
        mode = np.where(b > 0, (root + b) / (2 * Q), 2 * n / (root + np.abs(b)))  # of 1/σ
        log_u = np.log(mode)[:, None] + np.linspace(-25, 12, 371) / np.sqrt(n)
        u = np.exp(log_u)
        log_f = n * log_u - 0.5 * ((n - 1) * u**2 + n * (x * u - delta[:, None]) ** 2)
        return logsumexp(log_f, axis=1)

    def log_f(v):
        return log_likelihood(r * np.sinh(v)) - np.log(np.pi * np.cosh(v))

    low, high = np.arcsinh(np.clip([a, b], -1e9, 1e9) / r)
    cuts = np.clip(np.arcsinh((x + np.array([-15, 15]) / np.sqrt(n)) / r), low, high)
    parts = [simpson(log_f, *pair) for pair in pairwise([low, *cuts, high]) if pair[0] < pair[1]]
    prior = stats.cauchy.cdf(b, scale=r) - stats.cauchy.cdf(a, scale=r)
    return logsumexp(parts) - np.log(prior) - log_likelihood(np.zeros(1))[0]


@pytest.mark.parametrize("t, n", [(1.3, 3), (2.2, 12), (-20.0, 25), (46.7, 1000), (10.0, 3000)])
def test_sides_and_intervals_of_a_t_test(t, n):
    x, r = of_mean_and_sd(t, n), 0.8
    side = log_m(t, n, r, 0.0, np.inf)
    assert log_of(ttest(x, alternative="greater", rscale=r)) == pytest.approx(side, rel=1e-10, abs=1e-7)
    inside = log_m(t, n, r, -0.1, 0.2)
    parts = [log_m(t, n, r, *ends) for ends in ((-np.inf, -0.1), (0.2, np.inf))]
    mass = stats.cauchy.cdf(-0.1, scale=r), stats.cauchy.sf(0.2, scale=r)
    outside = logsumexp(parts, b=np.array(mass) / sum(mass))
    found = log_of(ttest(x, null=(-0.1, 0.2), rscale=r))
    assert found == pytest.approx(outside - inside, rel=1e-10, abs=1e-7)


def test_a_hundred_thousand_rows_keep_their_tail():
    """t = 10: ttest.tstat of BayesFactor says 45.031, −8.175 and −192.788 by a normal approximation."""
    x = of_mean_and_sd(10.0, 100_000)
    greater, less = (log_of(ttest(x, alternative=side)) for side in ("greater", "less"))
    assert greater == pytest.approx(45.031, abs=1e-3)
    assert np.logaddexp(greater, less) - np.log(2) == pytest.approx(log_of(ttest(x)), abs=1e-8)
    # beside zero L(δ) is e^(δ t √N), so that the mean over one side is 2 p(0)/(t √N)
    assert less == pytest.approx(np.log(2 / (np.pi * np.sqrt(0.5)) / (10 * np.sqrt(1e5))), abs=0.02)


@pytest.mark.parametrize("seed", range(4))
def test_sides_add_up(seed):
    """Each has half of the prior."""
    rng = np.random.default_rng([SEED, seed])
    x, y = np.round(rng.standard_normal(9), 1) * 1e-3 + 1e4, rng.standard_normal(15) * 1e-3 + 1e4
    tests = (
        lambda side: ttest(x, y, alternative=side),
        lambda side: ttest(x, y, alternative=side, equal_variances=False),
        lambda side: correlation(x, y[:9], alternative=side),
        lambda side: proportion(seed, 17, alternative=side),
        lambda side: contingency(rng_table(seed), alternative=side, fixed="rows"),
    )
    for run in tests:
        both = np.logaddexp(log_of(run("greater")), log_of(run("less"))) - np.log(2)
        assert both == pytest.approx(log_of(run("two-sided")), abs=1e-8)


def rng_table(seed):
    return np.random.default_rng([SEED, 5, seed]).integers(0, 30, (2, 2))


@pytest.mark.parametrize(
    "s, n, interval", [(3, 17, (0.2, 0.5)), (0, 40, (0.4, 0.7)), (9000, 10_000, (0.0, 0.5))]
)
def test_intervals_of_a_proportion(s, n, interval):
    """Over p, in the place of its logit."""
    prior = stats.logistic(scale=0.5)

    def log_f(p):
        return s * np.log(p) + (n - s) * np.log1p(-p) + prior.logpdf(logit(p)) - np.log(p) - np.log1p(-p)

    def log_m(a, b):
        return simpson(log_f, a, b, 200_001)

    def log_mass(a, b):
        a, b = logit(a), logit(b)
        return np.log(prior.cdf(b) - prior.cdf(a) if a < 0 else prior.sf(a) - prior.sf(b))

    a, b = interval
    beside = [pair for pair in ((1e-300, a), (b, 1 - 1e-16)) if pair[0] < pair[1]]
    outside = logsumexp([log_m(*pair) for pair in beside]) - logsumexp([log_mass(*pair) for pair in beside])
    inside = log_m(max(a, 1e-300), b) - log_mass(max(a, 1e-300), b)
    found = log_of(proportion(s, n, null=interval))
    assert found == pytest.approx(outside - inside, rel=1e-9, abs=1e-7)


def test_an_interval_of_a_correlation():
    """The likelihood of r by its series, and the stretched beta prior over ρ."""
    x, y = IRIS[:40, 0], IRIS[:40, 2]
    r, n, a = np.corrcoef(x, y)[0, 1], 40, 3.0

    def log_f(rho):
        log_F = np.log(hyp2f1(0.5, 0.5, n - 0.5, (1 + rho * r) / 2))
        return (a - 1 + (n - 1) / 2) * np.log1p(-(rho**2)) - (n - 1.5) * np.log1p(-rho * r) + log_F

    prior = stats.beta(a, a, loc=-1, scale=2)
    ends = [(-1 + 1e-15, -0.2), (-0.2, 0.3), (0.3, 1 - 1e-15)]
    left, inside, right = (simpson(log_f, *pair, 40_001) for pair in ends)
    mass = prior.cdf(0.3) - prior.cdf(-0.2)
    expected = np.logaddexp(left, right) - np.log1p(-mass) - inside + np.log(mass)
    assert log_of(correlation(x, y, null=(-0.2, 0.3))) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    "table",
    [[[0, 9], [4, 5]], *(pytest.param(t, marks=pytest.mark.slow) for t in (DOLLS, [[3000, 10], [2800, 60]]))],
)
def test_odds_of_a_table_are_differences_of_logits_of_betas(table):
    """P(log odds ratio in an interval) by scipy's distribution function of one beta, over the other."""
    table = np.asarray(table)

    def mass(alpha, low, high):
        one, two = stats.beta(*alpha[0]), stats.beta(*alpha[1])

        def f(u):
            p = expit(u)
            return (one.cdf(expit(u + high)) - one.cdf(expit(u + low))) * two.pdf(p) * p * (1 - p)

        mode = logit(alpha[1][0] / sum(alpha[1]))
        width = 1 / np.sqrt(sum(alpha[1]) * expit(mode) * expit(-mode))
        ends = mode + width * np.array([-60, -20, -8, -3, 0, 3, 8, 20, 60])
        return sum(integrate.quad(f, *pair, epsabs=1e-14, epsrel=1e-12)[0] for pair in pairwise(ends))

    low, high = -0.7, 0.4
    inside, before = mass(table + 1.0, low, high), mass(np.ones((2, 2)), low, high)
    expected = np.log((1 - inside) / (1 - before)) - np.log(inside / before)
    for fixed in ("none", "total", "rows", "columns"):
        found = log_of(contingency(table, fixed=fixed, null=(low, high)))
        assert found == pytest.approx(expected, abs=1e-8)


def test_two_noises_are_an_integral_over_all_parameters():
    """δ, σ₁, σ₂ and the common mean on a grid, by Bayes' rule as the model states it."""
    x, y, r = np.array([0.3, 1.9, -0.4, 1.1]), np.array([5.0, -3.2, 2.5, 7.7, -6.0]), 0.9
    s1, s2 = np.linspace(-3.0, 5.5, 69)[:, None], np.linspace(-1.0, 6.5, 61)
    step = (s1[1, 0] - s1[0, 0]) * (s2[1] - s2[0])
    v1, v2 = np.exp(2 * s1), np.exp(2 * s2)
    S1, S2 = (np.sum((z - z.mean()) ** 2) for z in (x, y))

    def log_p(delta):  # the mean integrated by hand
        variance = v1 / 4 + v2 / 5
        away = x.mean() - y.mean() - delta * np.sqrt((v1 + v2) / 2)
        log_f = -0.5 * (away**2 / variance + np.log(variance)) - 3 * s1 - 4 * s2 - 0.5 * (S1 / v1 + S2 / v2)
        return logsumexp(log_f) + np.log(step)

    u = np.linspace(-14, 14, 561)
    joint = np.array([log_p(r * np.sinh(one)) for one in u]) + stats.hypsecant.logpdf(u)
    expected = logsumexp(joint) + np.log(u[1] - u[0]) - log_p(0.0)
    found = ttest(x, y, equal_variances=False, rscale=r)
    assert log_of(found) == pytest.approx(expected, abs=1e-5)
    assert found.statistics["t"] == pytest.approx(stats.ttest_ind(x, y, equal_var=False).statistic)
    assert found.statistics["df"] == pytest.approx(stats.ttest_ind(x, y, equal_var=False).df)
    joint[len(u) // 2] -= np.log(2)  # half of the node at no effect
    less = logsumexp(joint[: len(u) // 2 + 1]) + np.log(2 * (u[1] - u[0])) - log_p(0.0)
    assert log_of(ttest(x, y, equal_variances=False, rscale=r, alternative="less")) == pytest.approx(
        less, abs=0.03
    )


def test_two_noises_of_any_unit_and_order():
    rng = np.random.default_rng([SEED, 9])
    x, y = rng.standard_normal(40) + 1.0, 4 * rng.standard_normal(7)
    plain = log_of(ttest(x, y, equal_variances=False))
    assert log_of(ttest(1e-6 * x + 3.0, 1e-6 * y + 3.0, equal_variances=False)) == pytest.approx(
        plain, abs=1e-5
    )
    assert log_of(ttest(y, x, equal_variances=False)) == pytest.approx(plain, abs=1e-8)
    updated = ttest(x[:20], y, equal_variances=False).update(x[20:], [])
    assert log_of(updated) == pytest.approx(plain, abs=1e-8)


@pytest.mark.parametrize("t, n", [(2.0, 10), (46.7, 1000), (-20.0, 51), (3.0, 2)])
def test_the_density_of_t_is_scipys(t, n):
    """Its mean over a Cauchy prior of the effect, over the density at no effect."""
    z = stats.norm.ppf((np.arange(n) + 0.5) / n)
    x = z / z.std(ddof=1) + t / np.sqrt(n)
    delta = (t + 14 * np.sqrt(1 + t**2 / (2 * n)) * np.linspace(-1, 1, 4001)) / np.sqrt(n)
    joint = stats.nct.logpdf(t, n - 1, delta * np.sqrt(n)) + stats.cauchy.logpdf(delta, scale=0.7)
    expected = logsumexp(joint) + np.log(delta[1] - delta[0]) - stats.t.logpdf(t, n - 1)
    assert log_of(ttest(x, rscale=0.7)) == pytest.approx(expected, abs=1e-7)


# -- words ----------------------------------------------------------------------------------------------


def test_a_result_says_what_it_compares():
    assert "the mean is greater than 0 as" in " ".join(str(ttest([3, 1, 4.0], alternative="greater")).split())
    words = " ".join(str(correlation(MPG, QSEC, null=(-0.1, 0.1))).split())
    assert "correlation is between -0.1 and 0.1" in words and "is not between -0.1 and 0.1" in words
    words = " ".join(str(proportion(15, 25, null=(0.0, 0.5))).split())
    assert "between 0 and 0.5" in words
    words = " ".join(str(ttest(FIRST, SECOND, null=(-np.inf, 0.3))).split())
    assert "effect size is below 0.3" in words and "is not below 0.3" in words
    words = " ".join(str(contingency(DOLLS, alternative="less")).split())
    assert "log odds ratio is less than 0" in words and "independent" in words
    kept = ttest(FIRST, SECOND, alternative="less").with_rscale("wide").update([1.0, 2.0], [3.0])
    assert "is less than 0" in " ".join(str(kept).split())


@pytest.mark.parametrize(
    "run, words",
    [
        (lambda: ttest(FIRST, null=(-0.1, 0.1), alternative="less"), "leave alternative= out"),
        (lambda: ttest(FIRST, null=(0.1, -0.1)), "pair"),
        (lambda: ttest(FIRST, null=(0.1,)), "pair"),
        (lambda: ttest(FIRST, null=(-np.inf, np.inf)), "pair"),
        (lambda: ttest(FIRST, null=(np.nan, 1.0)), "pair"),
        (lambda: ttest(FIRST, alternative="bigger"), "alternative must be one of"),
        (lambda: ttest(FIRST, equal_variances=False), "two samples"),
        (lambda: ttest(FIRST, [1.0], equal_variances=False), "y must have at least 2"),
        (lambda: ttest(FIRST, [1.0, 1.0], equal_variances=False), "y is constant"),
        (lambda: correlation(FIRST, SECOND, null=0.1), "pair"),
        (lambda: correlation(FIRST, SECOND, null=(-2, 0.1)), "from -1 to 1"),
        (lambda: proportion(3, 4, null=(0.2, 1.1)), "from 0 to 1"),
        (lambda: contingency(DOLLS, fixed="margins", alternative="less"), "margins"),
        (lambda: contingency([[1, 2, 3], [4, 5, 6]], null=(-1, 1)), r"\(2, 2\)"),
    ],
)
def test_what_cannot_be_compared_is_refused(run, words):
    with pytest.raises(ValueError, match=words):
        run()


def test_groups_in_the_place_of_a_sample_are_refused():
    x = np.arange(6) / 7
    text, numbers = np.array(list("ababab")), np.array([0, 1, 0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"ttest\(x\[y == 'a'\], x\[y == 'b'\]\)"):
        ttest(x, text)
    with pytest.raises(ValueError, match=r"ttest\(x\[y == 'a'\], x\[y == 'b'\]\)"):
        ttest(x, pd.Series(text, dtype="category"))
    with pytest.raises(ValueError, match=r"ttest\(x\[y == 0\], x\[y == 1\]\)"):
        ttest(x, numbers)
    ttest(x, numbers, paired=True)
    ttest(x, numbers[:5])
    ttest([0.0, 1, 1, 0], [2.0, 3, 2, 2])


def test_pairs_may_be_columns_of_a_frame():
    frame = pd.DataFrame({"first": FIRST, "second": SECOND})
    expected = log_of(ttest(FIRST, SECOND, paired=True))
    assert log_of(ttest(frame, paired=True)) == expected
    updated = ttest(frame[:4], paired=True).update(frame[4:])
    assert log_of(updated) == pytest.approx(expected, abs=1e-10)
    with pytest.raises(ValueError, match="two columns"):
        ttest(frame.assign(third=1.0), paired=True)
