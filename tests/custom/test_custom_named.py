"""Models by name against closed forms and quadrature; what users do to their functions."""

import math
import pickle
import warnings

import autograd.numpy as anp
import numpy as np
import pytest
from autograd.scipy.special import gammaln
from scipy import stats
from scipy.special import betaln, logsumexp
from sklearn.base import clone

from sgevidence import SGAIS, BayesianModel, Dirichlet, EvidenceWarning
from sgevidence.samplers import AIS, SIR

FAST = SGAIS(n_particles=100, max_particles=100, mode_search=None)


def log_poisson(p, X, y):
    return y * anp.log(p["rate"]) - p["rate"] - gammaln(y + 1)


def log_normal(x, scale):
    return -0.5 * (x / scale) ** 2 - anp.log(scale) - 0.5 * np.log(2 * np.pi)


def counts(rng, n=60):
    return np.zeros((n, 1)), rng.poisson(3.0, size=n).astype(float)


def gamma_poisson(y, shape=0.5, rate=0.1):
    n, s = len(y), y.sum()
    return (
        gammaln(shape + s) - gammaln(shape) + shape * np.log(rate) - (shape + s) * np.log(rate + n)
    ) - gammaln(y + 1).sum()


def poisson(**parameters):
    return BayesianModel(
        log_poisson, {"rate": stats.gamma(0.5, scale=10)}, **{"random_state": 0, "sampler": FAST} | parameters
    )


def log_integral(log_f, *grids):
    """log ∫ exp(log_f) over a grid of equally spaced points in each direction."""
    volume = sum(np.log(grid[1] - grid[0]) for grid in grids)
    return logsumexp(log_f(*np.meshgrid(*grids, indexing="ij"))) + volume


def agrees(model, exact, errors=4.0):
    assert abs(model.log_evidence_ - exact) < errors * model.log_evidence_std_ + 1e-6
    assert model.log_evidence_std_ < 1.0


def test_a_prior_alone_has_evidence_one():
    priors = {
        "tau": stats.halfcauchy(0, 5),
        "q": stats.beta(0.5, 0.5),
        "x": (lambda p: stats.t(1, 0, p["tau"]), 2),
        "w": Dirichlet([0.1, 1.0]),
    }
    model = BayesianModel(lambda p: 0.0 * p["q"], priors, sampler=FAST, random_state=0).fit()
    assert model.log_evidence_ == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("n", [1, 60])
def test_gamma_poisson_and_beta_bernoulli_are_closed_forms(rng, seed, n):
    X, y = counts(rng, n)
    model = poisson(random_state=seed).fit(X, y)
    agrees(model, gamma_poisson(y))
    y = (rng.random(n) < 0.03).astype(float)  # nearly or quite at an end of the support
    k = y.sum()
    model = BayesianModel(
        lambda p, X, y: y * anp.log(p["q"]) + (1 - y) * anp.log1p(-p["q"]),
        {"q": stats.beta(0.5, 0.5)},
        sampler=FAST,
        random_state=seed,
    ).fit(X, y)
    agrees(model, betaln(0.5 + k, 0.5 + n - k) - betaln(0.5, 0.5))


def hierarchical(p, X, y):
    return log_normal(y - p["theta"][:, X[:, 0].astype(int)], p["sigma"])


@pytest.mark.slow
def test_three_levels_agree_with_quadrature(rng, seed):
    """y_gi ~ N(θ_g, σ), θ_g ~ N(μ, τ), μ ~ N(0, 5), τ half-Cauchy, σ lognormal; θ and μ integrate out."""
    group = np.repeat(np.arange(4), 5)
    y = np.round(2.0 + rng.standard_normal(4)[group] + 0.5 * rng.standard_normal(20), 1)  # repeated values
    model = BayesianModel(
        hierarchical,
        {
            "mu": stats.norm(0, 5),
            "tau": stats.halfcauchy(0, 2),
            "sigma": stats.lognorm(1),
            "theta": (lambda p: stats.norm(p["mu"], p["tau"]), 4),
        },
        sampler=FAST,
        random_state=seed,
    ).fit(group[:, None], y)
    same = group[:, None] == group

    def log_joint(t, log_sigma):
        tau, sigma = np.exp(t).ravel(), np.exp(log_sigma).ravel()
        S = 25.0 + tau[:, None, None] ** 2 * same + sigma[:, None, None] ** 2 * np.eye(20)
        value = -0.5 * (np.linalg.slogdet(2 * np.pi * S)[1] + y @ np.linalg.solve(S, y[:, None])[..., 0].T)
        value += stats.halfcauchy(0, 2).logpdf(tau) + t.ravel() + stats.norm.logpdf(log_sigma.ravel())
        return value.reshape(t.shape)

    agrees(model, log_integral(log_joint, np.linspace(-9, 6, 61), np.linspace(-3, 2.5, 61)))
    assert model.posterior_samples()["theta"].shape[1:] == (4,)
    assert abs(model.posterior_samples()["mu"].mean() - y.mean()) < 2.0


