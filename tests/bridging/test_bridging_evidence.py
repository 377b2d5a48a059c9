"""Evidence from draws of posteriors of known mass: error bars, doubts, and variants that must be seen."""

import warnings

import numpy as np
import pytest
from chains import autoregressive
from mutants import broken
from scipy.special import gammaln
from scipy.stats import gamma, multivariate_t, norm

from sgevidence import EvidenceWarning, bridge_evidence
from sgevidence.bridging import _evidence

MASS = -1234.5


def gaussian(rng, C, T, d, rho):
    """Correlated columns whose widths span four decades, far from the origin."""
    A = rng.standard_normal((d, d)) / np.sqrt(d) + np.diag(10.0 ** rng.uniform(-2, 2, d))
    m, inverse = 1e3 * rng.standard_normal(d), np.linalg.inv(A)
    log_det = np.linalg.slogdet(A)[1]

    def log_density(theta):
        return MASS + norm.logpdf((theta - m) @ inverse.T).sum(axis=1) - log_det

    return m + autoregressive(rng, C, T, d, rho) @ A.T, log_density


def conjugate(rng, C, T, d, rho):
    """Linear regression with known noise: the evidence is that of y ~ N(0, I + 4 X X')."""
    X, y = rng.standard_normal((3 * d, d)), rng.standard_normal(3 * d)
    cov = np.linalg.inv(X.T @ X + np.eye(d) / 4)
    exact = multivariate_t(np.zeros(3 * d), np.eye(3 * d) + 4 * X @ X.T, df=np.inf).logpdf(y)

    def log_density(theta):
        log_prior = norm.logpdf(theta, scale=2).sum(axis=1)
        return norm.logpdf(y, theta @ X.T).sum(axis=1) + log_prior - exact + MASS

    return cov @ X.T @ y + autoregressive(rng, C, T, d, rho) @ np.linalg.cholesky(cov).T, log_density


def log_gamma(rng, C, T, d, rho):
    """Logarithms of gamma variates of shape 0.7: a long tail to the left."""
    x = np.log(gamma.ppf(norm.cdf(autoregressive(rng, C, T, d, rho)), 0.7))
    return x, lambda theta: MASS + (0.7 * theta - np.exp(theta) - gammaln(0.7)).sum(axis=1)


def student(rng, C, T, d, rho):
    """Three degrees of freedom; draws without memory."""
    law = multivariate_t(np.zeros(d), np.eye(d), df=3, seed=rng)
    return law.rvs(C * T).reshape(C, T, d), lambda theta: MASS + law.logpdf(theta)


def two_modes(rng, C, T, d, rho):
    """70 and 30 % in modes five widths apart, between which each draw chooses anew."""
    m = 2.5 * np.eye(d)[0]
    side = np.where(rng.random((C, T, 1)) < 0.7, 1.0, -1.0)
    return (
        side * m + autoregressive(rng, C, T, d, rho),
        lambda theta: (
            MASS
            + np.logaddexp(
                np.log(0.7) + norm.logpdf(theta - m).sum(axis=1),
                np.log(0.3) + norm.logpdf(theta + m).sum(axis=1),
            )
        ),
    )


