"""Full and spherical covariances: exact at K = 1, priors as scipy has them, one fused sum that is safe."""

import mpmath
import numpy as np
import pytest
from autograd.test_util import check_grads
from mixture_kinds import FullMixture, SphericalMixture
from scipy import stats

from sgevidence.history import Rows
from sgevidence.mixture.components import GaussianParameters
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import Model, value_and_grad

pytestmark = pytest.mark.usefixtures("double_precision")

BOTH = pytest.mark.parametrize("cls", [FullMixture, SphericalMixture])
PRIOR = dict(weight_concentration=0.7, mean_scale=1.7, variance_prior=(1.3, 0.6))


# one component: a closed form


def chain_of_t(X, b=1.3, beta=0.6, tau=1.7, less=0):
    """log p(X) as a product of predictive Student t densities (Murphy 2007), from scipy."""
    p = X.shape[1]
    kappa, nu, m, Psi, total = tau**-2.0, 2 * b + p - 1 - less, np.zeros(p), 2 * beta * np.eye(p), 0.0
    for x in X:
        df = nu - p + 1
        total += stats.multivariate_t.logpdf(x, m, Psi * (kappa + 1) / (kappa * df), df=df)
        Psi = Psi + kappa / (kappa + 1) * np.outer(x - m, x - m)
        m, kappa, nu = (kappa * m + x) / (kappa + 1), kappa + 1, nu + 1
    return total


@pytest.mark.parametrize(("n", "p"), [(9, 1), (30, 2), (3, 5), (40, 12), (20, 30)])
def test_full_is_exact(n, p, rng):
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + rng.normal(size=p)
    found = FullMixture(1, p, **PRIOR).exact_log_evidence(Rows.of(X))
    assert found == pytest.approx(chain_of_t(X), abs=1e-8)
    assert abs(found - chain_of_t(X, less=0.5)) > 0.01  # the mutant: other degrees of freedom


def test_spherical_is_exact(rng):
    """One column of n p numbers has the same variance; given it the means of p columns are independent."""
    n, p, (b, beta), tau = 7, 3, PRIOR["variance_prior"], PRIOR["mean_scale"]
    X = rng.normal(size=(n, p)) + 1
    C = np.kron(np.eye(p), np.eye(n) + tau**2 * np.ones((n, n)))
    t = stats.multivariate_t.logpdf(X.T.ravel(), np.zeros(n * p), beta / b * C, df=2 * b)
    model = SphericalMixture(1, p, **PRIOR)
    assert model.exact_log_evidence(Rows.of(X)) == pytest.approx(t, abs=1e-9)


@BOTH
def test_in_one_column_all_are_the_diagonal_model(cls, rng):
    model, diagonal = cls(3, 1, **PRIOR), MixtureModel(3, 1, **PRIOR)
    theta, rows = diagonal.sample_prior(rng, 5), Rows.of(rng.normal(size=(9, 1)))
    np.testing.assert_allclose(model.log_prior(theta), diagonal.log_prior(theta), rtol=1e-12)
    np.testing.assert_allclose(
        model.sum_log_likelihood(theta, rows), diagonal.sum_log_likelihood(theta, rows), rtol=1e-12
    )
    one = cls(1, 1, **PRIOR).exact_log_evidence(rows)
    assert one == pytest.approx(MixtureModel(1, 1, **PRIOR).exact_log_evidence(rows), abs=1e-12)


@mpmath.workdps(120)
def in_many_digits(X, b=1.0, beta=1.0, tau=2.0):
    """The closed form in 120 digits."""
    n, p = X.shape
    kappa, nu = mpmath.mpf(1) / mpmath.mpf(tau) ** 2, 2 * b + p - 1
    x = mpmath.matrix(X.tolist())
    mean = [mpmath.fsum(x[:, j]) / n for j in range(p)]
    S = mpmath.matrix(p, p)
    for i in range(p):
        for j in range(p):
            S[i, j] = mpmath.fsum((x[r, i] - mean[i]) * (x[r, j] - mean[j]) for r in range(n))
            S[i, j] += kappa * n / (kappa + n) * mean[i] * mean[j] + (2 * beta if i == j else 0)
    total = mpmath.mpf(nu * p) / 2 * mpmath.log(2 * beta) - mpmath.mpf(nu + n) / 2 * mpmath.log(mpmath.det(S))
    for j in range(p):
        total += mpmath.loggamma(mpmath.mpf(nu + n - j) / 2) - mpmath.loggamma(mpmath.mpf(nu - j) / 2)
    return float(
        total + mpmath.mpf(p) / 2 * mpmath.log(kappa / (kappa + n)) - n * p * mpmath.log(mpmath.pi) / 2
    )


