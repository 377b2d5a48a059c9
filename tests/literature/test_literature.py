"""Published log evidences, reached with the default sampler within three combined standard errors."""

import runpy
from math import lgamma, log, pi
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from sklearn.base import clone

from sgevidence import BayesianGLM, BayesianLinearRegression, BayesianModel, EvidenceWarning
from sgevidence.samplers import Exact

P = runpy.run_path(str(Path(__file__).with_name("problems.py")))
PROBLEMS = {problem.name: problem for problem in P["PROBLEMS"]}


def off(problem, rng, estimator=None):
    """(ours − published) / combined standard error."""
    estimator = problem.estimator() if estimator is None else clone(estimator)
    estimator.set_params(random_state=int(rng.integers(2**31))).fit(*problem.rows())
    assert estimator.log_evidence_std_ < 0.2
    error = np.hypot(estimator.log_evidence_std_, problem.published_std)
    return (estimator.log_evidence_ - problem.published) / error


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_published_value(rng, name):
    assert abs(off(PROBLEMS[name], rng)) < 3


@pytest.mark.parametrize("name, tau", [("4 columns, τ = 0.01", 0.01), ("with age, τ = 1", 1.0)])
def test_pima_indians_by_family(rng, name, tau):
    """Bernoulli with a coefficient for each column, where the softmax regression has two."""
    bernoulli = BayesianGLM("bernoulli", coef_scale=tau**-0.5, intercept_scale=tau**-0.5, standardize=False)
    assert abs(off(PROBLEMS[f"Pima Indians, {name}"], rng, bernoulli)) < 3
    wrong = clone(bernoulli).set_params(intercept_scale=0.5 * tau**-0.5)
    assert abs(off(PROBLEMS[f"Pima Indians, {name}"], rng, wrong)) > 3


@pytest.mark.parametrize("regressor, name", [("x", "density"), ("z", "adjusted density")])
def test_radiata_pine_by_exact_regressions(regressor, name):
    """Given σ, coefficients less their prior means are N(0, σ²/p): exact evidences, integrated over τ."""
    X, y = P["pine_rows"](regressor)
    (a, p), (b, q) = P["ALPHA"], P["BETA"]
    t = np.linspace(-14.0, -8.0, 61)  # log τ = −2 log σ, σ from 55 to 1100
    fits = [
        BayesianLinearRegression(
            s, coef_scale=s / q**0.5, intercept_scale=s / p**0.5, sampler=Exact(), standardize=False
        )
        for s in np.exp(-t / 2)
    ]
    log_Z = np.array([fit.fit(X, y - a - b * X[:, 0]).log_evidence_ for fit in fits])
    shape, rate = P["SHAPE"], P["RATE"]
    log_prior = shape * np.log(rate) - gammaln(shape) + shape * t - rate * np.exp(t)
    found = logsumexp(log_Z + log_prior) + np.log(t[1] - t[0])
    assert found == pytest.approx(PROBLEMS[f"radiata pine, {name}"].published, abs=1e-5)


@pytest.mark.slow
def test_a_forgotten_jacobian_is_seen(rng):
    def log_prior(theta):
        return P["pine_log_prior"](theta) - theta[:, 2]

    broken = BayesianModel(P["pine_log_likelihood"], sample_prior=P["pine_sample_prior"], log_prior=log_prior)
    assert abs(off(PROBLEMS["radiata pine, density"], rng, broken)) > 3


@pytest.mark.slow
def test_the_wrong_prior_scale_is_seen(rng):
    """Coefficients of variance 1/τ for each class are a difference of variance 2/τ."""
    assert abs(off(PROBLEMS["Pima Indians, 4 columns, τ = 1"], rng, P["pima_model"](0.5))) > 3


@pytest.mark.slow
def test_a_forgotten_labelling_is_seen(rng):
    """Without its K! the prior of the ordered mixture integrates to 1/2.

    The evidence does not depend on it, since particles start from the prior's draws: a warning must say so.
    """
    mixture = P["Mixture"](2, equal=True)

    def log_prior(theta):
        return mixture.log_prior(theta) - log(2)

    broken = BayesianModel(mixture.log_likelihood, sample_prior=mixture.sample_prior, log_prior=log_prior)
    with pytest.warns(EvidenceWarning, match="prior"):
        off(PROBLEMS["galaxies, K = 2, equal variances"], rng, broken)


