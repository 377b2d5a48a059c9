"""Unknown noise: the marginal over σ² against quadratures that know nothing of its coordinates."""

import numpy as np
import pytest
from mutants import broken
from scipy import integrate, interpolate, stats
from scipy.special import gammaln

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.models import LinearModel
from sgevidence.models._linear_marginal import NoiseMarginal
from sgevidence.models._regression import design_matrix


def problem(n, d, scale=1.0, noise=1.0, collinear=False, weighted=False, seed=0, **prior):
    rng = np.random.default_rng([seed, n, d])
    X = rng.standard_normal((n, d))
    if collinear:
        X[:, -1] = X[:, 0]
    y = scale * X @ rng.standard_normal(d) + noise * rng.standard_normal(n)
    weight = rng.integers(0, 4, n).astype(float) if weighted else None
    return LinearModel(d, **prior), Rows.of(X, y, weight)


def bimodal():
    """The coefficient is ten prior widths away, or the noise is ten: one is about as likely as the other."""
    return LinearModel(1, False, noise_prior=(1.0, 1e-6)), Rows.of(
        np.ones((4, 1)), 10 + 1e-4 * np.linspace(-1, 1, 4)
    )


CASES = {
    "one row": problem(1, 2),
    "n < d": problem(6, 30),
    "n < d, 150 columns": problem(40, 150),
    "d = 150": problem(200, 150),
    "collinear": problem(30, 4, collinear=True),
    "a thousand widths off": problem(25, 3, 1000.0),
    "hardly any noise": problem(25, 3, noise=1e-4, noise_prior=(0.01, 1e-8)),
    "vague": problem(5, 2, noise_prior=(0.01, 0.01), coef_scale=100.0),
    "informed": problem(20, 2, noise_prior=(40.0, 3.0), intercept_scale=0.2),
    "weights": problem(20, 3, weighted=True),
    "no intercept": problem(20, 3, fit_intercept=False),
    "two modes": bimodal(),
}


def by_quadrature(model, rows):
    """log p(y) and the distribution function of log σ², from the n × n covariance of y and Simpson's rule."""
    rows = rows.take(np.repeat(np.arange(len(rows)), rows.weight.astype(int)))
    Phi = design_matrix(rows.X, model.fit_intercept)
    e, V = np.linalg.eigh((Phi * model.scales**2) @ Phi.T)
    e, g = np.maximum(e, 0.0), V.T @ rows.y
    a, b = model.noise_prior

    def log_p(s):
        v = np.exp(s)
        out = stats.invgamma.logpdf(v, a, scale=b) + s
        for e_i, g_i in zip(e, g):
            out -= 0.5 * (g_i**2 / (e_i + v) + np.log(2 * np.pi * (e_i + v)))
        return out

    wide = np.linspace(-40, 80, 12_001)
    high = wide[log_p(wide) > log_p(wide).max() - 60]
    s = np.linspace(high[0] - 0.1, high[-1] + 0.1, 40_001)
    value = log_p(s)
    mass = integrate.cumulative_simpson(np.exp(value - value.max()), x=s, initial=0)
    return value.max() + np.log(mass[-1]), interpolate.CubicSpline(s, mass / mass[-1])


@pytest.mark.parametrize("case", CASES)
def test_evidence_is_the_integral_over_the_noise(case):
    model, rows = CASES[case]
    expected, _ = by_quadrature(model, rows)
    assert model.exact_log_evidence(rows) == pytest.approx(expected, abs=1e-6, rel=1e-12)


def test_evidence_is_the_sum_over_a_grid_of_all_parameters():
    """Prior times likelihood as the model states them, no integration by hand."""
    model, rows = problem(7, 1, weighted=True, noise_prior=(2.5, 1.5), coef_scale=1.3)
    w, b, s = np.linspace(-7, 7, 141), np.linspace(-6, 6, 121), np.linspace(-4, 8, 121)
    theta = np.stack(np.meshgrid(w, b, s, indexing="ij"), axis=-1).reshape(-1, 3)
    log_p = model.log_joint(theta, rows)
    cell = (w[1] - w[0]) * (b[1] - b[0]) * (s[1] - s[0])
    expected = log_p.max() + np.log(np.exp(log_p - log_p.max()).sum() * cell)
    assert model.exact_log_evidence(rows) == pytest.approx(expected, abs=1e-6)


def test_many_rows_are_a_sharp_peak_that_the_coarse_grid_must_not_miss():
    """No coefficient worth the name: then σ² is conjugate, at 10⁴, 10⁶ and 10⁸ rows."""
    for n in (1e4, 1e6, 1e8):
        model = LinearModel(1, coef_scale=1e-12, intercept_scale=1e-12)
        rows = Rows.of([[1.0], [1.0]], [1.0, -2.0], [n / 2, n / 2])
        a, b = 1 + n / 2, 1 + 0.5 * n / 2 * 5
        expected = gammaln(a) - a * np.log(b) - n / 2 * np.log(2 * np.pi)
        assert model.exact_log_evidence(rows) == pytest.approx(expected, abs=1e-6, rel=1e-12)