def answer(draws, log_density, **kwargs):
    """Without warnings, which ``doubts`` has, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        return bridge_evidence(draws, log_density, **kwargs)


def check(rng, posterior, C, T, d, rho, seeds=20, most_doubted=2):
    """Errors are as large as the error bars, and few are warned of."""
    found = [answer(*posterior(g, C, T, d, rho), random_state=k) for k, g in enumerate(rng.spawn(seeds))]
    z = np.array([(one.log_evidence - MASS) / one.log_evidence_std for one in found])
    assert np.abs(z).max() < 4
    assert abs(z.mean()) < 4 / np.sqrt(seeds)
    assert 0.35 < z.std() < 1.55
    assert max(one.log_evidence_std for one in found) < 0.5
    assert sum(bool(one.doubts) for one in found) <= most_doubted


@pytest.mark.parametrize(
    "posterior, C, T, d, rho",
    [
        (conjugate, 1, 1000, 2, 0.0),
        (gaussian, 4, 500, 5, 0.5),
        (log_gamma, 1, 1000, 1, 0.0),
    ],
)
def test_error_bars_are_true(rng, posterior, C, T, d, rho):
    check(rng, posterior, C, T, d, rho)


@pytest.mark.slow
@pytest.mark.parametrize(
    "posterior, C, T, d, rho",
    [
        (gaussian, 4, 1000, 3, 0.8),
        (log_gamma, 4, 500, 5, 0.5),
        (student, 4, 500, 5, 0.0),
        (two_modes, 4, 500, 3, 0.0),
        (conjugate, 4, 500, 10, 0.5),
        (conjugate, 4, 1000, 25, 0.0),
        (conjugate, 4, 1000, 50, 0.5),
        (gaussian, 4, 4000, 3, 0.95),
        (log_gamma, 4, 1000, 20, 0.5),
        (log_gamma, 4, 2000, 50, 0.5),
        (student, 4, 2000, 20, 0.0),
        (student, 4, 1000, 1, 0.0),
        (two_modes, 1, 2000, 10, 0.0),
    ],
)
def test_more_error_bars_are_true(rng, posterior, C, T, d, rho):
    check(rng, posterior, C, T, d, rho, most_doubted=3)


@pytest.mark.parametrize(
    "right, wrong, rho",
    [
        ("mixing(g).n_effective", "g.size", 0.95),
        ("estimate.log_Z + height", "estimate.log_Z", 0.5),
    ],
)
def test_power_of_the_bridge(rng, install_broken, right, wrong, rho):
    """The error bar of independent draws; a constant forgotten."""
    install_broken(_evidence, "bridged", right, wrong)
    with pytest.raises(AssertionError):
        check(rng, gaussian, 4, 500, 5, rho, most_doubted=20)


def test_power_of_crossed_halves(rng, monkeypatch):
    """A Gaussian that was fitted to the draws which it is bridged to seems too good."""
    wrong = broken(
        _evidence.bridge_evidence.__wrapped__,
        "[bridged(f, a, p[0], b, g[0]), bridged(f, b, p[1], a, g[1])]",
        "[bridged(f, a, p[0], a, g[0]), bridged(f, b, p[1], b, g[1])]",
    )
    monkeypatch.setitem(globals(), "bridge_evidence", wrong)
    with pytest.raises(AssertionError):
        check(rng, conjugate, 1, 400, 20, 0.0, most_doubted=20)


@pytest.mark.slow
def test_halves_that_are_crossed(rng):
    check(rng, conjugate, 1, 400, 20, 0.0, most_doubted=20)


# -- doubts --------------------------------------------------------------------------------------------


def doubts(draws, log_density):
    """All doubts as one text; each was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = bridge_evidence(draws, log_density, random_state=0)
    words = [str(w.message) for w in caught if w.category is EvidenceWarning]
    assert words == list(found.doubts) and all(w.filename == __file__ for w in caught)
    return "\n".join(words)


def test_a_chain_in_each_mode_is_doubted(rng):
    """Shares of the modes are those of the chains, and nobody knows them."""
    for g in rng.spawn(5):
        draws, log_density = two_modes(g, 4, 500, 3, 0.0)
        assert not doubts(draws, log_density)
        mode = 2.5 * np.eye(3)[0]
        stuck = g.standard_normal((4, 500, 3)) + mode * np.array([1, 1, 1, -1])[:, None, None]
        assert "the chains disagree" in doubts(stuck, log_density)


