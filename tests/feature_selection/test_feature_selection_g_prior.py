"""Zellner and Siow's prior: a published table, quadrature over g, brute force over subsets, chains."""

import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import comb, logsumexp

from sgevidence import (
    BayesianLinearRegression,
    EvidenceFeatureSelector,
    EvidenceModelAverager,
    EvidenceWarning,
    compare,
)
from sgevidence.models import GPrior
from sgevidence.samplers import Exact

#: Nothing here is tuned to a seed: any other will do.
SEED = 20261126
CRIME = Path(__file__).parents[1] / "data" / "us_crime.csv"
#: Inclusion probabilities, and log marginals of the best five models, in M. A. Clyde's vignette of the R
#: package BAS: bas.lm(y ~ ., UScrime, prior="ZS-null", modelprior=uniform()), all but So as logarithms.
PUBLISHED = dict(M=0.8535720, So=0.2737083, Ed=0.9746605, Po1=0.6651553, Po2=0.4490097, LF=0.2022374)
PUBLISHED |= {"M.F": 0.2049659, "Pop": 0.3696150, "NW": 0.6944069, "U1": 0.2525834, "U2": 0.6149388}
PUBLISHED |= dict(GDP=0.3601179, Ineq=0.9965359, Prob=0.8991841, Time=0.3717976)
LOG_MARGINALS = [23.65111, 23.5909572, 23.2000822, 23.130999, 23.0164741]

#: rating, complaints, learning of S. Chatterjee and B. Price's attitude data, from R's datasets.
ATTITUDE = np.array(
    """
    43 51 39 63 64 54 71 70 69 61 63 47 81 78 66 43 55 44 58 67 56 71 75 55 72 82 67 67 61 47 64 53
    58 67 60 39 69 62 42 68 83 45 77 77 72 81 90 72 74 85 69 65 60 75 65 70 57 50 58 54 50 40 34 64
    61 62 53 66 50 40 37 58 63 54 48 66 77 63 78 75 74 48 57 45 85 85 71 82 82 59
    """.split(),
    dtype=float,
).reshape(-1, 3)


def crime():
    """Logarithms of W. Vandaele's data of 47 states in 1960, from the R package MASS."""
    table = np.loadtxt(CRIME, delimiter=",", skiprows=1)
    logs = np.where(np.arange(16) == 1, table, np.log(np.maximum(table, 1e-300)))
    return logs[:, :-1], logs[:, -1]


def log_f(u, rest, k, nu, n):
    """The integrand of u = log g."""
    log_prior = 0.5 * np.log(n / (2 * np.pi)) - 0.5 * u - 0.5 * n * np.exp(-u)
    return 0.5 * (nu - k) * np.log1p(np.exp(u)) - 0.5 * nu * np.log1p(rest * np.exp(u)) + log_prior


def by_laplace(rest, k, nu, n):
    """Laplace's approximation of the integral over g, as BAS has it for "ZS-null"."""
    low, high = np.full(len(rest), -20.0), np.full(len(rest), 60.0)
    for _ in range(50):  # log f − u has its mode in g where this slope changes its sign
        g = np.exp((low + high) / 2)
        slope = (nu - k) / (1 + g) - nu * rest / (1 + rest * g) - 3 / g + n / g**2
        low, high = np.where(slope > 0, np.log(g), low), np.where(slope > 0, high, np.log(g))
    curvature = (nu - k) / (1 + g) ** 2 - nu * rest**2 / (1 + rest * g) ** 2 - 3 / g**2 + 2 * n / g**3
    return log_f(np.log(g), rest, k, nu, n) - np.log(g) + 0.5 * np.log(4 * np.pi / curvature)


def selector(**params):
    return EvidenceFeatureSelector(**{"coef_prior": "g", "random_state": 0} | params)