def test_weibull_and_student_t_agree_with_quadrature(rng, seed):
    y = 2.0 * rng.weibull(1.5, size=40)
    X = np.zeros((40, 1))

    def weibull(p, X, y):
        r = y / p["scale"]
        return anp.log(p["k"] / p["scale"]) + (p["k"] - 1) * anp.log(r) - r ** p["k"]

    model = BayesianModel(
        weibull, {"k": stats.gamma(2), "scale": stats.invgamma(2)}, sampler=FAST, random_state=seed
    ).fit(X, y)

    def log_joint(k, scale):
        value = sum(stats.weibull_min.logpdf(v, k, scale=scale) for v in y)
        return value + stats.gamma.logpdf(k, 2) + stats.invgamma.logpdf(scale, 2)

    agrees(model, log_integral(log_joint, np.linspace(0.3, 5, 300), np.linspace(0.5, 6, 300)))
    y = rng.standard_t(3, size=40)

    def student(p, X, y):
        df, z = p["df"], y / p["scale"]
        constant = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * anp.log(df * np.pi)
        return constant - 0.5 * (df + 1) * anp.log1p(z**2 / df) - anp.log(p["scale"])

    model = BayesianModel(
        student,
        {"df": stats.gamma(2, scale=10), "scale": stats.halfnorm()},
        sampler=FAST,
        random_state=seed,
    ).fit(X, y)

    def log_joint_t(log_df, scale):
        df = np.exp(log_df)
        value = sum(stats.t.logpdf(v, df, 0, scale) for v in y) + stats.halfnorm.logpdf(scale)
        return value + stats.gamma.logpdf(df, 2, scale=10) + log_df

    agrees(model, log_integral(log_joint_t, np.linspace(-4, 6, 300), np.linspace(0.1, 4, 300)))


def eggbox_transform(u):
    x = u  # as people do who were promised a copy
    x *= 10 * np.pi
    return x


def eggbox(x):
    return (2 + math.cos(x[0] / 2) * math.cos(x[1] / 2)) ** 5


@pytest.mark.slow
def test_a_script_of_a_nested_sampler_runs_as_it_is(seed):
    model = BayesianModel(
        eggbox, prior_transform=eggbox_transform, n_params=2, vectorized=False, gradient="numerical"
    )
    model.set_params(sampler=FAST, random_state=seed).fit()
    assert abs(model.log_evidence_ - 235.856) < 4 * model.log_evidence_std_
    theta = model.posterior_samples()["theta"]
    assert theta.min() > 0 and theta.max() < 10 * np.pi


def shells(theta):
    """Feroz and Hobson (2008), two dimensions: log Z = −1.75 over the square of side 12."""
    centres = np.array([[-3.5, 0.0], [3.5, 0.0]])
    r = anp.sqrt(anp.sum((theta[:, None] - centres) ** 2, axis=2))
    each = log_normal(r - 2.0, 0.1)
    return anp.logaddexp(each[:, 0], each[:, 1])


@pytest.mark.parametrize("sampler", [None, pytest.param(AIS(50), marks=pytest.mark.slow), SIR(100)], ids=str)
def test_gaussian_shells_without_rows_by_every_sampler(sampler, seed):
    model = BayesianModel(
        shells, prior_transform=lambda u: 12 * u - 6, n_params=2, sampler=sampler, random_state=seed
    ).fit()
    exact = np.log(2 * 2 * np.pi * 2.0 / 144)  # 2 ∫ N(r − 2; 0, 0.1) 2πr dr over the area of the square
    agrees(model, exact, errors=4.5)


def test_plain_floats_and_any_python(rng):
    X, y = counts(rng, 20)
    seen = []

    def one(p, X, y):
        seen.append(type(p["rate"]))
        return [v * math.log(p["rate"]) - p["rate"] - math.lgamma(v + 1) for v in y]

    sampler = SGAIS(n_particles=30, max_particles=30, mode_search=None)
    model = poisson(sampler=sampler).set_params(log_likelihood=one, vectorized=False, gradient="numerical")
    agrees(model.fit(X, y), gamma_poisson(y))
    assert set(seen) == {float}


def test_three_gradients_are_one(rng):
    X, y = counts(rng)
    expected = poisson().fit(X, y).log_evidence_
    assert poisson(gradient="numerical").fit(X, y).log_evidence_ == pytest.approx(expected, abs=1e-3)
    stated = poisson(gradient=lambda p, X, y: {"rate": y / p["rate"] - 1})
    assert stated.fit(X, y).log_evidence_ == pytest.approx(expected, abs=1e-3)
    with pytest.raises(ValueError, match="gradient is not the derivative of log_likelihood: at rate = "):
        poisson(gradient=lambda p, X, y: {"rate": y / p["rate"] + 1}).fit(X, y)
    with pytest.raises(ValueError, match="keys"):
        poisson(gradient=lambda p, X, y: {"lambda": y / p["rate"] - 1}).fit(X, y)


