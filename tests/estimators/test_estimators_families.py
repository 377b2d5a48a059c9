"""Families of BayesianGLM: evidence by quadrature, by other models, among families; trials and classes."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import betaln, expit, gammaln, logit, logsumexp, ndtr
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.utils import estimator_checks

from sgevidence import (
    SGAIS,
    BayesianGLM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    EvidenceModelAverager,
    EvidenceWarning,
    FullData,
    evidence_scorer,
)
from sgevidence.models import Bernoulli, Gamma, NegativeBinomial
from sgevidence.samplers import Laplace

RNG = np.random.default_rng(11)
x, TRIALS = RNG.standard_normal(25), RNG.integers(1, 9, 25)
MEAN = np.exp(0.8 * x)
HALF_T = stats.t(3).logpdf
Y = {
    "gaussian": 0.8 * x + 0.4 * RNG.standard_normal(25),
    "student_t": 0.8 * x + 0.4 * RNG.standard_t(2, 25),
    "bernoulli": (RNG.random(25) < expit(0.8 * x)).astype(float),
    "probit": (RNG.random(25) < ndtr(0.8 * x)).astype(float),
    "binomial": RNG.binomial(TRIALS, expit(0.8 * x)).astype(float),
    "poisson": RNG.poisson(MEAN).astype(float),
    "negative_binomial": RNG.poisson(MEAN * RNG.gamma(2.0, 0.5, 25)).astype(float),
    "gamma": MEAN * RNG.gamma(2.0, 0.5, 25),
    "zero_inflated_poisson": RNG.poisson(3 * MEAN) * (RNG.random(25) > 0.3).astype(float),
}
MORE = np.random.default_rng(12)
EVENT = MORE.random(25) < 0.7
Y |= {
    "zero_inflated_negative_binomial": MORE.poisson(3 * MEAN * MORE.gamma(2.0, 0.5, 25))
    * (MORE.random(25) > 0.3).astype(float),
    "hurdle_poisson": (1.0 + MORE.poisson(MEAN)) * (MORE.random(25) > 0.3),
    "hurdle_negative_binomial": (1.0 + MORE.poisson(MEAN * MORE.gamma(2.0, 0.5, 25)))
    * (MORE.random(25) > 0.3),
    "beta": MORE.beta(3 * expit(0.8 * x), 3 * expit(-0.8 * x)),
    "weibull": MEAN * MORE.exponential(size=25) ** 0.6,
    "lognormal": MEAN * np.exp(0.6 * MORE.standard_normal(25)),
    "exponential": MEAN * MORE.exponential(size=25),
    "loglogistic": MEAN * np.exp(0.4 * np.random.default_rng(13).logistic(size=25)),
    "ordinal": np.digitize(0.8 * x + MORE.logistic(size=25), [-0.5, 1.0]).astype(float),
}


def of_times(law):
    """Density of events, and probability of a later one."""
    return lambda y, *more: np.where(EVENT, law(*more).logpdf(y), law(*more).logsf(y))


def of_levels(y, eta, above, share):
    """By differences at thresholds that are exceeded, at η = 0, with probability above and above · share."""
    c = [-np.inf * np.ones_like(above), -logit(above), -logit(above * share), np.inf * np.ones_like(above)]
    above = np.select([y == 0, y == 1], c[1:3], c[3])
    below = np.select([y == 0, y == 1], c[:2], c[2])
    return np.log(np.maximum(expit(above - eta) - expit(below - eta), 0.0))


# log density of y at η, and log prior of the family's own parameters as logarithms, by hand
LAWS = {
    "gaussian": lambda y, eta, s: stats.norm.logpdf(y, eta, s),
    "student_t": lambda y, eta, s, nu: stats.t.logpdf(y, nu, eta, s),
    "bernoulli": lambda y, eta: np.log(expit((2 * y - 1) * eta)),
    "probit": lambda y, eta: stats.norm.logcdf((2 * y - 1) * eta),
    "binomial": lambda y, eta: stats.binom.logpmf(y, TRIALS, expit(eta)),
    "poisson": lambda y, eta: stats.poisson.logpmf(y, np.exp(eta)),
    "negative_binomial": lambda y, eta, a: stats.nbinom.logpmf(y, 1 / a, 1 / (1 + a * np.exp(eta))),
    "gamma": lambda y, eta, k: k * (np.log(k * y) - eta - y * np.exp(-eta)) - gammaln(k) - np.log(y),
    "zero_inflated_poisson": lambda y, eta, p: np.log(
        p * (y == 0) + (1 - p) * np.exp(stats.poisson.logpmf(y, np.exp(eta)))
    ),
    "zero_inflated_negative_binomial": lambda y, eta, a, p: np.log(
        p * (y == 0) + (1 - p) * stats.nbinom.pmf(y, 1 / a, 1 / (1 + a * np.exp(eta)))
    ),
    "hurdle_poisson": lambda y, eta, p: np.where(
        y == 0,
        np.log(p),
        np.log1p(-p) + stats.poisson.logpmf(y, np.exp(eta)) - np.log(-np.expm1(-np.exp(eta))),
    ),
    "hurdle_negative_binomial": lambda y, eta, a, p: np.where(
        y == 0,
        np.log(p),
        np.log1p(-p)
        + stats.nbinom.logpmf(y, 1 / a, 1 / (1 + a * np.exp(eta)))
        - stats.nbinom.logsf(0, 1 / a, 1 / (1 + a * np.exp(eta))),
    ),
    "beta": lambda y, eta, phi: stats.beta.logpdf(y, phi * expit(eta), phi * expit(-eta)),
    "weibull": of_times(lambda eta, s: stats.weibull_min(1 / s, scale=np.exp(eta))),
    "lognormal": of_times(lambda eta, s: stats.lognorm(s, scale=np.exp(eta))),
    "loglogistic": of_times(lambda eta, s: stats.fisk(1 / s, scale=np.exp(eta))),
    "exponential": of_times(lambda eta: stats.expon(scale=np.exp(eta))),
    "ordinal": of_levels,
}
PRIORS = {
    "gaussian": [lambda s: np.log(2) + HALF_T(s)],
    "student_t": [lambda s: np.log(2) + HALF_T(s), stats.gamma(2, scale=10).logpdf],
    "negative_binomial": [stats.expon().logpdf],
    "gamma": [stats.expon().logpdf],
    "zero_inflated_poisson": [np.zeros_like],
    "zero_inflated_negative_binomial": [stats.expon().logpdf, np.zeros_like],
    "hurdle_poisson": [np.zeros_like],
    "hurdle_negative_binomial": [stats.expon().logpdf, np.zeros_like],
    "beta": [stats.lomax(0.5).logpdf],
    "weibull": [lambda s: np.log(2) + HALF_T(s)],
    "lognormal": [lambda s: np.log(2) + HALF_T(s)],
    "loglogistic": [lambda s: np.log(2) + HALF_T(s)],
    "ordinal": [lambda above: np.log(2 * above), np.zeros_like],  # p₀ ~ Beta(1, 2), p₁ uniform in the rest
}
#: Own parameters that are probabilities, whose logarithms end at 0.
SHARES = {
    "zero_inflated_poisson",
    "hurdle_poisson",
    "zero_inflated_negative_binomial",
    "hurdle_negative_binomial",
    "ordinal",
}


def by_quadrature(family, size=None):
    """log ∫ p(y | w, own) N(w | 0, 1) p(own), by the trapezoid rule in w and log own."""
    priors = PRIORS.get(family, [])
    size = size or (40 if len(priors) == 2 else 120)
    w = np.linspace(-2.5, 3.5, size)
    n_shares = len(priors) if family == "ordinal" else int(family in SHARES)
    is_share = np.arange(len(priors)) >= len(priors) - n_shares
    log_own = [np.linspace(-9, -1e-9 if one else 6, size) for one in is_share]
    grids = np.meshgrid(w, *log_own, indexing="ij")
    w, own = grids[0].ravel(), [np.exp(g.ravel()) for g in grids[1:]]
    log_p = stats.norm.logpdf(w) + sum(p(v) + np.log(v) for p, v in zip(priors, own))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = log_p + LAWS[family](Y[family], w[:, None] * x, *(v[:, None] for v in own)).sum(axis=1)
    cell = 6.0 / (size - 1) * np.prod([axis[1] - axis[0] for axis in log_own])
    return logsumexp(log_p) + np.log(cell)


def glm(family, **params):
    family = Bernoulli(link="probit") if family == "probit" else family
    return BayesianGLM(**{"family": family, "random_state": 3} | params, standardize=False)


def known(family):
    if family in ("weibull", "lognormal", "loglogistic", "exponential"):
        return {"event": EVENT}
    return {"trials": TRIALS} if family == "binomial" else {}


def check_evidence(family):
    est = glm(family, fit_intercept=False).fit(x[:, None], Y[family], **known(family))
    coarse = 0.02 if len(PRIORS.get(family, [])) == 2 else 0.003  # 40 or 120 points of each axis
    assert abs(est.log_evidence_ - by_quadrature(family)) < 4 * est.log_evidence_std_ + coarse
    assert est.log_evidence_std_ < 0.03
    return est


@pytest.mark.parametrize("family", Y)
def test_one_coefficient_by_quadrature(family):
    check_evidence(family)


def test_a_prior_of_ones_own(monkeypatch):
    """Uniform up to 3, of scipy, against quadrature with the same."""
    monkeypatch.setitem(PRIORS, "gamma", [stats.uniform(0, 3).logpdf])
    est = glm(Gamma(shape=stats.uniform(0, 3)), fit_intercept=False, sampler=Laplace())
    est.fit(x[:, None], Y["gamma"])
    # the trapezoid rule meets the edge of the prior at a node or beside it
    assert abs(est.log_evidence_ - by_quadrature("gamma", 400)) < 4 * est.log_evidence_std_ + 0.01


FIVE = RNG.standard_normal((60, 4))
ETA = FIVE @ [0.5, -0.5, 0.3, 0.0] + 0.4


@pytest.mark.parametrize("family", ["probit", "negative_binomial", "gamma"])
def test_five_coefficients_by_importance_sampling(family, monkeypatch):
    """A Student t at the mode in (w, b, log own), by scipy's optimiser and differences of its gradient."""
    y = {
        "probit": (RNG.random(60) < ndtr(ETA)).astype(float),
        "negative_binomial": RNG.poisson(np.exp(ETA) * RNG.gamma(2.0, 0.5, 60)).astype(float),
        "gamma": np.exp(ETA) * RNG.gamma(2.0, 0.5, 60),
    }[family]
    Phi, priors = np.column_stack([FIVE, np.ones(60)]), PRIORS.get(family, [])

    def log_joint(theta):
        own = [np.exp(theta[:, 5 + k : 6 + k]) for k in range(len(priors))]
        prior = stats.norm.logpdf(theta[:, :5]).sum(axis=1) + sum(theta[:, 5 + k] for k in range(len(priors)))
        prior = prior + sum(p(v[:, 0]) for p, v in zip(priors, own))
        return prior + LAWS[family](y, theta[:, :5] @ Phi.T, *own).sum(axis=1)

    d = 5 + len(priors)
    mode = minimize(lambda t: -log_joint(t[None])[0], np.zeros(d)).x
    steps = 1e-3 * np.eye(d)
    pairs = np.array([[a + b, a - b, b - a, -a - b] for a in steps for b in steps]).reshape(-1, d)
    values = log_joint(mode + pairs).reshape(d, d, 4) @ [1, -1, -1, 1]
    proposal = stats.multivariate_t(mode, np.linalg.inv(-values / 4e-6), df=6)
    theta = proposal.rvs(10_000, random_state=RNG)
    log_w = log_joint(theta) - proposal.logpdf(theta)
    exact = logsumexp(log_w) - np.log(len(log_w))
    error = np.std(np.exp(log_w - exact)) / 100
    assert error < 0.02
    est = glm(family, sampler=None if family == "probit" else Laplace()).fit(FIVE, y)
    assert abs(est.log_evidence_ - exact) < 4 * np.hypot(est.log_evidence_std_, error)


