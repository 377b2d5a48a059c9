"""Models of PyMC, where it is installed: the scale, the density and the evidence."""

import sys

import numpy as np
import pytest
from scipy import stats

from sgevidence.bridging import bridge_evidence, from_pymc

Y = np.array([0.3, -1.2, 2.4, 0.8, 1.9, -0.4])


def test_without_pymc_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pytensor.graph.replace", None)
    with pytest.raises(ImportError, match=r"sgevidence\[pymc\]"):
        from_pymc(None, None)


@pytest.fixture
def pm():
    return pytest.importorskip("pymc")


def posterior(pm, **values):
    """Draws as ``pm.sample`` returns them, (chains, draws, ...)."""
    import arviz

    return (
        arviz.from_dict(posterior=values)
        if arviz.__version__ < "1"
        else arviz.from_dict({"posterior": values})
    )


def test_the_evidence_of_a_conjugate_model(pm, rng):
    """Counts with a gamma rate have a closed form."""
    deaths = np.repeat([0, 1, 2, 3, 4], [109, 65, 22, 3, 1])
    with pm.Model() as model:
        pm.Poisson("y", pm.Gamma("rate", 1, 1), observed=deaths)
    draws = posterior(pm, rate=rng.gamma(1 + deaths.sum(), 1 / 201, size=(4, 500)))
    found = bridge_evidence(*from_pymc(model, draws), random_state=0)
    rate = 0.6
    log_p = stats.poisson(rate).logpmf(deaths).sum() + stats.gamma(1).logpdf(rate)
    exact = log_p - stats.gamma(1 + deaths.sum(), scale=1 / 201).logpdf(rate)
    assert abs(found.log_evidence - exact) < 4 * found.log_evidence_std < 0.05 and not found.doubts


def test_a_bound_that_is_a_variable_and_a_simplex(pm, rng):
    """By their definitions: log (x / (b − x)) for a uniform below b, and the Jacobian of each scale."""
    with pm.Model() as model:
        top = pm.HalfNormal("top", 3.0)
        pm.Uniform("sd", 0, 5 + top)
        pm.Dirichlet("w", np.ones(3))
    top, share, w = abs(rng.normal(0, 3, (2, 50))), rng.random((2, 50)), rng.dirichlet(np.ones(3), (2, 50))
    draws, log_density = from_pymc(model, posterior(pm, top=top, sd=share * (5 + top), w=w))
    assert draws.shape == (2, 50, 4)
    np.testing.assert_allclose(draws[..., 0], np.log(top))
    np.testing.assert_allclose(draws[..., 1], np.log(share / (1 - share)))
    jacobian = np.log(top) + np.log(share * (1 - share)) + np.log(3 * w.prod(axis=-1))
    expected = stats.halfnorm(scale=3).logpdf(top) + np.log(2) + jacobian  # the simplex has K = 3 and 2!
    np.testing.assert_allclose(log_density(draws.reshape(-1, 4)), expected.ravel())


def test_what_is_refused(pm, rng):
    with pm.Model() as model:
        pm.Normal("mu")
    with pytest.raises(ValueError, match="no variable 'mu' of the model"):
        from_pymc(model, posterior(pm, nu=rng.normal(size=(2, 50))))
    with pytest.raises(ValueError, match=r"posterior of pm\.sample"):
        from_pymc(model, np.zeros((2, 50, 1)))
    with model:
        pm.Poisson("n", 3.0)
    with pytest.raises(ValueError, match="'n' is discrete"):
        from_pymc(model, posterior(pm, mu=rng.normal(size=(2, 50))))
    with pytest.raises(TypeError, match=r"model must be a pymc\.Model, got int"):
        from_pymc(3, posterior(pm, mu=rng.normal(size=(2, 50))))
    with pm.Model() as model:
        pm.HalfNormal("sd", shape=2)
    with pytest.raises(ValueError, match=r"draws of 'sd' have the shape \(3,\), and the model has \(2,\)"):
        from_pymc(model, posterior(pm, sd=rng.random((2, 50, 3))))
    with pytest.raises(ValueError, match="draws of 'sd' are missing, infinite or beyond"):
        from_pymc(model, posterior(pm, sd=rng.normal(size=(2, 50, 2))))