@pytest.mark.parametrize(
    "broken",
    [
        lambda p, X, y: stats.poisson.logpmf(y, p["rate"]),
        lambda p, X, y: np.array([[v * math.log(r) - r for v in y] for r in p["rate"][:, 0]]),
    ],
)
def test_what_autograd_cannot_differentiate_is_said_and_differences_do(rng, broken):
    X, y = counts(rng, 10)
    with pytest.raises(TypeError, match=r"autograd.numpy and autograd.scipy .* or gradient='numerical'"):
        poisson().set_params(log_likelihood=broken).fit(X, y)


def test_functions_that_mix_parameter_vectors_write_or_return_nan_are_refused(rng):
    X, y = counts(rng, 10)

    def fit(log_likelihood, match, **parameters):
        with pytest.raises(ValueError, match=match):
            poisson(**parameters).set_params(log_likelihood=log_likelihood).fit(X, y)

    def writes(p, X, y):
        p["rate"] *= 2
        return log_poisson(p, X, y)

    fit(lambda p, X, y: log_poisson({"rate": p["rate"][0]}, X, y) + 0 * p["rate"], "must not be mixed")
    fit(writes, "log_likelihood writes into an array", gradient="numerical")
    fit(lambda p, X, y: np.nan * p["rate"] + y, "log_likelihood is nan")
    fit(
        lambda p, X, y: anp.where(y >= 0, -np.inf, 0.0) + 0 * p["rate"],
        "likelihood is zero, infinite or not a number for all particles at rows",
    )
    fit(lambda p, X, y: log_poisson(p, X, y)[:, 0], "must return the shape")


def test_one_buffer_for_every_answer(rng):
    X, y = counts(rng, 10)
    buffer, expected = np.empty(10), poisson(gradient="numerical").fit(X, y).log_evidence_

    def one(p, X, y):
        buffer[:] = y * np.log(p["rate"]) - p["rate"] - gammaln(y + 1)
        p.clear()
        return buffer

    model = poisson(gradient="numerical", vectorized=False).set_params(log_likelihood=one)
    assert model.fit(X, y).log_evidence_ == pytest.approx(expected, abs=1e-6)


def test_a_posterior_beyond_what_a_prior_can_say_is_warned_of():
    X, y = np.zeros((30, 1)), np.zeros(30)  # the rate wants to be zero; gamma(0.001) has half of its mass
    model = BayesianModel(log_poisson, {"rate": stats.gamma(0.001)}, sampler=FAST, random_state=0)  # there
    with pytest.warns(EvidenceWarning, match="posterior of 'rate' is so far out in its prior") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__ and "'rate'" in model.warnings_[0]


def test_a_prior_is_stated_in_one_way():
    three = (lambda rng, size: 0, lambda theta: 0, lambda theta, X, y: 0)
    with pytest.raises(ValueError, match="priors"):
        BayesianModel(*three[:2]).fit([[1.0]])
    for wrong in (
        dict(priors=None),
        dict(sample_prior=three[0]),
        dict(prior_transform=three[1], priors=None),
        dict(prior_transform=three[1], n_params=2),
        dict(n_params=2),
    ):
        with pytest.raises(TypeError, match="prior"):
            poisson(**wrong).fit([[1.0]]) if "priors" in wrong else poisson(**wrong).fit([[1.0]], [1.0])


def test_it_is_an_estimator(rng):
    X, y = counts(rng)
    model = clone(poisson(mean=rate, sample_rows=draw)).fit(X, y)
    assert model.predict(X[:3]) == pytest.approx(np.full(3, (0.5 + y.sum()) / 60.1), abs=0.2)
    assert abs(model.sample_y(X, n_samples=50, random_state=0).mean() - y.mean()) < 0.5
    assert not hasattr(poisson(), "predict")
    plain = BayesianModel(log_poisson, {"rate": stats.gamma(0.5, scale=10)}, sampler=FAST, random_state=0)
    again = pickle.loads(pickle.dumps(plain.partial_fit(X[:30], y[:30]))).partial_fit(X[30:], y[30:])
    agrees(again, gamma_poisson(y))
    assert set(again.posterior_samples()) == {"rate"} and again.score(X, y) < 0
    assert "SGAIS" in repr(plain)


def rate(p, X):
    return p["rate"] + 0 * X[:, 0]


def draw(p, X, rng):
    return rng.poisson(p["rate"])


def test_rows_and_no_rows_do_not_mix():
    model = BayesianModel(
        lambda p: -0.5 * p["x"] ** 2, {"x": stats.norm()}, sampler=FAST, random_state=0
    ).fit()
    agrees(model, -0.5 * np.log(2))
    for call in (model.partial_fit, model.score_samples, model.log_predictive):
        with pytest.raises(ValueError, match="without rows"):
            call([[1.0]])
    with pytest.raises(ValueError, match="without rows"):
        model.partial_fit(None)
    with pytest.raises(ValueError, match="give X as well"):
        model.fit(None, [1.0])


def test_weighted_rows_are_repeated_rows(rng):
    X, y = counts(rng, 20)
    w = rng.integers(0, 4, size=20)
    agrees(poisson().fit(X, y, w), gamma_poisson(np.repeat(y, w)))


def test_there_is_no_warning_where_all_is_well(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        poisson().fit(*counts(rng))