# -- data and models, without a sampler ---------------------------------------------------------------------


@pytest.mark.parametrize("regressor, name", [("x", "density"), ("z", "adjusted density")])
def test_radiata_pine_is_that_of_the_closed_form(regressor, name):
    """Normal–gamma: y/τ^½ is a t vector with covariance I + Φ V Φᵀ, V the prior's over 1/τ."""
    X, y = P["pine_rows"](regressor)
    Phi = np.column_stack([np.ones(len(y)), X])
    (a, p), (b, q) = P["ALPHA"], P["BETA"]
    C = np.eye(len(y)) + Phi @ np.diag([1 / p, 1 / q]) @ Phi.T
    r = y - Phi @ [a, b]
    shape, rate, n = P["SHAPE"], P["RATE"], len(y)
    log_Z = (
        -0.5 * n * log(2 * pi)
        - 0.5 * np.linalg.slogdet(C)[1]
        + shape * log(rate)
        - (shape + n / 2) * log(rate + 0.5 * r @ np.linalg.solve(C, r))
        + gammaln(shape + n / 2)
        - gammaln(shape)
    )
    assert log_Z == pytest.approx(PROBLEMS[f"radiata pine, {name}"].published, abs=1e-5)


def test_data_are_those_of_the_papers():
    galaxies = P["galaxy_rows"]()[0][:, 0]
    assert galaxies.shape == (82,) and galaxies[77] == 26.960  # a common copy has 26.690
    X, y = P["pima_rows"](*P["COLUMNS"])
    assert X.shape == (532, 7) and y.sum() == 177
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(X.std(axis=0, ddof=1), 1, atol=1e-5)


MODELS = {
    "pine": (P["pine_sample_prior"], P["pine_log_prior"]),
    "galaxies": (P["Mixture"](3, equal=False).sample_prior, P["Mixture"](3, equal=False).log_prior),
    "unordered": (P["Mixture"](2, True, False).sample_prior, P["Mixture"](2, True, False).log_prior),
    "box": (P["Box"](2, 10.0).sample_prior, P["Box"](2, 10.0).log_prior),
}


@pytest.mark.parametrize("name", MODELS)
def test_priors_are_normalised_and_those_of_their_samplers(rng, name):
    """E[q/p] = 1 over draws of p, for a Gaussian q inside p: both the draws and the density must be right."""
    sample, log_prior = MODELS[name]
    theta = sample(rng, 200_000)
    # narrower than the prior, so that the ratio is bounded
    center, width = np.median(theta, axis=0), 0.5 * np.subtract(*np.quantile(theta, [0.7, 0.3], axis=0))
    log_q = np.sum(-0.5 * ((theta - center) / width) ** 2 - np.log(width) - 0.5 * log(2 * pi), axis=1)
    ratio = np.exp(log_q - log_prior(theta))
    error = ratio.std() / np.sqrt(len(ratio))
    assert error < 0.2
    assert abs(ratio.mean() - 1) < 4 * error


def test_the_ordered_mixture_is_the_unordered_one(rng):
    """Likelihood and prior at the same mixture; the ordering adds K! and its Jacobian."""
    plain, ordered = P["Mixture"](3, False, ordered=False), P["Mixture"](3, False)
    theta = ordered.sample_prior(rng, 50)
    v = theta[:, 4:6]
    gaps = np.exp(v)
    same = theta.copy()
    same[:, 4], same[:, 5] = theta[:, 3] + gaps[:, 0], theta[:, 3] + gaps[:, 0] + gaps[:, 1]
    X = P["galaxy_rows"]()[0]
    np.testing.assert_allclose(ordered.log_likelihood(theta, X, None), plain.log_likelihood(same, X, None))
    more = lgamma(4) + v.sum(axis=1)
    np.testing.assert_allclose(ordered.log_prior(theta), plain.log_prior(same) + more)
