"""Against integrals that share no formula with the package, on data that nobody has tuned."""

import warnings
from enum import Enum

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

from sgevidence.hypothesis_tests import anova, contingency, correlation, proportion, ttest

#: Nothing here is tuned to a seed: any other will do.
SEED = 20261127


def generator(*seed):
    return np.random.default_rng([SEED, *seed])


def log_trapezoid(log_f, low, high, nodes=8001):
    """log ∫ exp log_f over a wide range, without any search for where it is."""
    u = np.linspace(low, high, nodes)
    return logsumexp(log_f(u)) + np.log(u[1] - u[0])


# -- t tests: σ, then the effect, on a grid -----------------------------------------------------------


def by_noncentral_t(t, df, N, r):
    """The density of t under a Cauchy prior of the effect, over that under none."""

    def log_f(delta):
        return stats.nct.logpdf(t, df, delta * np.sqrt(N)) + stats.cauchy.logpdf(delta, scale=r)

    peak = t / np.sqrt(N)
    return log_trapezoid(log_f, peak - 12, peak + 12, 4001) - stats.t.logpdf(t, df)


@pytest.mark.parametrize("seed", range(6))
def test_t_tests_are_integrals_over_the_effect(seed):
    rng = generator(1, seed)
    n, m = rng.integers(2, 30, 2)
    offset, unit, r = 10.0 ** rng.uniform(-2, 4), 10.0 ** rng.uniform(-3, 3), rng.uniform(0.2, 1.5)
    x = unit * (rng.standard_normal(n) + rng.choice([0.0, 0.8])) + offset
    y = np.round(rng.standard_normal(m), 1) * unit + offset  # repeated values
    found = ttest(x, y, rscale=r)
    t, df = stats.ttest_ind(x, y).statistic, n + m - 2
    assert found.statistics["t"] == pytest.approx(t, rel=1e-6) and found.statistics["df"] == df
    assert found.log_bayes_factor == pytest.approx(by_noncentral_t(t, df, n * m / (n + m), r), abs=1e-5)
    one = ttest(x, null=offset, rscale=r)
    t = stats.ttest_1samp(x, offset).statistic
    assert one.log_bayes_factor == pytest.approx(by_noncentral_t(t, n - 1, n, r), abs=1e-5)


def test_units_do_not_matter():
    rng = generator(2)
    x, y = rng.standard_normal(12), rng.standard_normal(9) + 0.5
    plain = ttest(x, y).log_bayes_factor
    for unit, offset in ((1e-30, 0.0), (1e30, 0.0), (3.0, 1e6), (1e-3, -1e4)):
        found = ttest(unit * x + offset, unit * y + offset).log_bayes_factor
        assert found == pytest.approx(plain, abs=1e-5)
    z = rng.standard_normal(12)
    assert correlation(1e5 * x - 1e9, -1e-8 * z).log_bayes_factor == pytest.approx(
        correlation(x, z).log_bayes_factor, abs=1e-5
    )


# -- proportions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("s, n, null, r", [(3, 4, 0.5, 0.3), (0, 1, 0.9, 5.0), (40, 40, 0.2, 1.0)])
def test_proportions_are_integrals_over_the_logit(s, n, null, r):
    def log_f(x):
        log_prior = stats.logistic.logpdf(x, np.log(null / (1 - null)), r)
        return log_prior + s * stats.logistic.logcdf(x) + (n - s) * stats.logistic.logsf(x)

    expected = log_trapezoid(log_f, -200.0, 200.0, 40_001) - s * np.log(null) - (n - s) * np.log1p(-null)
    assert proportion(s, n, null=null, rscale=r).log_bayes_factor == pytest.approx(expected, abs=1e-7)


def test_proportions_of_very_many_trials():
    """Laplace's approximation is exact there."""
    n, s = 10**12, 500_001_000_000
    x = np.log(s / (n - s))
    log_ratio = s * np.log(s / n / 0.5) + (n - s) * np.log((n - s) / n / 0.5)
    expected = log_ratio + stats.logistic.logpdf(x, 0, 0.5) + 0.5 * np.log(2 * np.pi / (n / 4))
    assert proportion(s, n).log_bayes_factor == pytest.approx(expected, abs=1e-3)