def test_a_gaussian_is_the_linear_regression():
    """Whose evidence is exact, with an offset as with a smaller y."""
    exact = BayesianLinearRegression(standardize=False).fit(x[:, None], Y["gaussian"]).log_evidence_
    for sampler in (None, Laplace()):
        est = glm("gaussian", sampler=sampler).fit(x[:, None], Y["gaussian"] + 3.0, offset=3.0)
        assert abs(est.log_evidence_ - exact) < 4 * est.log_evidence_std_
        assert 0.2 < est.posterior_samples()["noise_std"].mean() < 0.7


def test_two_classes_are_a_softmax_of_smaller_scales():
    """The difference of two weights has twice the variance of one."""
    for scale in (0.5, 3.0):
        one = glm("bernoulli", coef_scale=scale, intercept_scale=2.0).fit(x[:, None], Y["bernoulli"])
        small = dict(coef_scale=scale * 0.5**0.5, intercept_scale=2.0 * 0.5**0.5)
        other = BayesianSoftmaxRegression(**small, random_state=4, standardize=False).fit(
            x[:, None], Y["bernoulli"]
        )
        std = np.hypot(one.log_evidence_std_, other.log_evidence_std_)
        assert abs(one.log_evidence_ - other.log_evidence_) < 4 * std
        equal = BayesianSoftmaxRegression(
            coef_scale=scale, intercept_scale=2.0, random_state=4, standardize=False
        )
        assert abs(equal.fit(x[:, None], Y["bernoulli"]).log_evidence_ - one.log_evidence_) > 4 * std
        np.testing.assert_allclose(
            one.predict_proba(x[:5, None]), other.predict_proba(x[:5, None]), atol=0.03
        )


