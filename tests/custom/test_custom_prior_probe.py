"""The probe of a prior: silent on what is right, whatever its shape; loud on common mistakes."""

import time

import numpy as np
import pytest
from mutants import broken
from scipy import stats
from scipy.special import gammaln

from sgevidence.custom import _model
from sgevidence.custom._model import (
    N_PRIOR_DRAWS,
    gaussian_z_score,
    moved_z_score,
    prior_disagreement,
    robust_gaussian,
)
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel

pytestmark = pytest.mark.usefixtures("double_precision")


def independent(distribution, d):
    """d coordinates of a scipy distribution: sampler and log density."""
    return (
        lambda rng, n: distribution.rvs(size=(n, d), random_state=rng),
        lambda theta: distribution.logpdf(theta).sum(axis=1),
    )


def log_gamma(d, a):
    return (
        lambda rng, n: np.log(rng.gamma(a, size=(n, d))),
        lambda theta: np.sum(a * theta - np.exp(theta) - gammaln(a), axis=1),
    )


def correlated(d, rho):
    normal = stats.multivariate_normal(np.zeros(d), np.full((d, d), rho) + (1 - rho) * np.eye(d))
    return lambda rng, n: normal.rvs(size=n, random_state=rng).reshape(n, d), normal.logpdf


def funnel(d):
    def sample(rng, n):
        v = 3 * rng.standard_normal((n, 1))
        return np.hstack([v, np.exp(v / 2) * rng.standard_normal((n, d - 1))])

    def log_density(theta):
        v = theta[:, :1]
        return stats.norm.logpdf(v[:, 0], scale=3) + stats.norm.logpdf(theta[:, 1:], scale=np.exp(v / 2)).sum(
            axis=1
        )

    return sample, log_density


def ordered(d):
    """Sorted uniforms: a simplex, most coordinates' slices of which do not hold their median."""
    return (
        lambda rng, n: np.sort(rng.uniform(size=(n, d)), axis=1),
        lambda t: np.where(
            np.all(np.diff(t, prepend=0.0, append=1.0, axis=1) > 0, axis=1), gammaln(d + 1), -np.inf
        ),
    )


def two_modes(d):
    parts = independent(stats.norm(-5, 0.3), d), independent(stats.norm(5, 0.3), d)
    return (
        lambda rng, n: np.where(rng.random((n, 1)) < 0.3, parts[0][0](rng, n), parts[1][0](rng, n)),
        lambda t: np.logaddexp(np.log(0.3) + parts[0][1](t), np.log(0.7) + parts[1][1](t)),
    )


def of_model(model):
    return model.sample_prior, model.log_prior


GOOD = {
    "normal": independent(stats.norm(5, 0.01), 2),
    "normal, d = 20": independent(stats.norm(), 20),
    "log gamma": log_gamma(2, 1.0),
    "log gamma, a = 0.3, d = 6": log_gamma(6, 0.3),
    "Cauchy": independent(stats.cauchy(), 2),
    "Laplace": independent(stats.laplace(), 3),
    "uniform": independent(stats.uniform(), 3),
    "exponential": independent(stats.expon(), 2),
    "ordered": ordered(4),
    "correlated": correlated(5, 0.99),
    "funnel": funnel(4),
    "two modes": two_modes(2),
    "linear": of_model(LinearModel(4)),
    "mixture": of_model(MixtureModel(3, 1, 0.5)),
}


def says(prior, log_density=None, seed=0):
    rng = np.random.default_rng(seed)
    return prior_disagreement(prior[0](rng, N_PRIOR_DRAWS), log_density or prior[1], rng)


@pytest.mark.parametrize("prior", GOOD.values(), ids=GOOD)
def test_silent_on_what_is_right(prior):
    """A hundred thousand such tests would give one false alarm."""
    assert [says(prior, seed=seed) for seed in range(3)] == [None] * 3


def test_silent_where_nothing_overlaps():
    """Two narrow modes in forty dimensions: both means of (1) are tiny, one rests on draws never seen."""
    prior = two_modes(40)
    assert [says(prior, seed=[2, seed]) for seed in range(8)] == [None] * 8


@pytest.mark.slow
@pytest.mark.parametrize("prior", GOOD.values(), ids=GOOD)
def test_false_alarms_are_rare(prior):
    assert sum(says(prior, seed=[1, seed]) is not None for seed in range(200)) == 0


def z_scores(prior, n_repeats, moved=moved_z_score, gaussian=gaussian_z_score, n=400):
    """Of the three kinds of comparison, (n_repeats, 3)."""
    sample, log_p = prior
    rng, out = np.random.default_rng(7), []
    for _ in range(n_repeats):
        theta = sample(rng, n)
        here, (median, scale, correlation) = log_p(theta), robust_gaussian(theta[::2])
        pairs, L = np.concatenate([theta, theta]), np.linalg.cholesky(correlation)
        with np.errstate(all="ignore"):
            out.append(
                [
                    moved(pairs, here, log_p, 0, median[0], 0.7 * scale[0], 0.0),
                    moved(pairs, here, log_p, 0, median[0], 0.0, 0.4),
                    gaussian(theta[1::2], here[1::2], log_p, (median, scale, L), rng)[0],
                ]
            )
    return np.array(out)