def test_a_uniform_prior_of_the_probability():
    """r = 1 about ½: the beta function."""
    expected = gammaln(16) + gammaln(11) - gammaln(27) - gammaln(1) + 25 * np.log(2)
    assert proportion(15, 25, rscale=1.0).log_bayes_factor == pytest.approx(expected, abs=1e-8)


# -- tables -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fixed", ["total", "rows", "columns", "margins"])
def test_tables_are_averages_over_the_prior(fixed):
    """Two by two, by draws of the cells' probabilities; independence has margins of its own."""
    y, rng = np.array([[3, 1], [0, 4]]), generator(3)
    p = rng.dirichlet(np.ones(4), 400_000).reshape(-1, 2, 2)
    row, column = rng.beta(1, 1, (2, 400_000))  # a_r − 1 = 1 with a = 1
    q = np.stack([row, 1 - row])[:, None] * np.stack([column, 1 - column])[None]
    with np.errstate(divide="ignore"):
        log_p = (np.log(p) * y).sum(axis=(1, 2))
    log_q = (np.log(np.moveaxis(q, 2, 0)) * y).sum(axis=(1, 2))
    r, c = y.sum(axis=1), y.sum(axis=0)
    if fixed == "total":
        value = logsumexp(log_p) - logsumexp(log_q)
    elif fixed == "margins":
        tables = [np.array([[k, 4 - k], [3 - k, k + 1]]) for k in range(4)]
        ways = np.array([gammaln(9) - gammaln(one + 1).sum() for one in tables])
        joint = ways + [logsumexp((np.log(p) * one).sum(axis=(1, 2))) for one in tables]
        at = next(k for k, one in enumerate(tables) if (one == y).all())
        value = joint[at] - logsumexp(joint) - (ways[at] - logsumexp(ways))
    else:  # given the sums of the groups
        axis, sums = (2, r) if fixed == "rows" else (1, c)
        log_sums = (np.log(p.sum(axis=axis)) * sums).sum(axis=1)
        log_null = log_q - (np.log(np.moveaxis(q, 2, 0).sum(axis=axis)) * sums).sum(axis=1)
        value = logsumexp(log_p) - logsumexp(log_sums) - (logsumexp(log_null) - np.log(400_000))
    assert contingency(y, fixed=fixed).log_bayes_factor == pytest.approx(value, abs=0.03)


def test_columns_are_rows_of_the_other_table():
    y = generator(4).integers(0, 9, (3, 5))
    same = contingency(y.T, fixed="rows", concentration=1.5).log_bayes_factor
    assert contingency(y, fixed="columns", concentration=1.5).log_bayes_factor == pytest.approx(
        same, abs=1e-10
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["text", "numbers", "categorical", "bool", "dates", "categorical dates"])
def test_labels_of_cases_are_counted_as_pandas_counts_them(seed, kind):
    pandas = pytest.importorskip("pandas")
    rng = generator(12, seed)
    days = pandas.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01"]).astype("datetime64[ns]")
    levels = {"text": ["no", "maybe", "yes"], "numbers": [10, 9, -1], "bool": [False, True]}
    chosen = levels.get(kind, days if "dates" in kind else ["low", "mid", "high"])
    a, b = pandas.Series(rng.choice(chosen, 40)), pandas.Series(rng.choice(["f", "m"], 40))
    a = a.astype(pandas.CategoricalDtype(chosen, ordered=True)) if "categorical" in kind else a
    table = pandas.crosstab(a, b)
    for fixed in ("total", "rows", "columns"):
        found = contingency(a, b, fixed=fixed)
        assert found.log_bayes_factor == contingency(table, fixed=fixed).log_bayes_factor
    in_two = contingency(a[:25], b[:25], fixed="rows").update(a[25:], b[25:])
    whole = contingency(table, fixed="rows").log_bayes_factor
    assert in_two.log_bayes_factor == pytest.approx(whole, abs=1e-12)
    if kind == "bool":  # the sign of the odds ratio is that of the table in its order
        one = contingency(a, b, alternative="greater").log_bayes_factor
        assert one == contingency(table, alternative="greater").log_bayes_factor