def test_a_published_table_is_reproduced(monkeypatch):
    X, y = crime()
    published = np.array(list(PUBLISHED.values()))
    found = selector(size_prior="uniform").fit(X, y)
    np.testing.assert_allclose(found.inclusion_probabilities_, published, atol=0.01)
    # the published numbers are Laplace's, 0.2 nats from the integral; with these all digits agree

    def laplace(prior, rest, k, nu):
        return by_laplace(rest, k, nu, prior.scale)

    monkeypatch.setattr(GPrior, "log_bayes_factors", laplace)
    found = selector(size_prior="uniform").fit(X, y)
    np.testing.assert_allclose(found.inclusion_probabilities_, published, atol=1e-6)
    np.testing.assert_allclose(found.models_["log_evidence"][:5], LOG_MARGINALS, atol=1e-5)


# -- the integral over g ------------------------------------------------------------------------------


def by_quadrature(rest, k, nu, n):
    grid = np.linspace(-40.0, 160.0, 40001)
    u0 = grid[np.argmax(log_f(grid, rest, k, nu, n))]
    top = log_f(u0, rest, k, nu, n)
    width = 80.0  # beyond, less than e⁻⁴⁰
    inner = [u0 + s * d for d in (0.5, 2.0, 8.0) for s in (-1, 1)]
    found = quad(
        lambda u: np.exp(log_f(u, rest, k, nu, n) - top),
        u0 - width / 4,
        u0 + width,
        points=sorted([u0, *inner]),
        limit=1000,
        epsabs=0,
        epsrel=1e-10,
    )
    return top + np.log(found[0])


@pytest.mark.parametrize("seed", range(25))
def test_bayes_factors_are_integrals_over_g(seed):
    rng = np.random.default_rng([SEED, seed])
    n = float(np.exp(rng.uniform(np.log(3.0), np.log(1e6))).round())
    k = int(min(rng.integers(1, 21), n - 2))
    rest = np.append(rng.uniform(size=4), 10 ** -rng.uniform(0.0, 10.0, 4))
    found = GPrior("inverse-gamma", n).log_bayes_factors(rest, k, n - 1)
    expected = [by_quadrature(r, k, n - 1, n) for r in rest]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-7)


def test_a_saturated_model_says_nothing():
    assert GPrior("inverse-gamma", 10.0).log_bayes_factor(1e-17, 9, 9.0)[0] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("kind", ["inverse-gamma", "hyper-g"])
def test_priors_of_g_are_densities(kind):
    for scale in (3.0, 0.02, 1e6) if kind == "inverse-gamma" else (3.0, 4.0):
        u = np.linspace(-60, 120, 200_001)
        f = np.exp(GPrior(kind, scale).log_density(u))
        assert np.trapezoid(f, u) == pytest.approx(1.0, abs=1e-8)


def brute_g(prior, rest, k, nu):
    """Given g, and by quadrature over log g."""

    def given(u):
        g = np.exp(u)
        return 0.5 * (nu - k) * np.log1p(g) - 0.5 * nu * np.log1p(rest * g)

    if prior.kind == "fixed":
        return given(np.log(prior.scale))
    u = np.linspace(-60, 160, 400_001)
    return logsumexp(given(u) + prior.log_density(u)) + np.log(u[1] - u[0])


@pytest.mark.parametrize("coef_prior", ["g", "hyper-g", "unit-information", "bric"])
def test_one_subset_under_each_g_prior(coef_prior):
    """Each against the textbook formula; BRIC with more columns than √n and with fewer."""
    for n, p in ((12, 5), (60, 3)):
        X, y = problem(n, p, 14, offset=3.0)
        rscale = 0.4 if coef_prior == "g" else 1.0
        found = selector(coef_prior=coef_prior, rscale=rscale).fit(X, y)
        prior = {
            "g": GPrior("inverse-gamma", 0.16 * n),
            "hyper-g": GPrior("hyper-g", 3.0),
            "unit-information": GPrior("fixed", n),
            "bric": GPrior("fixed", max(n, p**2)),
        }[coef_prior]
        Z, z = X - X.mean(axis=0), y - y.mean()
        for row in found.models_.itertuples():
            if columns := list(row.columns):
                ols = np.linalg.lstsq(Z[:, columns], z, rcond=None)[0]
                rest = np.sum((z - Z[:, columns] @ ols) ** 2) / (z @ z)
                expected = brute_g(prior, rest, len(columns), n - 1)
                assert row.log_evidence == pytest.approx(expected, abs=1e-7)
        assert found.evidence_is_relative_ and np.isfinite(found.predict(X)).all()