@pytest.mark.parametrize("overdispersed", [True, False])
def test_negative_binomial_beats_poisson_where_counts_are_overdispersed(overdispersed):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((150, 1))
    rate = np.exp(1.0 + 0.5 * X[:, 0]) * (rng.gamma(2.0, 0.5, 150) if overdispersed else 1.0)
    grid = {"family": ["poisson", "negative_binomial"]}
    model = BayesianGLM(sampler=Laplace(), random_state=0, standardize=False)
    search = GridSearchCV(model, grid, scoring=evidence_scorer, cv=FullData(), refit=False)
    poisson, negative = search.fit(X, rng.poisson(rate)).cv_results_["mean_test_score"]
    assert (negative - poisson > 10) if overdispersed else (0 < poisson - negative < 8)
    assert search.best_params_["family"] == ("negative_binomial" if overdispersed else "poisson")


def test_a_stream_and_random_states():
    family, X = "negative_binomial", x[:, None]
    est = glm(family, fit_intercept=False)
    for rows in (slice(0, 8), slice(8, 15), slice(15, 25)):
        est.partial_fit(X[rows], Y[family][rows])
    assert abs(est.log_evidence_ - by_quadrature(family)) < 4 * est.log_evidence_std_
    one, same, other = (glm(family, random_state=s).fit(X[:9], Y[family][:9]) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.particles_, same.particles_)
    assert one.log_evidence_ != other.log_evidence_


