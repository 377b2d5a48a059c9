"""Few or no events and a wide prior: errors of many seeds are as large as their bars, against quadrature."""

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.special import gammaln, log_expit, logsumexp

from sgevidence import BayesianGLM

#: Ends of panels of quadrature, in prior standard deviations: fine around zero.
PANELS = np.r_[-np.geomspace(9, 1e-3, 30), 0, np.geomspace(1e-3, 9, 30)]


def by_quadrature(family, x, y, coef_scale, intercept_scale):
    """log p(y) by Gauss–Legendre nodes of the coefficient and the intercept."""
    t, w = leggauss(12)
    half, middle = np.diff(PANELS) / 2, (PANELS[1:] + PANELS[:-1]) / 2
    u = (middle[:, None] + half[:, None] * t).ravel()
    log_w = np.log((half[:, None] * w).ravel()) - 0.5 * (u**2 + np.log(2 * np.pi))
    log_p = []
    for b in coef_scale * u:
        eta = intercept_scale * u[:, None] + b * x
        if family == "bernoulli":
            ell = log_expit(np.where(y > 0, eta, -eta))
        else:
            ell = y * eta - np.exp(np.minimum(eta, 700)) - gammaln(y + 1)
        log_p.append(logsumexp(ell.sum(axis=1) + log_w))
    return logsumexp(np.array(log_p) + log_w)


@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
@pytest.mark.parametrize("n_events", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_errors_are_as_large_as_their_bars(family, n_events):
    rng = np.random.default_rng([5810, n_events])
    x, y = rng.normal(size=20), np.zeros(20)
    y[rng.permutation(20)[:n_events]] = 1
    exact, z = by_quadrature(family, x, y, 100.0, 20.0), []
    for seed in range(24):
        model = BayesianGLM(
            family, coef_scale=100.0, intercept_scale=20.0, standardize=False, random_state=seed
        ).fit(x[:, None], y)
        z.append((model.log_evidence_ - exact) / model.log_evidence_std_)
        assert model.log_evidence_std_ < 0.03
    # four standard errors of the root mean square of 24
    assert np.sqrt(np.mean(np.square(z))) < 1 + 4 / np.sqrt(48) and np.max(np.abs(z)) < 4.5