def test_regressions_of_bayesfactor():
    """regressionBF(rating ~ complaints + learning, attitude) of R's BayesFactor 0.9.12-4.4."""
    X, y = ATTITUDE[:, 1:], ATTITUDE[:, 0]
    for rscale, both, complaints, learning in (
        ("medium", 12.241787, 12.943090, 4.638537),
        (np.sqrt(0.5), 12.661955, 13.440809, 4.811959),
    ):
        table = selector(rscale=rscale).fit(X, y).models_
        known = {row.columns: row.log_evidence for row in table.itertuples()}
        assert known[0,] == pytest.approx(complaints, abs=1e-3)
        assert known[1,] == pytest.approx(learning, abs=1e-3)
        assert known[0, 1] == pytest.approx(both, abs=1e-3)


@pytest.mark.parametrize("params", [dict(rscale=0.0), dict(rscale="large"), dict(rscale=-1.0)])
def test_scales_that_are_none(params):
    X, y = problem(20, 2, 12)
    with pytest.raises(ValueError, match="rscale must be a positive number or one of"):
        selector(**params).fit(X, y)
    for coef_prior in ("independent", "bric"):
        with pytest.raises(ValueError, match=f'coef_prior="{coef_prior}" has no use for rscale'):
            selector(coef_prior=coef_prior, rscale=0.5).fit(X, y)


# -- subsets ------------------------------------------------------------------------------------------


def problem(n, p, seed, offset=0.0, units=1.0):
    rng = np.random.default_rng([SEED, 1, seed])
    Z = rng.standard_normal((n, p))
    y = Z @ (rng.standard_normal(p) * (rng.random(p) < 0.5)) + rng.standard_normal(n) + 1.0
    return Z * units + offset, y


def brute_force(X, y, weight=None, fit_intercept=True, always=(), size_prior="beta-binomial"):
    """Log Bayes factors by least squares and quadrature, and inclusion probabilities."""
    weight = np.ones(len(y)) if weight is None else weight
    X, y = np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int))
    n, p = X.shape
    if fit_intercept:
        X, y = X - X.mean(axis=0), y - y.mean()
    nu, found = float(n - fit_intercept), {}
    free = [j for j in range(p) if j not in always]
    for size in range(len(free) + 1):
        for some in combinations(free, size):
            columns = tuple(sorted([*always, *some]))
            rest = 1.0
            if columns:
                r = y - X[:, columns] @ np.linalg.lstsq(X[:, columns], y, rcond=None)[0]
                rest = r @ r / (y @ y)
            found[columns] = by_quadrature(rest, len(columns), nu, float(n)) if columns else 0.0
    sizes = np.arange(len(free) + 1)  # all subsets are alike, or all sizes
    one_of = np.full(len(sizes), 2.0 ** len(free))
    if size_prior == "beta-binomial":
        one_of = len(sizes) * comb(len(free), sizes)
    log_prior = -np.log(one_of)
    joint = {c: value + log_prior[len(c) - len(always)] for c, value in found.items()}
    total = logsumexp(list(joint.values()))
    return found, total, [sum(np.exp(v - total) for c, v in joint.items() if j in c) for j in range(p)]


