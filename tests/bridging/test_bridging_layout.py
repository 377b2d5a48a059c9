"""Which axis has the steps: emcee's ensembles, flat draws, and chains that must stay as they are."""

import warnings

import numpy as np
import pytest
from chains import autoregressive
from scipy.special import gammaln
from scipy.stats import multivariate_normal, multivariate_t, norm, skewnorm

from sgevidence import EvidenceWarning, bridge_evidence
from sgevidence.bridging import _draws


def stretched(log_density, rng, steps, walkers, d, burn=300):
    """Goodman and Weare's stretch move, as emcee has it, (steps, walkers, d)."""
    x, half, out = 0.3 * rng.standard_normal((walkers, d)), walkers // 2, []
    log_p = log_density(x)
    for _ in range(steps + burn):
        for mine, others in ((slice(0, half), x[half:]), (slice(half, walkers), x[:half])):
            z = (rng.random(half) + 1) ** 2 / 2
            c = others[rng.integers(half, size=half)]
            proposed = c + z[:, None] * (x[mine] - c)
            log_new = log_density(proposed)
            taken = np.log(rng.random(half)) < (d - 1) * np.log(z) + log_new - log_p[mine]
            x[mine] = np.where(taken[:, None], proposed, x[mine])
            log_p[mine] = np.where(taken, log_new, log_p[mine])
        out.append(x.copy())
    return np.array(out[burn:])


def regression(rng):
    X, y = rng.standard_normal((30, 2)), rng.standard_normal(30)

    def log_density(theta):
        return norm.logpdf(y, theta @ X.T).sum(axis=1) + norm.logpdf(theta, scale=2).sum(axis=1)

    return log_density, multivariate_normal(np.zeros(30), np.eye(30) + 4 * X @ X.T).logpdf(y)


TOYS = {
    "normal": lambda rng: (lambda t: multivariate_normal(np.zeros(3), [1, 4, 9]).logpdf(t), 0.0, 3),
    "one column": lambda rng: (lambda t: norm.logpdf(t[:, 0], 0.5, 0.2), 0.0, 1),
    "log gamma": lambda rng: (lambda t: (3 * t - np.exp(t) - gammaln(3)).sum(axis=1), 0.0, 2),
    "Student": lambda rng: (lambda t: multivariate_t(np.zeros(2), np.eye(2), df=6).logpdf(t), 0.0, 2),
    "banana": lambda rng: (lambda t: norm.logpdf(t[:, 0]) + norm.logpdf(t[:, 1] - t[:, 0] ** 2 / 2), 0.0, 2),
    "skew": lambda rng: (lambda t: skewnorm.logpdf(t, 3).sum(axis=1), 0.0, 2),
    "five columns": lambda rng: (lambda t: norm.logpdf(t).sum(axis=1), 0.0, 5),
    "regression": lambda rng: (*regression(rng), 2),
}


def check_toy(name, seed):
    """Neither a Jacobian nor an order of columns is doubted, and all orders of the axes are one."""
    rng = np.random.default_rng([20261127, seed])
    log_density, exact, d = TOYS[name](rng)
    draws = stretched(log_density, rng, 2000, 24, d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        found = bridge_evidence(draws, log_density, random_state=seed)
        for other in (draws.swapaxes(0, 1), draws.reshape(-1, d)):
            assert bridge_evidence(other, log_density, random_state=seed) == found
    assert not [doubt for doubt in found.doubts if "two posteriors" in doubt or "disagree" in doubt]
    assert abs(found.log_evidence - exact) < 4 * found.log_evidence_std < 0.4


@pytest.mark.parametrize("name", ["one column", "log gamma"])
def test_ensembles_of_emcee(name):
    check_toy(name, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", TOYS)
def test_all_ensembles(name):
    check_toy(name, 1)


@pytest.mark.parametrize("rho", [-0.6, 0.0, 0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("C, T", [(1, 2000), (4, 500), (50, 100), (100, 50), (2, 4000)])
def test_chains_stay_as_they_are(rng, C, T, rho):
    x = autoregressive(rng, C, T, 2, rho)
    found = _draws.chains_first(x)
    assert found is x or np.array_equal(found, x) or (C == 1 and rho < 0)  # antithetic pairs may be cut


def test_chains_that_are_stuck_or_drift_stay_as_they_are(rng):
    x = autoregressive(rng, 8, 400, 3, 0.3)
    for wrong in (x + 4.0 * (np.arange(8) > 3)[:, None, None], x + np.linspace(-2, 2, 400)[:, None]):
        np.testing.assert_array_equal(_draws.chains_first(wrong), wrong)


@pytest.mark.parametrize(
    "walkers, steps, rho", [(6, 500, 0.5), (32, 200, 0.9), (100, 60, 0.95), (250, 40, 0.8)]
)
def test_steps_first_and_flat_draws_are_seen(rng, walkers, steps, rho):
    x = autoregressive(rng, walkers, steps, 2, rho)
    np.testing.assert_array_equal(_draws.chains_first(x.swapaxes(0, 1)), x)
    flat = x.swapaxes(0, 1).reshape(1, -1, 2)
    np.testing.assert_array_equal(_draws.chains_first(flat), x)


def test_a_density_of_one_draw(rng):
    draws = rng.standard_normal((4, 250, 2))
    found = bridge_evidence(draws, lambda t: norm.logpdf(t).sum(), vectorized=False, random_state=0)
    assert found == bridge_evidence(draws, lambda t: norm.logpdf(t).sum(axis=1), random_state=0)
    with pytest.raises(ValueError, match=r"gave the shape \(2,\) for one draw, not a number"):
        bridge_evidence(draws, norm.logpdf, vectorized=False)
    with pytest.raises(ValueError, match="needs vectorized=False"):
        bridge_evidence(draws, lambda t: norm.logpdf(t).sum())


def test_short_chains_of_an_ensemble_are_not_doubted_and_stuck_ones_are(rng):
    """R̂ is above 1.05 where many chains have few effective draws each, as their autocorrelation explains."""

    def log_density(t):
        return norm.logpdf(t).sum(axis=1)

    def doubts(draws):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EvidenceWarning)
            return " ".join(bridge_evidence(draws, log_density, random_state=0).doubts)

    for g in rng.spawn(4):
        x = autoregressive(g, 32, 600, 2, 0.95)
        assert "disagree" not in doubts(x)
        assert "disagree" in doubts(x + 1.5 * (np.arange(32) % 8 == 0)[:, None, None])