def test_labels_without_an_order_are_levels():
    plan = Enum("plan", ["basic", "full"])
    a, b = [plan.basic, plan.full, plan.full] * 4, ["x", "y"] * 6
    words = [one.name for one in a]
    assert contingency(a, b).log_bayes_factor == pytest.approx(contingency(words, b).log_bayes_factor)


# -- correlations -------------------------------------------------------------------------------------


def by_integrals(n, r, kappa):
    """Over w (Jeffreys 1961) and ρ: (1 − ρ²)^((n−1)/2) ∫ dw (cosh w − ρ r)^(1−n)."""
    w = 0.01 * (np.arange(4000)[:, None] + 0.5)
    x, weight = np.polynomial.legendre.leggauss(300)
    rho = np.sin(np.pi / 2 * x)  # dense at the ends
    log_cosh = np.logaddexp(w, -w) - np.log(2)
    log_inner = logsumexp((1 - n) * (log_cosh + np.log1p(-rho * r / np.exp(log_cosh))), axis=0)
    log_null = logsumexp((1 - n) * log_cosh)
    log_prior = stats.beta.logpdf((rho + 1) / 2, 1 / kappa, 1 / kappa) - np.log(2)
    log_weight = np.log(weight * np.pi / 2 * np.cos(np.pi / 2 * x))
    return logsumexp((n - 1) / 2 * np.log1p(-(rho**2)) + log_inner + log_prior + log_weight) - log_null


@pytest.mark.parametrize("n, r, kappa", [(3, 0.3, 1.0), (5, -0.9, 0.3), (40, 0.5, 0.6), (12, 0.99, 1.5)])
def test_correlations_are_integrals(n, r, kappa):
    x, z = generator(5, n).standard_normal((2, n))
    x = (x - x.mean()) / np.linalg.norm(x - x.mean())
    z = z - z.mean() - x * ((z - z.mean()) @ x)
    y = r * x + np.sqrt(1 - r**2) * z / np.linalg.norm(z)
    found = correlation(x, y, rscale=kappa)
    assert found.statistics["r"] == pytest.approx(r)
    assert found.log_bayes_factor == pytest.approx(by_integrals(n, r, kappa), abs=1e-5)


# -- factors ------------------------------------------------------------------------------------------


def by_importance(terms, y, r, rng, draws=200_000):
    """Given all g a multivariate Cauchy density of y; g from InvGamma(1/2, r²/2), averaged."""
    n, u = len(y), y - y.mean()
    Z = [term - term.mean(axis=0) for term in terms]
    g = r**2 / rng.chisquare(1, (draws, len(terms)))
    cov = np.eye(n) + np.einsum("mt,tij->mij", g, [z @ z.T for z in Z])
    left = np.linalg.solve(cov, np.tile(u[:, None], (draws, 1, 1)))[:, :, 0] @ u / (u @ u)
    values = -0.5 * np.linalg.slogdet(cov)[1] - (n - 1) / 2 * np.log(left)
    weights = np.exp(values - values.max())
    return values.max() + np.log(weights.mean()), weights.std() / weights.mean() / np.sqrt(draws)


def check_anova(seed):
    """Unequal cells, three levels by two; rows of n, so the n × n covariance shares no algebra."""
    rng = generator(6, seed)
    n = int(rng.integers(9, 16))
    a, b = rng.choice(["u", "v", "w"], n), rng.choice([0, 1], n)
    a[:3], b[:2] = ["u", "v", "w"], [0, 1]
    y = 1e3 + 5.0 * rng.standard_normal(n) + 4.0 * (b == 1)
    found = anova(y, {"a": a, "b": b}, rscale=0.7)
    A = np.array([[(a == level) - 1 / 3 for level in "uvw"]])[0].T  # I − J/3: the same covariance
    B = np.array([[(b == level) - 1 / 2 for level in (0, 1)]])[0].T
    AB = (A[:, :, None] * B[:, None]).reshape(n, -1)
    for k, terms in enumerate(([A], [B], [A, B], [A, B, AB])):
        expected, std = by_importance(terms, y, 0.7, rng, draws=20_000)
        assert abs(found["log_bayes_factor"][k] - expected) < 5 * std + 1e-4, (k, expected, std)