@pytest.mark.parametrize("case", ["offset", "copies of a wide column", "timestamps", "integers"])
def test_no_column_is_too_far_or_too_like_another(case, rng):
    X = rng.normal(size=(40, 3))
    if case == "offset":
        X += [1e6, -1e9, 0]
    elif case == "copies of a wide column":  # sixteen orders of magnitude between eigenvalues
        X[:, :2] = 1e9 * X[:, :1]
    elif case == "timestamps":
        X[:, 0] = 1.7e18 + np.arange(40)
    else:
        X = np.rint(1e8 + 1e7 * X)
        X[:, 1] = X[:, 0] + rng.integers(0, 2, 40)
    expected = in_many_digits(X)
    assert FullMixture(1, 3).exact_log_evidence(Rows.of(X)) == pytest.approx(expected, abs=1e-6)


@BOTH
def test_draws_of_the_posterior_have_its_density(cls, rng):
    """log p(x | θ) p(θ) less the log density of the draws is the evidence, whatever the draw."""
    X = rng.normal(size=(6, 2)) @ [[1, 0.8], [0, 0.5]] + 0.5
    model, rows = cls(1, 2, **PRIOR), Rows.of(X)
    theta = model.exact_posterior(rows, rng, 20_000)
    center, C = theta.mean(axis=0), 0.6 * np.cov(theta.T)
    ratio = stats.multivariate_normal.logpdf(theta, center, C) - model.log_joint(theta, rows)
    top = ratio.max()
    found, error = top + np.log(np.mean(np.exp(ratio - top))), np.std(np.exp(ratio - top)) / np.sqrt(20_000)
    error /= np.mean(np.exp(ratio - top))
    assert abs(-found - model.exact_log_evidence(rows)) < 4.5 * error < 0.1


# the prior


def test_the_prior_is_scipys(rng):
    """Wishart and Gaussian densities and the Jacobian by central differences, for three columns."""
    p, (b, beta), tau, a = 3, PRIOR["variance_prior"], PRIOR["mean_scale"], PRIOR["weight_concentration"]
    model, below = FullMixture(1, p, **PRIOR), np.tril_indices(p)

    def natural(theta):
        named = model.parameters(theta[None])
        return np.r_[np.exp(theta[:1]), named["means"][0, 0], named["covariances"][0, 0][below]]

    for theta in model.sample_prior(rng, 3):
        J = [(natural(theta + h) - natural(theta - h)) / 2e-6 for h in 1e-6 * np.eye(len(theta))]
        named = model.parameters(theta[None])
        mean, Sigma = named["means"][0, 0], named["covariances"][0, 0]
        expected = stats.invwishart.logpdf(Sigma, 2 * b + p - 1, 2 * beta * np.eye(p))
        expected += stats.multivariate_normal.logpdf(mean, np.zeros(p), tau**2 * Sigma)
        expected += stats.gamma.logpdf(np.exp(theta[0]), a) + np.linalg.slogdet(J)[1]
        assert model.log_prior(theta[None])[0] == pytest.approx(expected, abs=1e-5)


def test_every_direction_has_the_prior_of_a_variance(rng):
    b, beta = PRIOR["variance_prior"]
    named = FullMixture(1, 4, **PRIOR).parameters(FullMixture(1, 4, **PRIOR).sample_prior(rng, 4000))
    for v in np.linalg.qr(rng.normal(size=(4, 4)))[0][:2]:
        variance = np.einsum("i,mij,j->m", v, named["covariances"][:, 0], v)
        assert stats.kstest(variance, stats.invgamma(b, scale=beta).cdf).pvalue > 1e-4
        u = named["means"][:, 0] @ v / np.sqrt(variance)
        assert stats.kstest(u, stats.norm(scale=PRIOR["mean_scale"]).cdf).pvalue > 1e-4


@pytest.mark.parametrize("cls", [MixtureModel, FullMixture, SphericalMixture])
@pytest.mark.parametrize("p", [1, 4, 11])
def test_the_gradient_of_the_prior_is_its_slope(cls, p, rng):
    """Each particle's own: its cotangents are not one."""
    model = cls(3, p, **PRIOR)
    theta = model.sample_prior(rng, 4)
    check_grads(model.log_prior, modes=["rev"], order=1)(theta)


