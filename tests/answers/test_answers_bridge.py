"""Bridge and importance sampling between Gaussians of known mass, with chains of known correlation."""

import numpy as np
import pytest
from mutants import broken
from scipy.special import logsumexp
from scipy.stats import norm

from sgevidence.answers import bridge, importance

MASS = 7.0


def log_w(x, width, d):
    """log of MASS + N(0, 1)^d over N(0, width²)^d, summed over the last axis."""
    return MASS + np.sum(norm.logpdf(x) - norm.logpdf(x, scale=width), axis=-1)


def draws(rng, width, d=4, n_q=1000, C=50, T=6, rho=0.0):
    """Log-weights at draws of q, and along stationary chains of lag-one correlation ρ, (T, C)."""
    x = [rng.standard_normal((C, d))]
    while len(x) < T:
        x.append(rho * x[-1] + np.sqrt(1 - rho**2) * rng.standard_normal((C, d)))
    return log_w(width * rng.standard_normal((n_q, d)), width, d), log_w(np.array(x), width, d)


def check(rng, width=0.6, rho=0.9, seeds=300):
    """Errors are as large as the error bar, and have no sign."""
    found = [bridge(*draws(g, width, rho=rho)) for g in rng.spawn(seeds)]
    z = np.array([(one.log_Z - MASS) / one.std for one in found])
    assert abs(z.mean()) < 5 / np.sqrt(seeds) + 0.1
    assert 0.8 < z.std() < 1.25


@pytest.mark.parametrize("width", [*(pytest.param(w, marks=pytest.mark.slow) for w in (0.5, 0.8)), 1.5])
@pytest.mark.parametrize("rho", [pytest.param(0.0, marks=pytest.mark.slow), 0.95])
def test_error_bars_are_true(rng, width, rho):
    check(rng, width, rho)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("log_odds + log_p - log_Z", "log_p - log_odds - log_Z"),
        ("np.log(n_p / n_q), np.log(shared_q / shared_p)", "0.0, np.log(shared_q / shared_p)"),
        (
            "log_sum_exp(-np.logaddexp(0.0, log_odds + log_p - log_Z), axis=0)",
            "log_sum_exp(-np.logaddexp(0.0, log_odds + log_p - log_Z).ravel()[:, None], axis=1)",
        ),
        ("Estimate(..., f.relative_variance, ..., ..., ...)", "Estimate(..., 0.0, ..., ..., ...)"),
        ("Estimate(..., ..., g.relative_variance, ..., ...)", "Estimate(..., ..., 0.0, ..., ...)"),
    ],
)
def test_power(rng, monkeypatch, right, wrong):
    monkeypatch.setitem(globals(), "bridge", broken(bridge, right, wrong))
    with pytest.raises(AssertionError):
        check(rng, width=0.5)
        check(rng, width=1.5, rho=0.0)


def test_places_that_q_does_not_reach(rng):
    """Half of the mass is where q has no density."""
    errors = []
    for g in rng.spawn(300):
        x = g.standard_normal((800, 2))
        posterior = 0.8 * g.standard_normal((200, 2)) * np.where(g.random((200, 1)) < 0.5, 1, 100)
        log_q, log_p = (log_w(one / 0.8, 1 / 0.8, 2) - np.log(2) for one in (x, posterior))
        out = np.abs(posterior).max(axis=1) > 5
        errors.append(bridge(log_q, np.where(out, np.inf, log_p)[None]).log_Z - MASS)
    assert abs(np.mean(errors)) < 5 * np.std(errors) / np.sqrt(300) + 0.01


def check_walls(rng, ends):
    """Uniform densities that end at walls: q on (0, 1), the posterior on ``ends``."""
    low, high = ends
    length, z = high - low, []
    for g in rng.spawn(200):
        x, y = g.random(500), g.uniform(low, high, 300)
        log_q = np.where((low < x) & (x < high), MASS - np.log(length), -np.inf)
        log_p = np.where((0 < y) & (y < 1), MASS - np.log(length), np.inf)
        found = bridge(log_q, log_p[None])
        z.append((found.log_Z - MASS) / found.std)
    assert abs(np.mean(z)) < 0.4 and 0.8 < np.std(z) < 1.25


@pytest.mark.parametrize("ends", [(0.4, 1.0), (0.0, 2.0), (0.3, 1.5)], ids=["in q", "around q", "across"])
def test_walls(rng, ends):
    check_walls(rng, ends)


def test_q_that_is_too_narrow(rng):
    """Half as wide in eight dimensions: importance sampling hardly ever sees the tails, the bridge does."""
    alone, both = [], []
    for g in rng.spawn(50):
        log_q, log_p = draws(g, 0.5, d=8)
        alone.append(importance(log_q).log_Z - MASS)
        both.append(bridge(log_q, log_p).log_Z - MASS)
    assert np.median(alone) < -0.5 and abs(np.median(both)) < 0.1


def test_weights_are_those_of_one_sample(rng):
    """Their mean is Z, and they know the posterior: x² has mean one."""
    d, width = 2, 0.7
    x = [width * rng.standard_normal((4000, d)), rng.standard_normal((4, 500, d))]
    found = bridge(*(log_w(one, width, d) for one in x))
    assert logsumexp(found.log_w) - np.log(len(found.log_w)) == pytest.approx(found.log_Z, abs=1e-6)
    W = np.exp(found.log_w - logsumexp(found.log_w))
    squares = np.concatenate([one.reshape(-1, d) for one in x]) ** 2
    assert np.allclose(W @ squares, 1.0, atol=0.1)


def test_the_same_density_on_both_sides(rng):
    """No error at all, and as many effective draws as there are."""
    found = bridge(np.full(40, MASS), np.full((3, 20), MASS))
    assert found.log_Z == pytest.approx(MASS) and found.std == pytest.approx(0.0, abs=1e-12)
    assert found.n_effective == pytest.approx(20)


def test_importance_sampling(rng):
    log_q = log_w(1.2 * rng.standard_normal((5000, 3)), 1.2, 3)
    found = importance(log_q)
    assert abs(found.log_Z - MASS) < 5 * found.std < 0.1 and found.log_w is log_q


def test_densities_that_do_not_meet(rng):
    """Far apart: finite, and a handful of effective draws."""
    log_q = log_w(0.01 * rng.standard_normal((500, 6)), 0.01, 6)
    found = bridge(log_q, log_w(rng.standard_normal((4, 30, 6)), 0.01, 6))
    assert np.isfinite(found.log_Z) and found.n_effective < 20