@pytest.mark.parametrize("seed", range(2))
def test_factors_are_averages_over_their_scales(seed):
    check_anova(seed)


def by_trapezoid(terms, y, r, step=0.1):
    """As by importance, on a grid of log g; matrices of the size of the levels, however many rows."""
    n, u = len(y), y - y.mean()
    Z = [term - term.mean(axis=0) for term in terms]
    grid = np.arange(-14.0, 16.0, step)
    each = 0.5 * np.log(r**2 / 2) - gammaln(0.5) - 0.5 * grid - r**2 / 2 * np.exp(-grid)
    log_g = np.stack(np.meshgrid(*[grid] * len(terms), indexing="ij"), axis=-1).reshape(-1, len(terms))
    log_prior = np.sum(np.stack(np.meshgrid(*[each] * len(terms), indexing="ij")), axis=0).ravel()
    W, width = np.hstack(Z), np.repeat(np.arange(len(Z)), [z.shape[1] for z in Z])
    root = np.exp(0.5 * log_g[:, width])
    M = np.eye(W.shape[1]) + root[:, :, None] * (W.T @ W) * root[:, None]
    b = root * (W.T @ u)
    left = 1 - np.einsum("mi,mi->m", b, np.linalg.solve(M, b[..., None])[..., 0]) / (u @ u)
    log_f = log_prior - 0.5 * np.linalg.slogdet(M)[1] - (n - 1) / 2 * np.log(left)
    return logsumexp(log_f) + len(terms) * np.log(step)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_errors_of_the_rule_are_no_smaller_than_they_say(seed):
    """Few and many rows, no effect and a strong one."""
    rng = generator(9, seed)
    n, levels = int(10 ** rng.uniform(1.2, 3.5)), rng.integers(2, 5, 2)
    a, b = (rng.integers(0, k, n) for k in levels)
    y = rng.standard_normal(n) + rng.choice([0.0, 1.0]) * (a == 1)
    found = anova(y, {"a": a, "b": b}, rscale=0.5)
    A, B = (np.eye(k)[x] - 1 / k for k, x in zip(levels, (a, b)))  # I − J/k: the same covariance
    exact = [by_trapezoid(terms, y, 0.5) for terms in ([A], [B], [A, B])]
    assert (abs(found["log_bayes_factor"][:3] - exact) <= found["log_bayes_factor_std"][:3] + 1e-6).all()
    assert (found["log_bayes_factor_std"] < 1e-3).all()


def test_levels_are_alike():
    """Neither names nor order matter, nor the unit of y."""
    rng = generator(7)
    a, y = rng.integers(0, 4, 50), rng.standard_normal(50)
    plain = anova(y, {"a": a})["log_bayes_factor"][0]
    assert anova(1e-9 * y + 1e-3, {"a": (7 - a).astype(str)})["log_bayes_factor"][0] == pytest.approx(
        plain, abs=1e-6
    )
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": pandas.Categorical(a), "y": y})
    assert anova(frame["y"], frame[["a"]])["log_bayes_factor"][0] == pytest.approx(plain, abs=1e-9)


def test_no_warning_of_numbers():
    """Strong effects, and none; few rows and many."""
    rng = generator(8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (3, 30, 3000):
            x = rng.standard_normal(n)
            for shift in (0.0, 1e3):
                assert np.isfinite(ttest(x + shift).log_bayes_factor)
                assert np.isfinite(correlation(x, x * shift + rng.standard_normal(n)).log_bayes_factor)
                assert np.isfinite(proportion(0 if shift else n // 2, n).log_bayes_factor)
        groups = np.arange(60) % 5
        strong = anova(1e4 * groups + rng.standard_normal(60), {"g": groups})
        assert strong["log_bayes_factor"][0] > 100 and strong["log_bayes_factor_std"][0] < 0.01