def test_weights_are_repetitions_and_blocks_do_not_matter(monkeypatch):
    model, rows = problem(50, 3, weighted=True)
    repeated = rows.take(np.repeat(np.arange(50), rows.weight.astype(int)))
    evidence = model.exact_log_evidence(rows)
    assert model.exact_log_evidence(Rows.of(repeated.X, repeated.y)) == pytest.approx(evidence, abs=1e-9)
    monkeypatch.setattr("sgevidence.models._linear_marginal.BLOCK", 1)  # a block has at least 64 rows
    long = Rows.of(np.tile(rows.X, (4, 1)), np.tile(rows.y, 4), np.tile(rows.weight / 4, 4))
    assert model.exact_log_evidence(long) == pytest.approx(evidence, abs=1e-9)


def test_rows_without_weight_leave_the_prior(rng):
    model = LinearModel(2, noise_prior=(2.5, 1.5))
    marginal = model.noise_marginal(Rows.of(np.ones((3, 2)), np.ones(3), np.zeros(3)))
    assert marginal.log_evidence() == pytest.approx(0.0, abs=1e-9)
    v = np.exp(marginal.sample(rng, 20_000))
    assert stats.kstest(v, stats.invgamma(2.5, scale=1.5).cdf).pvalue > 1e-3


@pytest.mark.parametrize("case", ["one row", "n < d", "informed", "two modes"])
def test_draws_of_the_noise_have_its_distribution(rng, case):
    model, rows = CASES[case]
    _, cdf = by_quadrature(model, rows)
    s = model.exact_posterior(rows, rng, 20_000)[:, -1]
    assert stats.kstest(s, cdf).pvalue > 1e-3


@pytest.mark.parametrize("case", ["one row", "informed", "two modes", "a thousand widths off"])
def test_the_inverse_distribution_function_is_right_to_a_hundred_thousandth(case):
    """At given numbers in the place of uniform ones."""

    class Given:
        def random(self, size):
            return np.linspace(1e-4, 1 - 1e-4, size)

    model, rows = CASES[case]
    _, cdf = by_quadrature(model, rows)
    s = model.noise_marginal(rows).sample(Given(), 1001)
    np.testing.assert_allclose(cdf(s), Given().random(1001), rtol=0, atol=1e-5)


def standard_normals(model, rows, rng, size=40_000):
    """Draws of w whitened by Bayes' rule at the drawn noise."""
    theta = model.exact_posterior(rows, rng, size)
    Phi, v = design_matrix(rows.X, model.fit_intercept), np.exp(theta[:, -1])
    G, c = (Phi.T * rows.weight) @ Phi, Phi.T @ (rows.weight * rows.y)
    A = G / v[:, None, None] + np.diag(model.scales**-2.0)
    deviation = theta[:, :-1] - np.linalg.solve(A, (c / v[:, None])[:, :, None])[:, :, 0]
    return np.einsum("mij,mi->mj", np.linalg.cholesky(A), deviation)


@pytest.mark.parametrize("case", ["n < d", "collinear", "weights", "informed"])
def test_coefficients_given_the_noise_obey_bayes_rule(rng, case):
    z = standard_normals(*CASES[case], rng, 4000)
    d = z.shape[1]
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-4
    np.testing.assert_allclose(z.T @ z / len(z), np.eye(d), atol=6 * np.sqrt(2 / len(z)))


def test_default_sampler_agrees(rng):
    model, rows = problem(30, 2)
    result = SGAIS().run(model, rows, rng)
    assert abs(result.log_evidence - model.exact_log_evidence(rows)) < 4 * result.log_evidence_std


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        ("log_joint", "self.a * s", "(self.a + 1) * s"),  # density of σ², not of its logarithm
        ("log_joint", "gamma**2 / (lam + v)", "gamma**2 / lam"),
        ("log_joint", "self.n * (s + np.log(2 * np.pi))", "len(self.lam) * (s + np.log(2 * np.pi))"),
        ("log_joint", "np.log1p(lam / v)", "np.log(lam + v)"),
        ("sample", "target - mass[cell]", "target - mass[cell + 1]"),
        ("sample_coefficients", "np.sqrt(v / (self.lam + v))", "np.sqrt(1 / (self.lam + v))"),
        ("sample_coefficients", "np.sqrt(self.lam) * self.gamma", "self.lam * self.gamma"),
    ],
)
def test_power(rng, monkeypatch, name, right, wrong):
    monkeypatch.setattr(NoiseMarginal, name, broken(getattr(NoiseMarginal, name), right, wrong))
    check = {
        "log_joint": lambda: test_evidence_is_the_integral_over_the_noise("informed"),
        "sample": lambda: test_the_inverse_distribution_function_is_right_to_a_hundred_thousandth("one row"),
        "sample_coefficients": lambda: test_coefficients_given_the_noise_obey_bayes_rule(rng, "informed"),
    }[name]
    with pytest.raises(AssertionError):
        check()


def test_an_integral_that_does_not_converge_is_an_error(monkeypatch):
    monkeypatch.setattr("sgevidence.models._linear_marginal.TOLERANCE", -1.0)
    with pytest.raises(ArithmeticError, match="does not converge"):
        CASES["one row"][0].exact_log_evidence(CASES["one row"][1])