def test_predictions_are_averages_over_particles():
    X = x[:, None]
    for family in ("gamma", "binomial"):
        est = glm(family, sampler=Laplace()).fit(X, Y[family], **known(family))
        draws = est._model.parameters(est.particles_)
        eta, W = draws["intercept"][:, None] + draws["coef"] @ X.T, est.particle_weights_
        if family == "gamma":
            means, variances = np.exp(eta), np.exp(2 * eta) / draws["shape"][:, None]
        else:
            means, variances = TRIALS * expit(eta), TRIALS * expit(eta) * expit(-eta)
        mean, std = est.predict(X, return_std=True, **known(family))
        np.testing.assert_allclose(mean, W @ means)
        np.testing.assert_allclose(std**2, W @ (variances + means**2) - mean**2, rtol=1e-6)
        y = est.sample_y(X, 300, random_state=0, **known(family))
        assert np.all(abs(y.mean(axis=1) - mean) < 5 * std / np.sqrt(300))
        scores = est.score_samples(X, Y[family], **known(family))
        assert np.all(np.isfinite(scores)) and scores.mean() == pytest.approx(
            est.score_samples(X, **known(family)).mean(), abs=0.6
        )


def test_labels():
    X, y = x[:, None], np.where(Y["bernoulli"] == 1, "yes", "no")
    est = glm("bernoulli").fit(X, y)
    assert est.classes_.tolist() == ["no", "yes"] and is_classifier(est) and not is_regressor(est)
    p = est.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(est.predict(X), np.where(p[:, 1] > 0.5, "yes", "no"))
    assert est.score(X, y) == np.mean(est.predict(X) == y)
    np.testing.assert_allclose(np.exp(est.score_samples(X, y)), p[np.arange(25), (y == "yes").astype(int)])
    assert set(est.sample_y(X, 3).ravel()) == {"no", "yes"}
    streamed = glm("bernoulli").partial_fit(X[:1], y[:1], classes=["no", "yes"]).partial_fit(X[1:], y[1:])
    assert abs(streamed.log_evidence_ - est.log_evidence_) < 5 * est.log_evidence_std_ + 0.02
    average = EvidenceModelAverager([("logit", est), ("probit", glm("probit").fit(X, y))]).fit(X, y)
    assert average.predict(X[:4]).tolist() == est.predict(X[:4]).tolist()
    poisson = est.set_params(family="poisson").fit(X, Y["poisson"])
    assert is_regressor(poisson) and not hasattr(poisson, "predict_proba")
    assert not hasattr(poisson, "classes_")
    ones = glm("bernoulli").fit(X, np.ones(25, dtype=int))
    assert ones.classes_.tolist() == [0, 1] and ones.predict(X[:1]) == 1


