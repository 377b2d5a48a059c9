"""Rows with standard errors of their own, by weights, against quadrature over the heterogeneity."""

import numpy as np
import pytest
from scipy import integrate, stats

from sgevidence import BayesianLinearRegression, Group


def by_quadrature(y, se, mean_scale, scale):
    """log p(y) with effects that are one, and with τ ~ half-Student-t(3, scale) between them."""

    def log_p(tau):
        return stats.multivariate_normal(cov=np.diag(se**2 + tau**2) + mean_scale**2).logpdf(y)

    top = max(map(log_p, np.linspace(0, 5 * scale, 50)))

    def density(tau):
        return np.exp(log_p(tau) - top) * 2 * stats.t.pdf(tau / scale, 3) / scale

    parts = [
        integrate.quad(density, *ends)[0] for ends in ((0, scale), (scale, 5 * scale), (5 * scale, np.inf))
    ]
    return log_p(0.0), top + np.log(sum(parts))


@pytest.mark.parametrize("seed", range(4))
def test_weights_of_known_errors_are_those_of_the_marginal_normal(seed):
    rng = np.random.default_rng([616, seed])
    n, unit = int(rng.integers(3, 15)), 10.0 ** rng.integers(-2, 3)
    se = unit * np.exp(rng.normal(size=n))
    y = rng.normal(2 * unit, np.hypot(se, rng.choice([0, 3]) * unit))
    settings = dict(noise_std=1.0, standardize=False, intercept_scale=5 * unit, random_state=seed)
    models = (
        BayesianLinearRegression(columns=[], **settings),
        BayesianLinearRegression(terms=[Group(0, scale=2 * unit)], **settings),
    )
    w = se**-2.0
    constant = 0.5 * np.sum(np.log(w) + (w - 1) * np.log(2 * np.pi))
    for model, expected in zip(models, by_quadrature(y, se, 5 * unit, 2 * unit)):
        model.fit(np.arange(n)[:, None], y, sample_weight=w)
        error = model.log_evidence_ + constant - expected
        assert abs(error) < 4 * model.log_evidence_std_ + 1e-6 and model.log_evidence_std_ < 0.2