# the fused sum


@pytest.mark.parametrize("size", [1e10, 1e160, np.inf])
def test_coefficients_beyond_floating_point_harm_no_other_particle(size, rng):
    """A unit triangular matrix has an inverse: LAPACK found it singular, and the whole fit was over."""
    model, rows = FullMixture(2, 3, **PRIOR), Rows.of(rng.normal(size=(50, 3)))
    theta = model.sample_prior(rng, 4)
    value, grad = model.value_and_grad_log_joint(theta, rows)
    wild = theta.copy()
    wild[1, -6:] = size * rng.normal(size=6)
    found, slope = model.value_and_grad_log_joint(wild, rows)
    np.testing.assert_allclose(found[[0, 2, 3]], value[[0, 2, 3]], rtol=1e-12)
    np.testing.assert_allclose(slope[[0, 2, 3]], grad[[0, 2, 3]], rtol=1e-9, atol=1e-9)
    assert found[1] < value[1] - 1e4
    assert np.isfinite(model.sum_log_likelihood(wild, rows)[[0, 2, 3]]).all()


@pytest.mark.parametrize("cls", [MixtureModel, FullMixture, SphericalMixture])
@pytest.mark.parametrize(("p", "offset"), [(1, 0.0), (5, 3.0), (12, 0.0)])
def test_the_gradient_of_the_sum_is_autograds_of_deviations(cls, p, offset, rng):
    """To rounding, from some rows to many columns (where products are formed otherwise)."""
    model = cls(2, p, **PRIOR).in_double_precision()
    X = offset + rng.normal(size=(40, p)) @ (np.eye(p) + 0.2 * rng.normal(size=(p, p)))
    theta = model.starts(Rows.of(X), 6, rng)
    theta += 0.1 * rng.normal(size=theta.shape)
    rows = Rows.of(X, weight=rng.exponential(size=40))
    value, grad = model._value_and_grad_log_likelihood(theta, rows)
    plain, plain_grad = value_and_grad(lambda t: Model._block_log_likelihood(model, t, rows, []), theta)
    np.testing.assert_allclose(value, plain, rtol=1e-12)
    np.testing.assert_allclose(grad, plain_grad, rtol=0, atol=1e-11 * np.abs(plain_grad).max())


@BOTH
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_fused_sum_and_its_gradient_are_those_of_rows(cls, offset, rng):
    model = cls(3, 3, **PRIOR)
    rows = Rows.of(offset + rng.normal(size=(50, 3)), weight=rng.integers(1, 4, 50).astype(float))
    theta = model.sample_prior(rng, 6)
    theta[:, 3:12] += offset
    value, grad = model._value_and_grad_log_likelihood(theta, rows)
    plain, plain_grad = value_and_grad(lambda t: Model._block_log_likelihood(model, t, rows, []), theta)
    np.testing.assert_allclose(value, plain, rtol=0, atol=1e-7)
    np.testing.assert_allclose(grad, plain_grad, rtol=1e-7, atol=1e-7 * np.abs(plain_grad).max())
    np.testing.assert_allclose(model.sum_log_likelihood(theta, rows), plain, rtol=0, atol=1e-7)


@BOTH
@pytest.mark.parametrize("far", [1e6, 1e12])
def test_a_far_row_takes_nothing_from_the_others(cls, far, rng):
    """A component of its own for it, which is wide; the others' lies near zero."""
    X = rng.normal(size=(80, 2))
    X[17] = far
    model = cls(2, 2)
    covariances = {"full": [[np.eye(2), far**2 * np.eye(2) / 4]], "spherical": [[1.0, far**2 / 4]]}
    blocks = model.family.blocks(
        GaussianParameters(
            np.array([[[0.1, 0.2], [0.8 * far, 0.8 * far]]]),
            np.array(covariances["full" if cls is FullMixture else "spherical"]),
        ),
        rng,
    )
    theta = np.repeat(model._joined(np.zeros((1, 2)), blocks), 3, axis=0)
    theta[:, 2:4] += rng.normal(size=(3, 2)) / 9
    rows = Rows.of(X)
    expected = model.log_likelihood(theta, rows).sum(axis=1)
    np.testing.assert_allclose(model.sum_log_likelihood(theta, rows), expected, rtol=0, atol=1e-4)