def test_chains_of_different_width_are_doubted(rng):
    """Each has the right mean, and R̂ of the coordinates alone sees nothing."""
    draws = rng.standard_normal((4, 500, 2)) * np.array([1, 1, 1, 0.5])[:, None, None]
    assert "disagree" in doubts(draws, lambda theta: norm.logpdf(theta).sum(axis=1))


def test_draws_with_a_long_memory_are_doubted(rng):
    words = doubts(*gaussian(rng, 4, 500, 3, 0.99))
    assert "too few for the error bar" in words and "longer chains" in words
    words = doubts(*gaussian(rng, 100, 50, 3, 0.9))
    assert "its autocorrelation is not known" in words


def test_a_drift_is_doubted(rng):
    draws, log_density = gaussian(rng, 1, 1000, 1, 0.0)
    draws = draws + np.linspace(-3, 3, 1000)[:, None] * draws.std()
    assert "two halves of the chain disagree" in doubts(draws, log_density)


def test_halves_that_disagree_are_doubted(monkeypatch, rng):
    right = _evidence.bridged
    shifts = iter([0.0, 1.0])

    def shifted(*args):
        half = right(*args)
        return half._replace(log_Z=half.log_Z + next(shifts))

    monkeypatch.setattr(_evidence, "bridged", shifted)
    draws, log_density = gaussian(rng, 4, 500, 2, 0.0)
    found = answer(draws, log_density, random_state=0)
    assert "halves of the draws disagree" in found.doubts[0]
    assert found.log_evidence_std == pytest.approx(0.5, abs=0.1)


def funnel(rng, C, T, d, rho):
    """Columns whose common width spans decades (Neal 2003)."""
    v = 3 * rng.standard_normal((C, T, 1))
    x = np.concatenate([v, np.exp(v / 2) * rng.standard_normal((C, T, d - 1))], axis=2)
    return (
        x,
        lambda theta: (
            MASS
            + norm.logpdf(theta[:, 0], scale=3)
            + norm.logpdf(theta[:, 1:], scale=np.exp(theta[:, :1] / 2)).sum(axis=1)
        ),
    )


def test_a_posterior_unlike_a_gaussian_is_doubted(rng):
    for g in rng.spawn(2):
        assert "too unlike it" in doubts(*funnel(g, 4, 500, 60, 0.0))


@pytest.mark.slow
def test_a_funnel_that_is_wide_enough_is_not(rng):
    check(rng, funnel, 4, 500, 5, 0.0)


WRONG = {
    "a Jacobian forgotten": lambda theta: gammas(theta) - theta[:, 0],
    "draws too wide": lambda theta: 2 * gammas(theta),
    "draws too narrow": lambda theta: gammas(theta) / 2,
    "draws far too narrow": lambda theta: gammas(theta) / 1000,
    "columns in another order": lambda theta: gammas(theta[:, ::-1]),
}


@pytest.mark.parametrize("kind", WRONG)
def test_draws_of_another_posterior_are_doubted(rng, kind):
    for g in rng.spawn(3):
        draws = np.log(g.gamma([3.0, 6.0], size=(4, 1000, 2)))
        assert not doubts(draws, gammas)
        assert "of two posteriors" in doubts(draws, WRONG[kind])


def test_another_width_in_one_of_many_columns_is_doubted(rng):
    """As of a prior that was made wider after the draws."""
    scales = np.r_[1.5, np.ones(19)]
    for g in rng.spawn(2):
        draws = g.standard_normal((4, 1000, 20))
        assert not doubts(draws, lambda theta: norm.logpdf(theta).sum(axis=1))
        assert "of two posteriors" in doubts(draws, lambda theta: norm.logpdf(theta / scales).sum(axis=1))


def gammas(theta):
    return theta @ [3.0, 6.0] - np.exp(theta).sum(axis=1)


def test_a_vague_answer_is_doubted(rng):
    assert _evidence._half_doubts([_evidence.Half(0, 1, 1, 100, 0)] * 2, 0.0, 1.5)[0].startswith("the log ev")
