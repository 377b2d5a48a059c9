"""The mixture: normalised, an exact Dirichlet prior, exact at K = 1, and label-free when canonical."""

import numpy as np
import pytest
from made_data import MAKE
from scipy import stats

from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import Model

pytestmark = pytest.mark.usefixtures("double_precision")

CONCENTRATIONS = pytest.mark.parametrize("a", [0.5, 1.0, 3.0])


# densities


def test_likelihood_is_normalised_in_one_dimension():
    model = MixtureModel(3, 1)
    theta = model.sample_prior(np.random.default_rng(0), 4)
    x = np.linspace(-150, 150, 60_001)
    density = np.exp(model.log_likelihood(theta, Rows.of(x[:, None])))
    np.testing.assert_allclose(np.trapezoid(density, x, axis=1), 1.0, rtol=1e-8)


def test_likelihood_is_normalised_in_two_dimensions():
    model = MixtureModel(2, 2, variance_prior=(4.0, 4.0))
    theta = model.sample_prior(np.random.default_rng(1), 3)
    x = np.linspace(-25, 25, 251)
    X = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    density = np.exp(model.log_likelihood(theta, Rows.of(X)))
    np.testing.assert_allclose(density.sum(axis=1) * (x[1] - x[0]) ** 2, 1.0, rtol=1e-8)


def integrate(log_density, tau):
    """∫ exp over (z, μ, log σ²) of K = 1, p = 1 by the trapezoid rule, with μ = τ σ u."""
    z, u, s = np.linspace(-36, 6, 141), np.linspace(-8, 8, 97), np.linspace(-4, 14, 91)
    Z, U, S = (g.ravel() for g in np.meshgrid(z, u, s, indexing="ij"))
    sd = tau * np.exp(S / 2)
    cell = (z[1] - z[0]) * (u[1] - u[0]) * (s[1] - s[0])
    return np.sum(np.exp(log_density(np.column_stack([Z, sd * U, S]))) * sd) * cell


@CONCENTRATIONS
@pytest.mark.parametrize(
    "missing", [None, 0, 2], ids=["correct", "no Jacobian of z", "no Jacobian of log σ²"]
)
def test_prior_is_normalised(a, missing):
    model = MixtureModel(1, 1, a, 1.5, (2.5, 1.5))

    def log_prior(theta):
        return model.log_prior(theta) - (0 if missing is None else theta[:, missing])

    error = abs(integrate(log_prior, 1.5) - 1)
    assert error < 1e-6 if missing is None else error > 0.1


def test_tiny_weights_do_not_underflow():
    """A component of weight e^-800 still explains a row to which the other gives e^-50000."""
    model, rows = MixtureModel(2, 1), Rows.of([[0.0], [100.0]])
    theta = np.array([[0.0, -800.0, 0.0, 100.0, -3.0, 0.0]])
    expected = Model._block_log_likelihood(model, theta, rows, None)
    np.testing.assert_allclose(model.sum_log_likelihood(theta, rows), expected, rtol=1e-12)
    assert expected > -1000