def test_thin_directions_of_wide_columns_are_formed_row_by_row(rng):
    """Fused they would lose nats: the thin variance is 10⁻¹⁶ of the wide one."""
    x = 1e7 * rng.normal(size=500)
    X = np.column_stack([x, x + 1e-3 * rng.normal(size=500)])
    model, s, r = FullMixture(1, 2), np.log([[[1e-6, 1e14]]]), np.full((1, 1, 1), -1.0)
    theta, rows = model._joined(np.zeros((1, 1)), [np.zeros((1, 1, 2)), s, r]), Rows.of(X)
    expected = model.log_likelihood(theta, rows).sum(axis=1)
    np.testing.assert_allclose(model.sum_log_likelihood(theta, rows), expected, rtol=0, atol=1e-6)


@BOTH
def test_single_precision_loses_a_hundredth_of_a_nat_at_most(cls, rng):
    model, X = cls(3, 4), rng.normal(size=(1000, 4))
    rows = Rows.of(X)
    theta = model.starts(rows, 20, rng)
    double = model.in_double_precision().sum_log_likelihood(theta, rows)
    value, _ = model._value_and_grad_log_likelihood(theta, rows, model.evaluation.single_below(rows))
    assert 0 < np.abs(value - double).max() < 0.01


# θ and natural parameters


@BOTH
def test_blocks_are_the_inverse_of_parameters(cls, rng):
    model = cls(3, 4, **PRIOR)
    theta = model.sample_prior(rng, 5)
    named = model.parameters(theta)
    assert named["covariances"].shape == ((5, 3, 4, 4) if cls is FullMixture else (5, 3))
    again = model._joined(
        theta[:, :3], model.family.blocks(GaussianParameters(named["means"], named["covariances"]), rng)
    )
    np.testing.assert_allclose(again, theta, rtol=1e-8, atol=1e-8)
    assert model.n_params == theta.shape[1]
    assert sorted(model.slots.ravel()) == list(range(model.n_params))


@pytest.mark.parametrize("cls", [MixtureModel, FullMixture, SphericalMixture])
def test_the_family_has_the_same_prior_and_the_same_densities(cls, rng):
    """Densities of the family's draws differ from the model's prior by the Jacobian of θ."""
    model, X = cls(2, 3, **PRIOR), rng.normal(size=(20, 3))
    components = model.family.sample(np.zeros((4, 2, model.family.features(X).shape[1])), rng)
    log_pi = np.log(rng.dirichlet([0.7, 0.7], size=4))
    theta = model.from_components(log_pi, components, rng)
    family = model.family.at(X)
    log_p = np.moveaxis(family.coefficients(components) @ family.features(X).T, 1, 0)  # (K, M, n)
    found = model.component_log_densities(theta, X)
    np.testing.assert_allclose(found, log_pi.T[:, :, None] + log_p, rtol=1e-8, atol=1e-8)
    one = cls(1, 3, **PRIOR)
    exact = family.log_evidence(family.features(X).sum(axis=0))
    assert one.exact_log_evidence(Rows.of(X)) == pytest.approx(float(exact), abs=1e-9)


@BOTH
def test_rows_have_the_moments_of_their_component(cls, rng):
    model = cls(1, 3, **PRIOR)
    theta = model.sample_prior(rng, 1)
    X, labels = model.sample_rows(theta, 20_000, rng)
    named = model.parameters(theta)
    Sigma = named["covariances"][0, 0] * (1 if cls is FullMixture else np.eye(3))
    white = np.linalg.solve(np.linalg.cholesky(Sigma), (X - named["means"][0, 0]).T)
    np.testing.assert_allclose(np.cov(white), np.eye(3), atol=0.05)
    np.testing.assert_allclose(white.mean(axis=1), 0, atol=0.04)
    assert not labels.any()


@BOTH
def test_starts_are_groups_of_the_rows(cls, rng):
    X = np.r_[rng.normal(size=(50, 2)) - 8, rng.normal(size=(50, 2)) + 8]
    model, rows = cls(2, 2), Rows.of(X)
    theta = model.starts(rows, 200, rng)  # ten times k-means: two miss in one of fifteen seeds
    best = model.parameters(theta[[np.argmax(model.log_joint(theta, rows))]])
    np.testing.assert_allclose(np.sort(best["means"][0, :, 0]), [-8, 8], atol=1.0)