@pytest.mark.parametrize(
    "family, rows, words",
    [
        ("negative_binomial", dict(y=-Y["poisson"] - 1), "y must be counts, but has the negative value"),
        ("gamma", dict(y=0 * TRIALS), "y must be positive, but has 0"),
        ("binomial", dict(y=TRIALS + 1.0, trials=TRIALS), "2 successes among 1 trials|successes among"),
        ("binomial", dict(y=TRIALS / 2.0, trials=TRIALS), "multiply shares by their trials"),
        ("binomial", dict(y=TRIALS), "binomial needs trials="),
        ("binomial", dict(y=TRIALS, trials=TRIALS + 0.5), "trials must be whole numbers"),
        ("binomial", dict(y=TRIALS, trials=TRIALS[:3]), "inconsistent numbers of samples"),
        ("poisson", dict(y=TRIALS, trials=TRIALS), "only binomial has trials"),
        ("bernoulli", dict(y=TRIALS), "Only binary classification is supported"),
        ("bernoulli", dict(y=["a"] * 25), "y has one class, .*give both as classes="),
        ("bernoulli", dict(y=x), "continuous"),
    ],
)
def test_impossible_rows_are_refused_in_words(family, rows, words):
    est = glm(family)
    with pytest.raises(ValueError, match=words):
        est.fit(x[:, None], **rows)
    assert not hasattr(est, "log_evidence_")


def test_what_is_asked_of_the_wrong_family():
    est = glm("bernoulli").fit(x[:, None], Y["bernoulli"])
    with pytest.raises(ValueError, match="return_std is for numbers"):
        est.predict(x[:, None], return_std=True)
    with pytest.raises(ValueError, match="classes are those of"):
        glm("poisson").partial_fit(x[:, None], Y["poisson"], classes=[0, 1])
    with pytest.warns(EvidenceWarning, match="not counts"):
        glm("negative_binomial", sampler=Laplace()).fit(x[:, None], Y["poisson"] + 0.5)
    assert glm("binomial").fit(x[:, None], TRIALS, trials=10).predict([[0.0]], trials=20)[0] > 2
    assert repr(NegativeBinomial()) == "NegativeBinomial(dispersion=Exponential(scale=1.0))"


OF_CLASSES = [
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_regression_target",
    "check_classifier_not_supporting_multiclass",
    "check_estimators_partial_fit_n_features",
    "check_estimators_pickle",
    "check_fit_idempotent",
    "check_methods_subset_invariance",
    "check_sample_weight_equivalence_on_dense_data",
    "check_valid_tag_types",
]
OF_LEVELS = [
    "check_classifiers_one_label",
    "check_estimators_partial_fit_n_features",
    "check_methods_subset_invariance",
    "check_sample_weight_equivalence_on_dense_data",
    "check_valid_tag_types",
]
OF_NUMBERS = ["check_regressors_no_decision_function"]
OF_TIMES = [*OF_NUMBERS, "check_estimators_pickle", "check_methods_subset_invariance", "check_fit_idempotent"]


