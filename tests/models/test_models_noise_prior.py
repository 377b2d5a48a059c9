"""Priors of the noise against scipy."""

import numpy as np
import pytest
from scipy import integrate, stats

from sgevidence.models import LinearModel

PRIORS = {
    "half t": LinearModel(1, noise_scale=2.5).prior_of_noise,
    "inverse gamma": LinearModel(1, noise_prior=(2.0, 0.7)).prior_of_noise,
}


def log_density(name, s):
    """Of s = log σ², by the change of variables."""
    if name == "half t":
        sigma = np.exp(s / 2)
        return np.log(2) + stats.t.logpdf(sigma, 3, scale=2.5) + np.log(sigma / 2)
    return stats.invgamma.logpdf(np.exp(s), 2.0, scale=0.7) + s


@pytest.mark.parametrize("name", PRIORS)
def test_density_and_draws(rng, name):
    prior, s = PRIORS[name], np.linspace(-30, 30, 601)
    np.testing.assert_allclose(prior.log_density(s), log_density(name, s), rtol=1e-12, atol=1e-12)
    grid = np.linspace(-60, 60, 20_001)
    mass = integrate.cumulative_trapezoid(np.exp(prior.log_density(grid)), grid, initial=0)
    assert mass[-1] == pytest.approx(1.0, abs=1e-9)
    assert stats.kstest(prior.sample(rng, 20_000), lambda x: np.interp(x, grid, mass)).pvalue > 1e-3


def test_the_half_t_ends_where_no_data_are():
    prior = LinearModel(1, noise_scale=2.0).prior_of_noise
    assert np.isfinite(prior.log_density(prior.least)) and prior.log_density(prior.least - 0.1) == -np.inf


def test_it_is_the_default():
    assert LinearModel(1).prior_of_noise == LinearModel(1, noise_scale=1.0).prior_of_noise