CASES = {
    "plain": (40, {}, {}),
    "uniform": (25, {}, {"size_prior": "uniform"}),
    "no intercept": (30, {"offset": 1.0}, {"fit_intercept": False}),
    "always": (30, {}, {"always": [1]}),
    "few rows": (7, {}, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_all_subsets_by_brute_force(name):
    n, data, params = CASES[name]
    X, y = problem(n, 4, 2, **data)
    weight = np.random.default_rng(SEED).integers(1, 3, n).astype(float)
    exact, total, inclusion = brute_force(X, y, weight, **params)
    found = selector(**params).fit(X, y, weight)
    for row in found.models_.itertuples():
        assert row.log_evidence == pytest.approx(exact[row.columns], abs=1e-7)
    assert len(found.models_) == len(exact) and not found.warnings_
    assert found.log_evidence_ == pytest.approx(total, abs=1e-7) and found.log_evidence_std_ == 0.0
    np.testing.assert_allclose(found.inclusion_probabilities_, inclusion, atol=1e-7)
    assert found.evidence_is_relative_


def test_units_and_places_of_columns_and_y_do_not_matter():
    X, y = problem(50, 5, 3)
    plain = selector().fit(X, y)
    scale, offset = np.array([1e-9, 1.0, 1e6, 1e3, 1e-3]), np.array([1.0, -1e6, 1e9, 0.0, 5.0])
    other = selector().fit(X * scale + offset, 1e4 * y - 1e7)
    assert other.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-5)
    np.testing.assert_allclose(other.inclusion_probabilities_, plain.inclusion_probabilities_, atol=1e-5)
    np.testing.assert_allclose(other.coef_ * scale / 1e4, plain.coef_, rtol=1e-4, atol=1e-6)
    mean, std = plain.predict(X, return_std=True)
    mean_other, std_other = other.predict(X * scale + offset, return_std=True)
    np.testing.assert_allclose((mean_other + 1e7) / 1e4, mean, atol=1e-4)
    np.testing.assert_allclose(std_other / 1e4, std, rtol=1e-4)


def test_a_stream_equals_one_fit():
    X, y = problem(90, 6, 4, offset=1e3)
    whole, stream = selector().fit(X, y), selector()
    for start, stop in zip((0, 1, 4, 50), (1, 4, 50, 90)):
        stream.partial_fit(X[start:stop], y[start:stop])
    assert stream.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-8)
    np.testing.assert_allclose(stream.inclusion_probabilities_, whole.inclusion_probabilities_, atol=1e-8)
    np.testing.assert_allclose(stream.coef_, whole.coef_, atol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_one_subset_predicts_as_draws_of_g_and_of_the_coefficients(fit_intercept):
    X, y = problem(20, 2, 5, offset=0.5)
    found = selector(always=[0, 1], fit_intercept=fit_intercept).fit(X, y)
    rng, n = np.random.default_rng([SEED, 6]), len(y)
    center, height = (X.mean(axis=0), y.mean()) if fit_intercept else (np.zeros(2), 0.0)
    Z, z, nu = X - center, y - height, n - fit_intercept
    ols = np.linalg.lstsq(Z, z, rcond=None)[0]
    R2 = 1 - np.sum((z - Z @ ols) ** 2) / (z @ z)
    u = np.linspace(-5.0, 25.0, 20001)
    f = log_f(u, 1 - R2, 2, nu, n)
    g = np.exp(rng.choice(u, size=40_000, p=np.exp(f - logsumexp(f))))
    t = g / (1 + g)
    v = 0.5 * (z @ z) * (1 - t * R2) / rng.gamma(nu / 2, size=len(g))
    root = np.linalg.cholesky(np.linalg.inv(Z.T @ Z))
    w = t[:, None] * ols + np.sqrt(t * v)[:, None] * (rng.standard_normal((len(g), 2)) @ root.T)
    alpha = height + np.sqrt(v / n) * rng.standard_normal(len(g)) * fit_intercept
    np.testing.assert_allclose(found.coef_, w.mean(axis=0), atol=5 * w.std() / 200)
    np.testing.assert_allclose(found.coef_std_, w.std(axis=0), rtol=0.04)
    assert found.noise_std_ == pytest.approx(np.sqrt(v).mean(), rel=0.02)
    assert found.intercept_ == pytest.approx(np.mean(alpha - w @ center), abs=0.03)
    new = np.array([[3.0, -1.0], [0.0, 0.0]])
    drawn = alpha + (new - center) @ w.T + np.sqrt(v) * rng.standard_normal(len(g))
    mean, std = found.predict(new, return_std=True)
    np.testing.assert_allclose(mean, drawn.mean(axis=1), atol=0.05)
    np.testing.assert_allclose(std, drawn.std(axis=1), rtol=0.04)


def test_chains_find_what_is_enumerated(never_enumerated):
    X, y = problem(60, 7, 7)
    _, total, exact_inclusion = brute_force(X, y)
    found = selector(random_state=3).fit(X, y)
    np.testing.assert_allclose(found.inclusion_probabilities_, exact_inclusion, atol=0.02)
    assert abs(found.log_evidence_ - total) < max(4 * found.log_evidence_std_, 0.01)


def test_more_columns_than_rows():
    X, y = problem(8, 10, 8)
    found = selector().fit(X, 5 * X[:, 2] + 0.1 * y)
    assert not found.warnings_
    assert np.argmax(found.inclusion_probabilities_) == 2 and np.isfinite(found.log_evidence_)


def test_a_column_given_twice_adds_nothing():
    X, y = problem(40, 2, 9)
    table = selector().fit(np.column_stack([X, X[:, 0]]), y).models_
    known = {row.columns: row.log_evidence for row in table.itertuples()}
    assert known[0, 2] == pytest.approx(known[0,], abs=1e-9) == known[2,]
    assert known[0, 1, 2] == pytest.approx(known[0, 1], abs=1e-9)


@pytest.mark.parametrize("unit", [1.0, 10.0])
def test_y_on_a_plane_is_said(unit):
    """To rounding, and in whole numbers without any."""
    X, _ = problem(40, 3, 10)
    X = X if unit == 1.0 else np.round(unit * X)
    with pytest.warns(EvidenceWarning, match="or y of columns"):
        assert selector().fit(X, X[:, 0] - 2 * X[:, 1]).inclusion_probabilities_[:2].min() > 0.99


# -- what cannot be compared --------------------------------------------------------------------------


def test_relative_evidences_are_compared_among_themselves_alone():
    X, y = problem(40, 3, 11)
    relative, other = selector().fit(X, y), selector(size_prior="uniform").fit(X, y)
    linear = BayesianLinearRegression(sampler=Exact()).fit(X, y)
    assert compare([relative, other]) is not None
    with pytest.raises(ValueError, match="is relative to its null model"):
        compare({"g": relative, "linear": linear})
    pair = [("linear", BayesianLinearRegression(sampler=Exact())), ("g", selector())]
    with pytest.raises(ValueError, match="'g' is relative to its null model"):
        EvidenceModelAverager(pair).fit(X, y)
    assert not EvidenceFeatureSelector().fit(X, y).evidence_is_relative_


@pytest.mark.parametrize("name, value", [("noise_std", 1.0), ("coef_scale", 2.0), ("noise_scale", 1.0)])
def test_scales_are_of_no_use(name, value):
    X, y = problem(20, 2, 12)
    with pytest.raises(ValueError, match=f'coef_prior="g" has no use for {name}'):
        selector(**{name: value}).fit(X, y)


def test_standardize_changes_nothing():
    X, y = problem(30, 3, 13)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EvidenceWarning)
        pair = [selector(standardize=flag).fit(X * 1e5, 1e3 + y).log_evidence_ for flag in (True, False)]
    assert pair[0] == pair[1]