@pytest.mark.parametrize(
    "family, check",
    [
        *(("bernoulli", c) for c in OF_CLASSES),
        *(("negative_binomial", c) for c in OF_NUMBERS),
        *(("ordinal", c) for c in OF_LEVELS),
        *(("weibull", c) for c in OF_TIMES),
    ],
)
@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
def test_scikit_learn_check(family, check):
    """Those in which a family makes a difference: of two classes a classifier, of counts a regressor."""
    est = BayesianGLM(family, sampler=SGAIS(n_particles=30, max_particles=30), standardize=False)
    getattr(estimator_checks, check)("BayesianGLM", est)


def test_columns_far_from_zero():
    """A far column with a small coefficient: evidence and dispersion of the column from where it starts."""
    years = 2000.0 + np.arange(25) % 10
    wide = dict(coef_scale=1e-3, intercept_scale=1.0, sampler=Laplace())
    far = glm("negative_binomial", **wide).fit(1e6 + years[:, None], Y["negative_binomial"])
    near = glm(
        "negative_binomial", intercept_scale=np.hypot(1.0, 1e-3 * 1002000), coef_scale=1e-3, sampler=Laplace()
    )
    near.fit(years[:, None] - 2000, Y["negative_binomial"])
    std = np.hypot(far.log_evidence_std_, near.log_evidence_std_)
    assert abs(far.log_evidence_ - near.log_evidence_) < 4 * std + 0.01
    one, other = (e.posterior_samples()["dispersion"].mean() for e in (far, near))
    assert one == pytest.approx(other, rel=0.1)


def test_a_stream_of_censored_times_is_told_of_every_event(rng):
    x, ended = rng.standard_normal((40, 1)), np.arange(40) % 3 > 0
    times = rng.exponential(2.0, 40)
    model = BayesianGLM("weibull", random_state=0).partial_fit(x, times, event=ended)
    before = model.log_evidence_
    with pytest.raises(ValueError, match="the rows before came with an event: give that of these rows"):
        model.partial_fit(x, times)
    assert model.log_evidence_ == before
    model.partial_fit(x, times, event=1.0)
    assert model.fit(x, times).n_samples_seen_ == 40


def test_shares_of_exactly_zero_and_one_have_an_evidence_of_their_own():
    """That of the beta of all others, times the masses of ends and of ones, uniform priors integrated."""
    rng = np.random.default_rng(41)
    X = rng.standard_normal((60, 1))
    y = rng.beta(3 * expit(X[:, 0]), 2.0)
    which = rng.choice(3, 60, p=[0.2, 0.1, 0.7])
    y[which == 0], y[which == 1] = 0.0, 1.0
    n_zeros, n_ones, inside = np.sum(y == 0), np.sum(y == 1), (y > 0) & (y < 1)
    whole, beta = (
        BayesianGLM(family, standardize=False, random_state=0).fit(X[rows], y[rows])
        for family, rows in (("zero_one_beta", y >= 0), ("beta", inside))
    )
    of_ends = betaln(n_zeros + n_ones + 1, inside.sum() + 1) + betaln(n_ones + 1, n_zeros + 1)
    error = 4 * np.hypot(whole.log_evidence_std_, beta.log_evidence_std_) + 1e-3
    assert abs(whole.log_evidence_ - beta.log_evidence_ - of_ends) < error
    draws = whole.sample_y(X, 500, random_state=0)
    assert abs(np.mean(draws == 0) - (n_zeros + 1) / 63) < 0.03 and np.all((draws >= 0) & (draws <= 1))
    with pytest.raises(ValueError, match="zero_one_beta"):
        BayesianGLM("beta").fit(X, y)
    with pytest.raises(ValueError, match="from 0 to 1"):
        BayesianGLM("zero_one_beta").fit(X, 2 * y)