def test_rows_far_from_the_origin_lose_no_digits():
    """The features [x², x, 1] would cancel eight digits here if they were not centred."""
    model, rng = MixtureModel(3, 2), np.random.default_rng(12)
    theta, X = model.sample_prior(rng, 5), rng.standard_normal((50, 2))
    moved = theta.copy()
    moved[:, 3:9] += 2.0**14
    grad = model.grad_log_joint(moved, Rows.of(X + 2.0**14)) - model.grad_log_joint(moved, Rows.of(X[:0]))
    expected = model.grad_log_joint(theta, Rows.of(X)) - model.grad_log_joint(theta, Rows.of(X[:0]))
    np.testing.assert_allclose(grad, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


# prior draws


@CONCENTRATIONS
def test_prior_weights_are_dirichlet(a):
    model = MixtureModel(3, 1, a)
    weights = model.parameters(model.sample_prior(np.random.default_rng(2), 5000))["weights"]
    assert min(stats.kstest(w, stats.beta(a, 2 * a).cdf).pvalue for w in weights.T) > 1e-3
    assert stats.kstest(weights[:, 0], stats.beta(1.3 * a, 2.6 * a).cdf).pvalue < 1e-6


@CONCENTRATIONS
def test_prior_draws_have_the_stated_marginals(a):
    model = MixtureModel(2, 1, a, 1.5, (2.5, 1.5))
    theta = model.sample_prior(np.random.default_rng(3), 5000)
    z, mu, variance = theta[:, :2], theta[:, 2:4], np.exp(theta[:, 4:])
    u = mu / np.sqrt(variance) / 1.5
    p_values = [
        *(stats.kstest(np.exp(x), stats.gamma(a).cdf).pvalue for x in z.T),
        *(stats.kstest(x, stats.invgamma(2.5, scale=1.5).cdf).pvalue for x in variance.T),
        *(stats.kstest(x, "norm").pvalue for x in u.T),
    ]
    assert min(p_values) > 1e-3
    assert abs(stats.spearmanr(u[:, 0], variance[:, 0]).statistic) < 4 / np.sqrt(5000)
    assert stats.kstest(mu[:, 0] / 1.5, "norm").pvalue < 1e-6  # a mean that ignores its σ


def test_log_gamma_draws_survive_a_tiny_concentration():
    z = MixtureModel(1, 1, weight_concentration=1e-3).sample_prior(np.random.default_rng(4), 5000)[:, 0]
    assert np.all(np.isfinite(z))
    # Gamma(a) = Gamma(a + 1) U^(1/a): a z is nearly minus a unit exponential
    assert stats.kstest(-1e-3 * z, "expon").pvalue > 1e-3


# drawn rows


@pytest.mark.parametrize("per_row", [False, True], ids=["one theta", "one theta a row"])
def test_sample_rows_has_the_stated_labels_means_and_variances(per_row):
    model, n, rng = MixtureModel(3, 2, 3.0), 8000, np.random.default_rng(5)
    cloud = model.sample_prior(rng, 2 if per_row else 1)
    theta = np.tile(cloud, (n // 2, 1)) if per_row else cloud[0]
    X, labels = model.sample_rows(theta, n, rng)
    named = model.parameters(cloud)
    for m in range(len(cloud)):
        x, k = X[m :: len(cloud)], labels[m :: len(cloud)]
        assert stats.chisquare(np.bincount(k, minlength=3), len(k) * named["weights"][m]).pvalue > 1e-3
        u = (x - named["means"][m, k]) / np.sqrt(named["covariances"][m, k])
        assert min(stats.kstest(column, "norm").pvalue for column in u.T) > 1e-3


# exact evidence of one component


def student_t_log_evidence(x, a, b, tau):
    """Product of sequential Student-t predictives of the normal–inverse-gamma model."""
    kappa, m, total = tau**-2.0, 0.0, 0.0
    for value in x:
        total += stats.t.logpdf(value, 2 * a, m, np.sqrt(b * (kappa + 1) / (a * kappa)))
        b += 0.5 * kappa / (kappa + 1) * (value - m) ** 2
        m, kappa, a = (kappa * m + value) / (kappa + 1), kappa + 1, a + 0.5
    return total


@pytest.mark.parametrize(
    "prior", [dict(), dict(mean_scale=1.5, variance_prior=(2.5, 1.5))], ids=["default", "other"]
)
def test_exact_evidence_is_the_product_of_sequential_predictives(prior):
    X = 1.0 + np.random.default_rng(6).standard_normal((9, 2))
    model = MixtureModel(1, 2, **prior)
    expected = sum(student_t_log_evidence(x, *model.variance_prior, model.mean_scale) for x in X.T)
    assert model.exact_log_evidence(Rows.of(X)) == pytest.approx(expected, rel=1e-12)


def test_exact_evidence_is_the_integral_of_the_joint():
    """Ties the closed form to log_prior and log_likelihood, weights included."""
    model = MixtureModel(1, 1, 3.0, 1.5, (2.5, 1.5))
    rows = Rows.of([[0.3], [-1.1], [1.9]], weight=np.array([1.0, 0.5, 2.0]))
    evidence = np.log(integrate(lambda theta: model.log_joint(theta, rows), 1.5))
    assert model.exact_log_evidence(rows) == pytest.approx(evidence, abs=1e-6)


def test_exact_evidence_reads_weights_as_repetitions():
    X, counts = np.random.default_rng(7).standard_normal((6, 2)), np.array([0, 1, 2, 3, 1, 1])
    model = MixtureModel(1, 2)
    repeated = model.exact_log_evidence(Rows.of(np.repeat(X, counts, axis=0)))
    assert model.exact_log_evidence(Rows.of(X, weight=counts.astype(float))) == pytest.approx(
        repeated, rel=1e-12
    )


def test_exact_evidence_of_the_reference_case():
    rows = Rows.of(MAKE["rebuild"]("G_petal_K1")["X"])
    gold = MAKE["GOLD"]["G_petal_K1"]["logZ"]
    assert MixtureModel(1, 2).exact_log_evidence(rows) == pytest.approx(gold, abs=1e-8)


def test_exact_evidence_refuses_more_components():
    with pytest.raises(ValueError, match="needs n_components=1"):
        MixtureModel(2, 1).exact_log_evidence(Rows.of([[0.0]]))


@pytest.mark.parametrize(
    "prior", [dict(), dict(mean_scale=1.5, variance_prior=(2.5, 1.5))], ids=["default", "other"]
)
def test_exact_posterior_is_the_prior_weighted_by_the_likelihood(prior):
    rng, model = np.random.default_rng(13), MixtureModel(1, 1, 3.0, **prior)
    rows = Rows.of([[0.3], [-1.1], [1.9]], weight=np.array([1.0, 0.5, 2.0]))
    theta, exact = model.sample_prior(rng, 400_000), model.exact_posterior(rows, rng, 400_000)
    W = np.exp(model.sum_log_likelihood(theta, rows))
    W, ess = W / W.sum(), W.sum() ** 2 / (W @ W)
    for weighted, drawn in zip(theta.T, exact.T):  # two empirical distribution functions
        order = np.argsort(weighted)
        points = np.quantile(drawn, np.linspace(0.01, 0.99, 99))
        cdf = np.r_[0, np.cumsum(W[order])][np.searchsorted(weighted[order], points)]
        assert np.max(np.abs(cdf - np.linspace(0.01, 0.99, 99))) < 2.2 / np.sqrt(ess)  # Kolmogorov, 10⁻⁴


def test_exact_posterior_keeps_mean_and_variance_together():
    """μ | σ² is as wide as σ: in the tails of σ² the draws would tell."""
    model, rows = MixtureModel(1, 1, mean_scale=1.5), Rows.of([[0.3], [-1.1], [1.9]])
    _, mu, s = model.exact_posterior(rows, np.random.default_rng(14), 20_000).T
    precision = 1.5**-2 + 3
    u = (mu - 1.1 / precision) * np.sqrt(precision) / np.exp(s / 2)
    assert stats.kstest(u, "norm").pvalue > 1e-3


def test_exact_posterior_refuses_more_components():
    with pytest.raises(ValueError, match="closed form of a mixture needs n_components=1"):
        MixtureModel(2, 1).exact_posterior(Rows.of([[0.0]]), np.random.default_rng(0), 1)


def test_slots_agree_with_the_named_parameters():
    model = MixtureModel(3, 2)
    theta = model.sample_prior(np.random.default_rng(8), 4)
    z, mu, s = np.split(theta[:, model.slots], [1, 3], axis=2)
    named = model.parameters(theta)
    np.testing.assert_allclose(
        np.exp(z[..., 0]) / np.exp(z[..., 0]).sum(axis=1, keepdims=True), named["weights"]
    )
    np.testing.assert_array_equal(mu, named["means"])
    np.testing.assert_array_equal(np.exp(s), named["covariances"])