@pytest.mark.parametrize("name", ["log gamma", "Cauchy", "exponential", "ordered", "two modes"])
def test_z_scores_are_standard_normal(name, monkeypatch):
    monkeypatch.setattr(_model, "UNSEEN_EVENTS", 0.0)
    z = z_scores(GOOD[name], 200)
    assert np.all(np.abs(z.mean(axis=0)) < 5 / np.sqrt(200) + 0.1)
    assert np.all(np.abs(z.std(axis=0) - 1) < 5 / np.sqrt(400) + 0.05)


@pytest.mark.parametrize(
    "function, right, wrong",
    [
        (moved_z_score, "expit(log_stretch + there[0] - here)", "expit(there[0] - here)"),
        (moved_z_score, "(column[n:] - m - shift) / a", "(column[n:] - m) / a"),
        (gaussian_z_score, "d / 2 * np.log(2 * np.pi)", "d * np.log(2 * np.pi)"),
        (gaussian_z_score, "scale * (u @ L.T)", "u @ L.T"),
    ],
)
def test_mutants_are_not(function, right, wrong):
    mutant = broken(function, right, wrong)
    name = "moved" if function is moved_z_score else "gaussian"
    z = z_scores(log_gamma(2, 3.0), 20, **{name: mutant})
    assert np.abs(z.mean(axis=0)).max() > 2


def last_scaled(log_density, factor):
    """The density of θ whose last coordinate is so many times as wide."""
    return lambda t: log_density(np.column_stack([t[:, :-1], t[:, -1:] / factor])) - np.log(factor)


@pytest.mark.parametrize("factor", [1.2, 1 / 1.2])
@pytest.mark.parametrize("name", ["normal, d = 20", "log gamma", "uniform", "correlated", "funnel", "linear"])
def test_a_scale_wrong_by_a_fifth(name, factor):
    prior = GOOD[name]
    message = says(prior, last_scaled(prior[1], factor))
    assert "spread differently along column" in message or "log_prior is -inf at" in message


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", ["log gamma", "log gamma, a = 0.3, d = 6", "linear"])
def test_a_forgotten_jacobian(name, sign):
    sample, log_density = GOOD[name]
    message = says((sample, None), lambda t: log_density(t) - sign * t[:, -1])
    assert "a forgotten Jacobian" in message


@pytest.mark.parametrize("constant", [0.3, -0.3])
@pytest.mark.parametrize(
    "name", ["normal", "normal, d = 20", "log gamma", "Cauchy", "uniform", "correlated", "linear"]
)
def test_a_missing_constant_is_seen_and_measured(name, constant):
    sample, log_density = GOOD[name]
    message = says((sample, None), lambda t: log_density(t) + constant)
    too_high, size = message.split(" nats too ")[1].startswith("high"), float(message.split()[2])
    assert too_high == (constant > 0) and abs(size - 0.3) < 0.15


@pytest.mark.parametrize("constant", [2000.0, -2000.0])
def test_a_constant_that_leaves_no_doubt(constant):
    sample, log_density = GOOD["normal"]
    message = says((sample, None), lambda t: log_density(t) + constant)
    assert f"2e+03 nats too {'high' if constant > 0 else 'low'}" in message


def test_a_flat_density_is_no_prior():
    assert "spread differently" in says((GOOD["normal"][0], None), lambda t: 0.0 * t[:, 0])


def test_parameters_that_depend_on_each_other_in_the_sampler_only():
    assert "depend on each other" in says((GOOD["correlated"][0], None), independent(stats.norm(), 5)[1])


def test_heavier_tails_than_stated():
    assert "spread differently" in says(independent(stats.t(3), 2), independent(stats.norm(), 2)[1])


def test_draws_that_the_density_rules_out():
    message = says((GOOD["normal, d = 20"][0], None), lambda t: np.where(t[:, 0] > 2, np.nan, 0.0))
    assert message.startswith("log_prior is -inf at ")


def test_a_coordinate_that_has_no_density():
    prior = (
        lambda rng, n: np.column_stack([rng.standard_normal(n), np.zeros(n)]),
        lambda t: -0.5 * t[:, 0] ** 2,
    )
    assert says(prior) == "half of the draws are equal in column 1, which no density allows"


def test_a_long_vector_takes_as_long_as_twenty(monkeypatch):
    """Of 300 coordinates 25 are moved, the first and the last among them, with fewer draws."""
    moved = []

    def recording(pairs, here, log_p, j, *move):
        moved.append((j, len(here)))
        return moved_z_score(pairs, here, log_p, j, *move)

    monkeypatch.setattr(_model, "moved_z_score", recording)
    start = time.process_time()
    assert says(independent(stats.norm(), 300)) is None
    assert time.process_time() - start < 5.0  # 0.2 s on a machine with nothing else to do
    assert len(moved) == 50 and moved[0][0] == 0 and moved[-1][0] == 299 and {n for _, n in moved} == {1000}
