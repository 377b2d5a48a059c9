"""Own models of four and more parameters by a survey of the prior: closed forms, quadrature, or no answer."""

import autograd.numpy as anp
import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, gammaln, logsumexp

from sgevidence import BayesianModel
from sgevidence.answers import Answer, Declined, _surveyed
from sgevidence.answers._surveyed import surveyed_answer
from sgevidence.history import Rows

ROW = Rows.of(np.zeros((1, 1)))
LOG_2PI = np.log(2 * np.pi)


def log_normal(z, mean, sd):
    return anp.sum(-0.5 * ((z - mean) / sd) ** 2 - anp.log(sd) - 0.5 * LOG_2PI, axis=1)


def of_normals(means, sds, log_masses):
    """Gaussians (K, d) of these masses as likelihood, under standard normals; the evidence in closed form."""
    means, sds = np.array(means), np.array(sds)

    def log_likelihood(p):
        parts = [mass + log_normal(p["z"], m, s) for m, s, mass in zip(means, sds, log_masses)]
        out = parts[0]
        for part in parts[1:]:
            out = anp.logaddexp(out, part)
        return out

    each = stats.norm.logpdf(means, 0, np.hypot(1, sds)).sum(axis=1) + log_masses
    return log_likelihood, {"z": (stats.norm(0, 1), means.shape[1])}, logsumexp(each)


def unequal(rng):
    """Two modes of different widths."""
    return of_normals(rng.normal(0, 0.8, (2, 5)), [[0.2] * 5, [0.5] * 5], np.log([0.4, 0.6]))


def spike_in_slab(rng):
    """A spike and a slab about one place, which hold as much each: all climbs end in the spike."""
    at = rng.normal(0, 0.3, 5)
    return of_normals([at, at], [[0.02] * 5, [0.5] * 5], np.log([0.5, 0.5]))


def banana(rng):
    """A bent ridge, and two more parameters."""
    m, w = rng.normal(0, 0.5, 2), np.array([0.2, 0.6])

    def log_likelihood(p):
        z = p["z"]
        bent = -0.5 * ((z[:, 1] - 0.6 * (z[:, 0] ** 2 - 1)) / 0.3) ** 2
        return bent - 0.5 * anp.sum(((z[:, 2:] - m) / w) ** 2, axis=1)

    x = np.linspace(-9, 9, 20_001)
    bent = stats.norm.logpdf(0.6 * (x**2 - 1), 0, np.hypot(1, 0.3)) + np.log(0.3) + 0.5 * LOG_2PI
    first = logsumexp(bent + stats.norm.logpdf(x)) + np.log(x[1] - x[0])
    rest = np.sum(stats.norm.logpdf(m, 0, np.hypot(1, w)) + np.log(w) + 0.5 * LOG_2PI)
    return log_likelihood, {"z": (stats.norm(0, 1), 4)}, first + rest


def proportions(rng):
    """Counts of successes: parameters with two bounds."""
    n = rng.integers(1, 30, 5)
    k = rng.binomial(n, rng.random(5))
    constant = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)

    def log_likelihood(p):
        return anp.sum(constant + k * anp.log(p["r"]) + (n - k) * anp.log1p(-p["r"]), axis=1)

    return log_likelihood, {"r": (stats.uniform(0, 1), 5)}, np.sum(constant + betaln(k + 1, n - k + 1))


def wide_tails(rng):
    """Student t likelihoods in rotated coordinates, which have narrow parts of a prior each."""
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    at, width, nu = rng.normal(0, 0.8, 5), rng.uniform(0.1, 0.5, 5), rng.choice([2.0, 3.0, 5.0], 5)

    def log_likelihood(p):
        u = (p["z"] @ Q.T - at) / width
        return anp.sum(-0.5 * (nu + 1) * anp.log1p(u**2 / nu), axis=1)

    x = np.linspace(-12, 12, 100_001)[:, None]
    each = -0.5 * (nu + 1) * np.log1p(((x - at) / width) ** 2 / nu) + stats.norm.logpdf(x)
    return (
        log_likelihood,
        {"z": (stats.norm(0, 1), 5)},
        np.sum(logsumexp(each, axis=0)) + 5 * np.log(24 / 100_000),
    )


CASES = {case.__name__: case for case in (unequal, spike_in_slab, banana, proportions, wide_tails)}


def answered(case, rng, n_seeds=2):
    z = []
    for g in rng.spawn(n_seeds):
        log_likelihood, priors, exact = CASES[case](g)
        model = BayesianModel(log_likelihood, priors, random_state=int(g.integers(2**31))).fit()
        assert model.diagnostics_["n_proposals"] == 1 and model.diagnostics_["n_calls"] < 40_000
        assert model.log_evidence_std_ < 0.05 and not model.warnings_
        z.append((model.log_evidence_ - exact) / model.log_evidence_std_)
    assert np.max(np.abs(z)) < 4, f"standard errors off: {np.round(z, 1)}"


@pytest.mark.parametrize("case", CASES)
def test_evidence_is_the_integral(rng, case):
    answered(case, rng, n_seeds=1)


def test_known_points_are_held_against_q(rng, install_broken):
    """Without that the slab around a spike is lost in silence."""
    install_broken(_surveyed, "_from_tops", "draws.are_outweighed_by(log_w[i])", "False")
    with pytest.raises(AssertionError):
        answered("spike_in_slab", rng)


def run(log_likelihood, d=4, seed=0, **kw):
    priors = {"z": (stats.norm(0, 1), d)}
    estimator = BayesianModel(log_likelihood, priors, **kw)
    estimator._has_rows = False
    model = estimator._unchecked_model()
    with np.errstate(all="ignore"):
        return surveyed_answer(model, ROW, np.random.default_rng(seed), 500)


def test_draws_are_those_of_the_posterior():
    found = run(lambda p: log_normal(p["z"], 0.5, 0.5))
    assert isinstance(found, Answer) and found.theta.shape == (500, 4)
    np.testing.assert_allclose(found.theta.mean(axis=0), 0.4, atol=0.1)
    np.testing.assert_allclose(found.theta.std(axis=0), 0.2**0.5, rtol=0.15)


@pytest.mark.parametrize(
    "log_likelihood, words",
    [
        (lambda p: anp.where(p["z"][:, 0] > 0.5, 0.0, -np.inf), "ends within the prior"),
        (lambda p: anp.floor(anp.sum(p["z"], axis=1)), "flat, or has steps"),
        (lambda p: 0.0 * p["z"][:, 0], "flat, or has steps"),
        (lambda p: anp.sum(8 * anp.cos(20 * p["z"]) - 0.1 * p["z"] ** 2, axis=1), "met"),
        (lambda p: log_normal(p["z"], 0, 1) + anp.where(p["z"][:, 0] > 1, 5.0, 0.0), ""),
    ],
    ids=["edge", "steps", "flat", "rugged", "a cliff"],
)
def test_what_cannot_be_surveyed_is_declined(log_likelihood, words):
    found = run(log_likelihood)
    assert isinstance(found, Declined) and words in found.words


def test_many_rows_are_left_to_annealing():
    estimator = BayesianModel(lambda p, X, y: X[:, 0] * p["z"][:, :1], {"z": (stats.norm(0, 1), 4)})
    many = Rows.of(np.zeros((4000, 1)))
    found = surveyed_answer(estimator._unchecked_model(), many, np.random.default_rng(0), 10)
    assert isinstance(found, Declined) and "rows are many" in found.words
